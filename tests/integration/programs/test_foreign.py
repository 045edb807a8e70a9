# SPDX-License-Identifier: Apache-2.0
"""Foreign programs as peers: ffmpeg sends and receives a call's RTP."""
import shutil
import subprocess
import wave

import pytest

import speech
from conftest import PATIENCE, free_port

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=call
c=IN IP4 127.0.0.1
t=0 0
m=audio {port} RTP/AVP 96
a=rtpmap:96 AMR/8000/1
a=fmtp:96 octet-align=1
"""


def recording(seconds):
    """A recording of at least so many seconds, 8 kHz."""
    path = speech.recording(seconds)
    if not path:
        pytest.skip("no recordings: install asterisk-core-sounds-en-wav")
    return path


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")
def test_ffmpeg_sends_pcmu_and_receives_amr(daemon, tmp_path):
    # ffmpeg sends a quarter of a second at once, and may be late
    d = daemon("--ring", "64")
    port = free_port()
    sdp = tmp_path / "call.sdp"
    sdp.write_text(SDP.format(port=port))
    heard = tmp_path / "heard.wav"
    call = d.ctl("call", "start", "in.codec=pcmu", "out.codec=amr",
                 "out.mode=12.2", "out.pt=96", "out.octet_align=true",
                 f"out.address=127.0.0.1:{port}")
    receiver = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-y", "-protocol_whitelist", "file,udp,rtp",
         "-i", str(sdp), "-t", "2", str(heard)],
        stdin=subprocess.DEVNULL)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-re", "-stream_loop", "2", "-i",
         recording(4), "-t", "8", "-ar", "8000", "-ac", "1", "-acodec",
         "pcm_mulaw", "-f", "rtp", "-ssrc", str(call["rtp"]["ssrc"]),
         "rtp://%s?pkt_size=172" % call["rtp"]["address"]],
        check=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert receiver.wait(timeout=PATIENCE) == 0
    count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
    assert count["done"] >= 390
    assert count["done"] == count["packets_in"]
    assert count["malformed"] == count["overwritten"] == 0
    with wave.open(str(heard)) as w:
        samples = w.readframes(w.getnframes())
        assert w.getnframes() >= 1.9 * w.getframerate()
    assert len(set(samples)) > 100  # speech, not silence
