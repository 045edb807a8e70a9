# SPDX-License-Identifier: Apache-2.0
"""Codecs from outside the tree: built from what is installed, loaded, and
heard; G.729 among them, where libbcg729 is installed."""
import json
import os
import re
import shutil
import subprocess
import wave

import numpy as np
import pytest

from conftest import BUILD, PATIENCE, ROOT
from listen import likeness
from test_daemon import rtp
from test_foreign import recording

G729 = ROOT / "codecs" / "plugins" / "g729.c"
EXAMPLE = ROOT / "codecs" / "examples" / "pcm8.c"
BCG729 = os.path.exists("/usr/include/bcg729/encoder.h")


@pytest.fixture
def pcm8(installed, tmp_path):
    """The example, made by its Makefile."""
    there = tmp_path / "codec"
    shutil.copytree(installed.examples / "codec", there)
    installed.run("make", there)
    return there / "pcm8.so"


@pytest.fixture
def g729(installed, tmp_path):
    if not BCG729:
        pytest.skip("install libbcg729-dev")
    installed.run("cc -std=c11 -Wall -Wextra -O2 -shared -fPIC $(pkg-config "
                  f"--cflags codec-runner) {G729} -o g729.so -lbcg729",
                  tmp_path)
    return tmp_path / "g729.so"


def refused(program, *words):
    done = subprocess.run([BUILD / program, *words], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 2
    return done.stderr


def test_the_example_is_short_and_pedantic(installed, tmp_path):
    code = re.sub(r"/\*.*?\*/", "", EXAMPLE.read_text(), flags=re.S)
    assert len([x for x in code.splitlines() if x.strip()]) <= 75
    installed.run("cc -std=c11 -pedantic -Wall -Wextra -Wshadow -Wconversion "
                  "-Werror -O2 -shared -fPIC "
                  f"$(pkg-config --cflags codec-runner) {EXAMPLE} -o x.so",
                  tmp_path)


def test_a_call_speaks_the_example(daemon, sock, installed, pcm8):
    d = daemon("--codec", str(pcm8),
               programs=installed.programs)
    assert "pcm8" in [c["name"] for c in d.ctl("codecs")["codecs"]]
    call = d.ctl("call", "start", "in.codec=l16", "out.codec=pcm8",
                 "out.address=127.0.0.1:%d" % sock.getsockname()[1])
    host, port = call["rtp"]["address"].split(":")
    for i in range(20):
        pcm = b"".join((i * 1000 + k).to_bytes(2, "big") for k in range(160))
        sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], pcm, pt=96),
                    (host, int(port)))
        assert sock.recv(2048)[12:] == pcm[::2]
    count = d.ctl("call", "stop", str(call["call"]))["streams"][0]["count"]
    assert count["done"] == count["packets_out"] == 20


def test_feeder_and_simulator_know_it(daemon, installed, campaign, pcm8):
    path = campaign("seed: 1\nduration: 1s\nflows:\n  - name: some\n"
                    "    count: 2\n    in: {codec: pcmu}\n"
                    "    out: {codec: pcm8}\n")
    told = installed.run(f"codec-sim {path} --json --scheduler edf "
                         f"--codec {pcm8}", pcm8.parent)
    assert json.loads(told)["total"]["done"] > 0
    d = daemon("--codec", str(pcm8), programs=installed.programs)
    told = d.feed(path, "--codec", str(pcm8))
    assert told["total"]["received"] == told["total"]["sent"] > 0


def test_what_is_no_codec_is_refused(tmp_path, pcm8):
    (tmp_path / "text.so").write_text("not at all")
    assert "cannot load codec" in refused("codec-runner", "--codec",
                                          tmp_path / "text.so")
    bare = refused("codec-sim", "--codec", "pcm8.so", "x.yaml")
    assert "needs its folder: ./pcm8.so" in bare
    twice = refused("codec-sim", "--codec", pcm8, "--codec", pcm8, "x.yaml")
    assert "there is a codec pcm8 already" in twice


@pytest.mark.parametrize("line, by, said", [
    (".abi = CR_CODEC_ABI", ".abi = CR_CODEC_ABI + 1", "built for codec ABI"),
    ("cr_codec_plugin = {", "cr_codec = {", "exports no 'cr_codec_plugin'"),
    (".samples = SAMPLES", ".samples = 0", "its samples"),
    (".packing = CR_PACK_FRAMES", ".packing = CR_PACK_OWN", "its packing"),
    (".packing = CR_PACK_FRAMES", ".packing = CR_PACK_WHOLE", "frame_max"),
    (".packing = CR_PACK_FRAMES",
     ".packing = CR_PACK_FRAMES, .sid_bytes = 160", "sid_bytes"),
    (".decode = decode_pcm8", ".decode = 0", "six functions"),
    (".nmodes = 1", ".nmodes = 0", "no modes"),
    (".bytes = SAMPLES },", ".bytes = 0 },", "one of its modes"),
    ('.name = "pcm8"', '.name = "pcmu"', "there is a codec pcmu already"),
    (".sample_rate = 8000,\n", ".sample_rate = 11025,\n", "its sample_rate"),
    (".rtp_clock = 8000", ".rtp_clock = 0", "no rtp_clock"),
    (".static_pt = -1", ".static_pt = 200", "static_pt"),
])
def test_a_broken_table_is_refused_with_the_reason(installed, tmp_path, line,
                                                   by, said):
    text = EXAMPLE.read_text()
    assert line in text
    (tmp_path / "broken.c").write_text(text.replace(line, by))
    installed.run("cc -w -shared -fPIC $(pkg-config --cflags codec-runner) "
                  "broken.c -o broken.so", tmp_path)
    assert said in refused("codec-runner", "--codec", tmp_path / "broken.so")


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")
def test_ffmpeg_hears_g729(daemon, sock, tmp_path, g729):
    """It decodes G.729 from files only, and has no encoder."""
    d = daemon("--codec", str(g729))
    said, stored = recording(4), tmp_path / "call.g729"
    call = d.ctl("call", "start", "in.codec=l16", "out.codec=g729",
                 "out.address=127.0.0.1:%d" % sock.getsockname()[1])
    host, port = call["rtp"]["address"].split(":")
    with wave.open(said) as w, open(stored, "wb") as out:
        for i in range(2 * 50):  # as much as is sent at once
            pcm = np.frombuffer(w.readframes(160), "<i2").astype(">i2")
            sock.sendto(rtp(i, i * 160, call["rtp"]["ssrc"], pcm.tobytes(),
                            pt=96), (host, int(port)))
            packet = sock.recv(2048)
            assert len(packet) == 12 + 20 and packet[1] & 0x7f == 18
            out.write(packet[12:])
    heard = tmp_path / "heard.wav"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "g729", "-i", stored, heard],
                   check=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert likeness(heard, said) > .9


def test_g729_is_heard_in_every_length(daemon, sock, g729):
    d = daemon("--codec", str(g729))
    for ms in (10, 20, 30, 60):
        call = d.ctl("call", "start", "in.codec=g729", "out.codec=pcmu",
                     f"ptime_ms={ms}", "out.address=127.0.0.1:%d"
                     % sock.getsockname()[1])
        host, port = call["rtp"]["address"].split(":")
        # any octets are speech; two of them a SID, which lasts 10 ms
        packets = [bytes(range(ms))] + ([b"\x10\x20"] if ms == 10 else [])
        for i, payload in enumerate(packets):
            sock.sendto(rtp(i, i * ms * 8, call["rtp"]["ssrc"], payload,
                            pt=18), (host, int(port)))
            assert len(sock.recv(2048)) == 12 + ms * 8
        # half a frame is none: concealed, as long as the last one
        sock.sendto(rtp(9, 9 * ms * 8, call["rtp"]["ssrc"], b"12345", pt=18),
                    (host, int(port)))
        assert len(sock.recv(2048)) == 12 + ms * 8
        d.ctl("call", "stop", str(call["call"]))
