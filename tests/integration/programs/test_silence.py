# SPDX-License-Identifier: Apache-2.0
"""Foreign senders that save packets in silence, towards a listener that waits
for one every 20 ms: it gets that, and in the silence the noise of the room."""
import functools
import subprocess

import numpy as np
import pytest

import libraries
from digits import PCMU
from listen import likeness
from middle import PTIME_NS, on_time
from packets import header
from pauses import dbov, pauses, talk, write_wav
from player import Player
from streams import Stream, ahead, assert_streams, write_pcap
from test_senders import REFUSED, needed, started

FRAME_MS = 20
BEHIND = 6  # packets, on a busy machine; between two SIDs seven are missing
SKIPPED = 20  # packets at most, where a timer was late; a pause has 65 or more
UNTOLD = 3  # packets of a silence that nobody told of are not filled
GST = ("gst-launch-1.0 -q filesrc location={wav} ! wavparse ! audioconvert ! "
       "{coder} ! udpsink host=127.0.0.1 port={port}")
OPUS = ("opusenc dtx=true audio-type=voice bitrate=16000 frame-size=20 ! "
        "rtpopuspay dtx=true pt=96")
SPEEX = "speexenc vad=true dtx=true ! rtpspeexpay pt=98"


def launch(coder, wav, _, port):
    needed("gst-launch-1.0")
    return subprocess.Popen(
        GST.format(wav=wav, coder=coder, port=port).split(),
        stdin=subprocess.DEVNULL)


def amr(_, said, port):
    """What has no data is not sent (RFC 4867, 4.5)."""
    frames = [(FRAME_MS * i, frame, 96)
              for i, frame in enumerate(libraries.amr_encode(said))
              if libraries.amr_type(frame) != libraries.AMR_NO_DATA]
    return Player("audio/AMR,rate=8000,channels=1", "rtpamrpay", frames, port)


# name: (sender, its codec, timestamp of 20 ms, packets that are not filled when
# it falls silent)
SENDERS = {
    "amr": (amr, ["in.codec=amr", "in.pt=96", "in.octet_align=true",
                  "in.fill=signalled"], 160, 0),
    "speex": (functools.partial(launch, SPEEX),
              ["in.codec=speex", "in.pt=98", "in.fill=signalled"], 160, 0),
    "opus": (functools.partial(launch, OPUS),
             ["in.codec=opus", "in.pt=96", "in.fill=always"], 960, UNTOLD),
}


def decoded(packets):
    """Samples of PCMU, each where its timestamp says."""
    first = header(packets[0])["ts"]
    at = [ahead(first, header(p)["ts"], 32) for p in packets]
    pcm = np.zeros(at[-1] + len(packets[-1]) - 12, np.int16)
    for i, p in zip(at, packets):
        pcm[i:i + len(p) - 12] = PCMU[np.frombuffer(p[12:], np.uint8)]
    return pcm


def assert_taken(count, middle):
    assert [n for n in REFUSED if count[n]] == [], count
    assert count["packets_in"] == len(middle.packets(True))


def silences(said, step):
    """How often a sender has fallen silent: some are missing behind two that
    follow each other."""
    ts = [header(p)["ts"] for p in said]
    steps = [ahead(a, b, 32) / step for a, b in zip(ts, ts[1:])]
    return sum(a < 2 and b > UNTOLD for a, b in zip(steps, steps[1:]))


def assert_steady(middle, path, step=160, untold=0):
    """One after the other, each 20 ms behind the one before, and never many at
    once. @untold: so many are missing when the sender falls silent."""
    heard = middle.packets(False)
    behind = middle.behind(step)
    assert max(behind) <= BEHIND, behind
    # nor is it sooner than the sender is late
    assert -min(behind) <= 2 + middle.late(step) / PTIME_NS, behind
    write_pcap(path, [(9, middle.heard, p) for p in heard])
    assert_streams(path, [Stream(
        middle.heard, 0, len(heard), ssrc=middle.ssrc,
        spurts=sum(header(p)["marker"] for p in heard),
        holes=SKIPPED + untold * silences(middle.packets(True), step))])


def assert_room(heard, said, db, but=2):
    """In pauses there is the noise of the room, to @db, but in so many of 20
    parts."""
    for pause, room in zip(pauses(heard), pauses(said)):
        off = [dbov(part) - dbov(room) for part in np.array_split(pause, 20)]
        assert sum(abs(x) > db for x in off) <= but, off


@pytest.mark.parametrize("name", SENDERS)
def test_silence_is_filled(daemon, tmp_path, name):
    needed("tshark")
    send, words, step, untold = SENDERS[name]
    said = talk()
    wav = write_wav(tmp_path / "said.wav", said)
    d = started(daemon, "auto", "--drain-timeout", "0s")
    middle, count = on_time(d, functools.partial(send, wav, said),
                            "out.codec=pcmu", *words, step=step)
    assert_taken(count, middle)
    # the sender has saved more than what is in the pauses' middle
    assert count["silences"] > 50
    assert_steady(middle, tmp_path / "heard.pcap", step, untold)
    pcm = decoded(middle.packets(False))
    assert likeness(write_wav(tmp_path / "heard.wav", pcm[:len(said)]),
                    wav) > .9
    assert_room(pcm, said, 8, 2 + 2 * bool(untold))
