# SPDX-License-Identifier: Apache-2.0
"""GStreamer changes its codec in mid-call, with one SSRC, numbers and
timestamps that go on: the listener hears one stream."""
import subprocess

import pytest

from listen import likeness, read_wav
from middle import Middle
from packets import header
from pauses import write_wav
from streams import Stream, ahead, assert_streams, write_pcap
from test_foreign import recording
from test_senders import needed, started
from test_silence import assert_taken, decoded

SSRC, PACKETS = 0xc0dec, 80  # of 20 ms, of each codec
CODERS = {0: "mulawenc ! rtppcmupay", 8: "alawenc ! rtppcmapay",
          98: "speexenc ! rtpspeexpay"}
FIRST_SEQ, FIRST_TS = 65500, 2**32 - 160 * PACKETS  # both wrap
PART = ("filesrc location={wav} ! wavparse ! audioconvert ! {coder} pt={pt} "
        "ssrc={ssrc} seqnum-offset={seq} timestamp-offset={ts} "
        "min-ptime=20000000 max-ptime=20000000 ! c. ")


def sender(said, types, port, folder):
    """Of each type in turn."""
    line = "gst-launch-1.0 -q concat name=c ! udpsink host=127.0.0.1 " \
           f"port={port} "
    for i, pt in enumerate(types):
        wav = write_wav(folder / f"{i}.wav",
                        said[160 * PACKETS * i:160 * PACKETS * (i + 1)])
        line += PART.format(wav=wav, coder=CODERS[pt], pt=pt, ssrc=SSRC,
                            seq=(FIRST_SEQ + PACKETS * i) % 2**16,
                            ts=(FIRST_TS + 160 * PACKETS * i) % 2**32)
    return subprocess.Popen(line.split(), stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("types", [(8, 0, 8), (0, 8, 98)],
                         ids=["pcma, pcmu, pcma", "pcmu, pcma, speex"])
def test_one_stream_comes_of_several_codecs(daemon, tmp_path, types):
    needed("gst-launch-1.0", "tshark")
    said = read_wav(recording(len(types) * PACKETS // 50 + 1))[0]
    said = said[:160 * PACKETS * len(types)]
    names = {0: "pcmu", 8: "pcma", 98: "speex"}
    also = ",".join(f'{{"codec":"{names[pt]}","pt":{pt}}}'
                    for pt in dict.fromkeys(types[1:]) if pt != types[0])
    d = started(daemon, "auto", "--drain-timeout", "0s")
    middle = Middle(d)
    middle.converse(f"a.codec={names[types[0]]}", f"a.also=[{also}]",
                    "b.codec=pcmu")
    count = middle.end(sender(said, types, middle.said, tmp_path))
    assert_taken(count, middle)
    assert not count["missing"]
    sent, heard = middle.packets(True), middle.packets(False)
    assert [header(p)["pt"] for p in sent[::PACKETS]][:len(types)] == list(
        types)
    write_pcap(tmp_path / "heard.pcap", [(9, middle.heard, p) for p in heard])
    assert_streams(tmp_path / "heard.pcap", [Stream(
        middle.heard, 0, len(sent), ssrc=middle.ssrc, spurts=len(types))])
    # where a codec begins there may be a marker, but no leap
    steps = {ahead(header(a)["ts"], header(b)["ts"], 32)
             for a, b in zip(heard, heard[1:])}
    assert steps == {160}
    assert likeness(write_wav(tmp_path / "heard.wav", decoded(heard)),
                    write_wav(tmp_path / "said.wav", said)) > .98
