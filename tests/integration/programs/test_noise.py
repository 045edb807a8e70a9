# SPDX-License-Identifier: Apache-2.0
"""Silence that is described: comfort noise (RFC 3389) and SIDs of AMR, made by
foreign coders, turned into the other one, and read by foreign programs."""
import numpy as np
import pytest

import libraries
from digits import CODECS
from libraries import AMR_NO_DATA, AMR_SID
from listen import likeness
from middle import on_time
from packets import header
from pauses import dbov, pauses, quiet, talk, write_wav
from player import Player, amr_frames
from streams import ahead, write_pcap
from test_senders import needed, started
from test_silence import FRAME_MS, SKIPPED, amr, assert_room, assert_steady, \
    assert_taken, decoded
from test_wire import ERRORS, tshark

NOISE_PT, AMR_PT, SPEECH = 13, 96, 7
NO_DATA = bytes([AMR_NO_DATA << 3 | 4])
NOISE_FRAMES = libraries.NOISE_MS // FRAME_MS
AMR_FAULTS = ("amr.superfluous_data || amr.not_enough_data_for_frames || "
              "amr.padding_bits_not0 || amr.spare_bit_not0 || "
              "amr.reserved.not_zero")


def frames_of(pcm):
    return pcm.reshape(-1, 160)


def pcmu(said, port, noise=()):
    """PCMU; where it is quiet, and there is @noise, a packet of that every
    80 ms."""
    silent = np.zeros(len(said), bool)
    for part in quiet(len(said)) if noise else ():
        silent[part] = True
    frames, last = [], -NOISE_FRAMES
    for i, frame in enumerate(frames_of(said)):
        if not silent[160 * i]:
            frames.append((FRAME_MS * i, CODECS["pcmu"].encode(frame), 0))
        elif i >= last + NOISE_FRAMES:
            frames.append((FRAME_MS * i, noise[i // NOISE_FRAMES], NOISE_PT))
            last = i
    return Player("audio/x-mulaw,rate=8000,channels=1", "rtppcmupay", frames,
                  port)


@pytest.fixture
def talked(daemon):
    """talked(send, words of the command): as on_time()."""
    needed("tshark", "ffmpeg")
    d = started(daemon, "auto", "--drain-timeout", "0s")

    def run(send, *words):
        middle, count = on_time(d, send, *words)
        assert_taken(count, middle)
        return middle, count

    return run


def of_type(packets, pt):
    return [p for p in packets if header(p)["pt"] == pt]


def test_comfort_noise_is_heard(talked, tmp_path):
    """By a listener that knows nothing of it."""
    said = talk()
    noise = libraries.noise_encode(said)
    middle, count = talked(lambda port: pcmu(said, port, noise),
                           "in.codec=pcmu", "in.noise=13", "in.fill=signalled",
                           "out.codec=pcmu")
    described = of_type(middle.packets(True), NOISE_PT)
    assert count["cn_in"] == len(described) > 20
    assert_steady(middle, tmp_path / "heard.pcap")
    assert_room(decoded(middle.packets(False)), said, 3)


def assert_spurts(heard, pts):
    """Numbers without a gap; speech that follows noise begins a spurt, and only
    that."""
    heads = [header(p) for p in heard]
    assert {h["pt"] for h in heads} == set(pts)
    for a, b in zip(heads, heads[1:]):
        step = ahead(a["ts"], b["ts"], 32)
        assert ahead(a["seq"], b["seq"], 16) == 1
        assert b["marker"] == (a["pt"] == NOISE_PT and b["pt"] != NOISE_PT)
        # a packet of speech is 20 ms, and noise takes the place of some
        assert step > 0 and step % 160 == 0, (a, b)
        assert step == 160 or a["pt"] == NOISE_PT, (a, b)


def test_comfort_noise_is_passed_on(talked):
    """As it was described."""
    said = talk()
    noise = libraries.noise_encode(said)
    middle, count = talked(lambda port: pcmu(said, port, noise),
                           "in.codec=pcmu", "in.noise=13", "in.fill=signalled",
                           "out.codec=pcma", "out.noise=13")
    heard = middle.packets(False)
    assert_spurts(heard, (8, NOISE_PT))
    described = {p[12:] for p in of_type(middle.packets(True), NOISE_PT)}
    passed = [p[12:] for p in of_type(heard, NOISE_PT)]
    assert count["cn_out"] == len(passed) >= 4
    assert set(passed) <= described


def test_sids_are_heard_as_comfort_noise(talked):
    """libavcodec makes the same noise of ours as of its own description of the
    room."""
    said = talk()
    middle, count = talked(lambda port: amr(None, said, port),
                           "in.codec=amr", "in.pt=96", "in.octet_align=true",
                           "in.fill=signalled", "out.codec=pcmu", "out.noise=13")
    heard = middle.packets(False)
    assert_spurts(heard, (0, NOISE_PT))
    ours = [p[12:] for p in of_type(heard, NOISE_PT)]
    assert count["cn_out"] == len(ours) >= 4
    room = dbov(libraries.noise_decode(
        libraries.noise_encode(np.concatenate(pauses(said)))))
    assert abs(dbov(libraries.noise_decode(ours)) - room) < 4


def amr_types(path, port):
    """(timestamp, type of the frame, marker) of each packet, by tshark, which
    has nothing to say against them."""
    options = ["-d", f"udp.port=={port},rtp", "-d", f"rtp.pt=={AMR_PT},amr",
               "-o", "amr.encoding.version:RFC 3267 octet aligned", "-o",
               "amr.mode:Narrowband AMR"]
    assert tshark(path, *options, show=f"{ERRORS} || {AMR_FAULTS}") == []
    rows = [row.split("\t") for row in tshark(
        path, *options, show="rtp && amr",
        fields=("rtp.timestamp", "amr.nb.toc.ft", "rtp.marker"))]
    return [(int(ts), int(ft), marker in ("1", "True"))
            for ts, ft, marker in rows]


def runs_of_sids(rows):
    """The timestamps of those that follow each other. Speech behind them begins
    a spurt, and only that."""
    runs, before = [], None
    for ts, ft, marker in rows:
        assert ft in (SPEECH, AMR_SID)
        assert marker == (ft == SPEECH and before != SPEECH), ts
        if ft == AMR_SID and before != AMR_SID:
            runs.append([])
        if ft == AMR_SID:
            runs[-1].append(ts)
        before = ft
    return runs


def assert_sids(rows, skipped):
    """After speech the first SID, the next 3 frames behind it, then one in
    eight (3GPP TS 26.093, 5.1); @skipped: frames that need not be there."""
    runs = runs_of_sids(rows)
    assert sum(len(run) > 4 for run in runs) == 2  # the pauses
    for run in runs:
        steps = [ahead(a, b, 32) // 160 for a, b in zip(run, run[1:])]
        more = [step - due for step, due in zip(steps, [3] + [8] * len(steps))]
        assert min(more, default=0) >= 0 and sum(more) <= skipped, steps


@pytest.mark.parametrize("described", [False, True],
                         ids=["noise that is sent", "noise that is described"])
def test_silence_is_heard_as_sids(talked, tmp_path, described):
    said = talk()
    noise = libraries.noise_encode(said) if described else ()
    middle, count = talked(lambda port: pcmu(said, port, noise),
                           "in.codec=pcmu", "in.noise=13", "in.fill=signalled",
                           "out.codec=amr", "out.mode=12.2",
                           f"out.pt={AMR_PT}", "out.octet_align=true",
                           "out.dtx=true")
    heard = middle.packets(False)
    write_pcap(tmp_path / "heard.pcap", [(9, middle.heard, p) for p in heard])
    rows = amr_types(tmp_path / "heard.pcap", middle.heard)
    assert [len(p) for p in heard] == [
        12 + 1 + libraries.AMR_BYTES[ft] for _, ft, _ in rows]
    assert_sids(rows, SKIPPED if described else 0)
    # what GStreamer unpacks, the decoder of 3GPP's code plays
    frames = amr_frames(heard)
    assert [libraries.amr_type(f) for f in frames] == [ft for _, ft, _ in rows]
    played = [NO_DATA] * (ahead(rows[0][0], rows[-1][0], 32) // 160 + 1)
    for (ts, _, _), frame in zip(rows, frames):
        played[ahead(rows[0][0], ts, 32) // 160] = frame
    pcm = libraries.amr_decode(played)
    assert likeness(write_wav(tmp_path / "heard.wav", pcm),
                    write_wav(tmp_path / "said.wav", said)) > .9
    assert_room(pcm, said, 6)
