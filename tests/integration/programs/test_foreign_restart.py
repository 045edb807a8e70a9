# SPDX-License-Identifier: Apache-2.0
"""Foreign programs as the parties of a call whose process is upgraded and
killed: ffmpeg and GStreamer send and receive its RTP, and hear no restart."""
import pathlib
import shutil
import signal
import subprocess

import pytest

import gstreamer
import test_foreign_codecs
from conftest import PATIENCE, free_port
from packets import header
from test_crash import address
from test_foreign import recording
from test_supervise import until
from test_upgrade import Upgraded

FRAMES_OF_A_CRASH = 10
SDP = test_foreign_codecs.SDP + "a=fmtp:{pt} octet-align=1\n"


def gaps(times, ticks):
    """How many frames are missing between each two packets: none goes back, or
    comes twice, and all are a whole number of frames apart."""
    missing = []
    for a, b in zip(times, times[1:]):
        step = (b - a) & 0xffffffff
        assert 0 < step < 1 << 31 and step % ticks == 0, (a, b)
        missing.append(step // ticks - 1)
    return missing


class Ffmpeg:
    """A party by ffmpeg: one sends, one writes a line for each packet that it
    hears."""
    CODECS = {
        "pcmu": (0, "PCMU/8000", ("-acodec", "pcm_mulaw")),
        "amr": (96, "AMR/8000/1", ("-acodec", "libopencore_amrnb", "-b:a",
                                   "12.2k", "-max_delay", "1"))}

    def __init__(self, codec, folder):
        self.pt, rtpmap, self.encoder = self.CODECS[codec]
        self.port, self.lines = free_port(), folder / "heard"
        sdp = folder / "party.sdp"
        sdp.write_text(SDP.format(port=self.port, pt=self.pt,
                                  rtpmap=rtpmap))
        self.running = [subprocess.Popen(
            ["ffmpeg", "-v", "error", "-protocol_whitelist", "file,udp,rtp",
             "-i", sdp, "-c", "copy", "-flush_packets", "1", "-f", "framecrc",
             self.lines], stdin=subprocess.DEVNULL)]
        until(lambda: f":{self.port:04X} " in pathlib.Path(
            "/proc/net/udp").read_text())

    def speak(self, to):
        self.running.append(subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i",
             recording(4), "-ar", "8000", "-ac", "1", "-af",
             "asetnsamples=n=160", *self.encoder, "-f", "rtp",
             "-payload_type", str(self.pt), f"rtp://{to}?pkt_size=172"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def is_silent(self):
        self._end(self.running.pop())

    def _end(self, process):
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE)

    def heard(self):
        """Packets, and frames that are missing, as ffmpeg has them: by the
        timestamps of RTP."""
        text = self.lines.read_text() if self.lines.exists() else ""
        times = [int(line.split(",")[2]) for line in text.splitlines(True)
                 if line[0] != "#" and line[-1] == "\n"]
        return len(times), sum(gaps(times, 160))

    def end(self):
        for process in self.running:
            self._end(process)


class GStreamer:
    """A party by GStreamer: one pipeline sends, another one unpacks what it
    hears."""
    PIPELINES = {
        "opus": (96, 48000, "opusenc frame-size=20 ! rtpopuspay pt=96",
                 "rtpopusdepay"),
        "pcmu": (0, 8000, "mulawenc ! rtppcmupay min-ptime=20000000 "
                 "max-ptime=20000000", "rtppcmudepay")}

    def __init__(self, codec):
        gstreamer.needed()
        self.pt, self.clock, self.maker, depay = self.PIPELINES[codec]
        self.gst, self.heads, self.unpacked, self.new = gstreamer.Gst, [], 0, 0
        self.running = [self.gst.parse_launch(
            f"udpsrc address=127.0.0.1 port=0 name=in ! {depay} name=depay ! "
            "fakesink sync=false")]
        source, depay = map(self.running[0].get_by_name, ("in", "depay"))
        source.set_property("caps", gstreamer.caps(self.pt, self.clock,
                                                   codec.upper()))
        for name, hear in ("sink", self._hear), ("src", self._unpack):
            depay.get_static_pad(name).add_probe(
                self.gst.PadProbeType.BUFFER, hear)
        self.running[0].set_state(self.gst.State.PLAYING)
        source.get_state(self.gst.CLOCK_TIME_NONE)
        self.port = source.get_property("port")

    def _hear(self, _, info):
        self.heads.append(header(info.get_buffer().extract_dup(0, 12)))
        return self.gst.PadProbeReturn.OK

    def _unpack(self, _, info):
        self.unpacked += 1
        self.new += info.get_buffer().has_flags(self.gst.BufferFlags.DISCONT)
        return self.gst.PadProbeReturn.OK

    def speak(self, to):
        host, port = address(to)
        self.running.append(self.gst.parse_launch(
            f"audiotestsrc is-live=true wave=pink-noise samplesperbuffer="
            f"{self.clock // 50} ! audio/x-raw,rate={self.clock},channels=1 ! "
            f"{self.maker} ! udpsink host={host} port={port}"))
        self.running[1].set_state(self.gst.State.PLAYING)

    def is_silent(self):
        self.running.pop().set_state(self.gst.State.NULL)

    def heard(self):
        """Packets, and frames that are missing."""
        heads = list(self.heads)
        assert len({h["ssrc"] for h in heads}) <= 1
        assert {h["pt"] for h in heads} <= {self.pt}
        missing = gaps([h["ts"] for h in heads], self.clock // 50)
        assert [(b["seq"] - a["seq"]) & 0xffff for a, b in
                zip(heads, heads[1:])] == [n + 1 for n in missing]
        return len(heads), sum(missing)

    def end(self):
        for pipeline in self.running:
            pipeline.set_state(self.gst.State.NULL)
        # all was unpacked, and began anew after frames that are missing only
        times = [h["ts"] for h in self.heads]
        assert self.unpacked == len(times)
        assert self.new <= 1 + sum(
            n > 0 for n in gaps(times, self.clock // 50))


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")
@pytest.mark.parametrize("codecs", [("pcmu", "opus"), ("amr", "pcmu")],
                         ids="-".join)
def test_foreign_programs_hear_no_restart(daemon, tmp_path, codecs):
    """ffmpeg talks to GStreamer through three upgrades and two kills."""
    rig = Upgraded(daemon, tmp_path)
    parties = [Ffmpeg(codecs[0], tmp_path), GStreamer(codecs[1])]
    # each sends from another port than it hears at
    call = rig._start(**{name: {
        "codec": codec, "address": f"127.0.0.1:{party.port}", "rtcp": "off",
        "learn": "asymmetric", **({"octet_align": True} if codec == "amr"
                                  else {})}
        for name, codec, party in zip("ab", codecs, parties)})

    def heard():
        return [party.heard() for party in parties]

    def all_heard(more):
        had = heard()
        until(lambda: all(now[0] >= then[0] + more
                          for now, then in zip(heard(), had)))

    try:
        for name, party in zip("ab", parties):
            party.speak(call[name]["rtp"])
        all_heard(50)
        for event in (rig.upgrade, rig.kill) * 2 + (rig.upgrade,):
            before = heard()
            event()
            all_heard(25)
            lost = [now[1] - then[1] for now, then in zip(heard(), before)]
            print(f"{event.__name__}: {lost} frames lost")
            assert max(lost) <= (FRAMES_OF_A_CRASH if event == rig.kill else 0)
        for party in parties:
            party.is_silent()
        rig.stop_calls()
        streams = rig.recorded(1)[0]["streams"]
        # each frame has come, or is a gap, or was about to come
        until(lambda: [sum(h) for h in heard()[::-1]] == [
            s["heard"]["expected"] - s["count"]["cancelled"]
            for s in streams])
    finally:
        for party in parties:
            party.end()
    assert [s["heard"]["ssrc_changes"] for s in streams] == [0, 0]
