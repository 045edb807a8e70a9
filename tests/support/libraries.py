# SPDX-License-Identifier: Apache-2.0
"""Coders of other people's libraries, without codec-runner between: AMR with
DTX (libopencore-amrnb), Opus (libopus) and comfort noise (RFC 3389,
libavcodec)."""
import ctypes
import ctypes.util
import subprocess

import numpy as np
import pytest

from loopback import PATIENCE

FRAME = 160  # samples
# of a frame with its octet of contents, by type (RFC 4867, 5.3)
AMR_BYTES = [13, 14, 16, 18, 20, 21, 27, 32, 6] + [1] * 7
AMR_SID, AMR_NO_DATA = 8, 15
NO_REQUEST = b"\xf0"  # the octet before the contents (RFC 4867, 4.4.1)
NOISE_MS = 80  # of a packet of libavcodec's


def _library(name):
    path = ctypes.util.find_library(name)
    if not path:
        pytest.skip(f"no lib{name}: deps/install build")
    return ctypes.CDLL(path)


def amr_type(frame):
    """Of a frame with its octet of contents in front."""
    return frame[0] >> 3 & 15


def amr_encode(pcm, dtx=True):
    """Frames of 12.2 kbit/s, SID and NO_DATA, as a file has them."""
    library = _library("opencore-amrnb")
    library.Encoder_Interface_init.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.Encoder_Interface_init(int(dtx)))
    out = ctypes.create_string_buffer(64)
    frames = []
    for frame in pcm.astype(np.int16).reshape(-1, FRAME):
        n = library.Encoder_Interface_Encode(
            state, 7, np.ascontiguousarray(frame).ctypes, out, 0)
        frames.append(out.raw[:n])
    library.Encoder_Interface_exit(state)
    return frames


def amr_decode(frames):
    """The samples of frames as amr_encode() makes them."""
    library = _library("opencore-amrnb")
    library.Decoder_Interface_init.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.Decoder_Interface_init())
    pcm = np.zeros((len(frames), FRAME), np.int16)
    for frame, out in zip(frames, pcm):
        library.Decoder_Interface_Decode(
            state, ctypes.c_char_p(bytes(frame)),
            out.ctypes.data_as(ctypes.c_void_p), 0)
    library.Decoder_Interface_exit(state)
    return pcm.reshape(-1)


def amr_said(pcm):
    """RTP payloads, octet-aligned, of 12.2 kbit/s."""
    return [NO_REQUEST + bytes((f[0] & 0x7c,)) + f[1:]
            for f in amr_encode(pcm, dtx=False)]


def amr_heard(data):
    """The samples of payloads of one frame each."""
    return amr_decode([p[1:] for p in data])


def opus_decode(payloads):
    """The samples of payloads of one frame each, at 8000 Hz; concealed where
    there is None."""
    library = _library("opus")
    library.opus_decoder_create.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.opus_decoder_create(8000, 1, None))
    pcm = np.zeros((len(payloads), FRAME), np.int16)
    for data, out in zip(payloads, pcm):
        n = library.opus_decode(state, data, len(data or b""),
                                out.ctypes.data_as(ctypes.c_void_p), FRAME, 0)
        assert n == FRAME, n
    library.opus_decoder_destroy(state)
    return pcm.reshape(-1)


def law_decode(name, octets):
    """The samples, by ffmpeg. @name: alaw or mulaw"""
    return np.frombuffer(subprocess.run(
        ["ffmpeg", "-v", "error", "-f", name, "-ar", "8000", "-ac", "1", "-i",
         "-", "-f", "s16le", "-"], input=octets, capture_output=True,
        timeout=PATIENCE, check=True).stdout, np.int16)


def noise_encode(pcm):
    """Payloads of comfort noise, one for each NOISE_MS."""
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "s16le", "-ar", "8000", "-ac", "1",
         "-i", "-", "-map", "0:a", "-c:a", "comfortnoise", "-f", "data", "-"],
        input=pcm.astype("<i2").tobytes(), capture_output=True,
        timeout=PATIENCE, check=True)
    bytes_each = 11  # a level and ten coefficients
    assert done.stdout and len(done.stdout) % bytes_each == 0
    return [done.stdout[i:i + bytes_each]
            for i in range(0, len(done.stdout), bytes_each)]


class NoiseDecoder:
    """libavcodec's. The places in its structures are the same in all its
    versions that have packets and frames by reference."""
    PACKET_DATA, PACKET_SIZE, FRAME_DATA, FRAME_SAMPLES = 24, 32, 0, 112

    def __init__(self):
        self.av, self.util = _library("avcodec"), _library("avutil")
        for function in ("avcodec_find_decoder_by_name", "av_packet_alloc",
                         "avcodec_alloc_context3"):
            getattr(self.av, function).restype = ctypes.c_void_p
        self.util.av_frame_alloc.restype = ctypes.c_void_p
        codec = ctypes.c_void_p(
            self.av.avcodec_find_decoder_by_name(b"comfortnoise"))
        assert codec.value
        self.context = ctypes.c_void_p(self.av.avcodec_alloc_context3(codec))
        assert self.av.avcodec_open2(self.context, codec, None) == 0
        self.packet = ctypes.c_void_p(self.av.av_packet_alloc())
        self.frame = ctypes.c_void_p(self.util.av_frame_alloc())

    def decode(self, payload):
        """Its samples for a payload."""
        assert self.av.av_new_packet(self.packet, len(payload)) == 0
        at = self.packet.value
        assert ctypes.c_int.from_address(
            at + self.PACKET_SIZE).value == len(payload)
        ctypes.memmove(ctypes.c_void_p.from_address(
            at + self.PACKET_DATA).value, payload, len(payload))
        assert self.av.avcodec_send_packet(self.context, self.packet) == 0
        self.av.av_packet_unref(self.packet)
        assert self.av.avcodec_receive_frame(self.context, self.frame) == 0
        at = self.frame.value
        n = ctypes.c_int.from_address(at + self.FRAME_SAMPLES).value
        data = ctypes.c_void_p.from_address(at + self.FRAME_DATA).value
        return np.frombuffer(ctypes.string_at(data, 2 * n), np.int16)


def noise_decode(payloads):
    decoder = NoiseDecoder()
    return np.concatenate([decoder.decode(p) for p in payloads])
