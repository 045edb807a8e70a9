# SPDX-License-Identifier: Apache-2.0
"""The client of the NG protocol that SIP servers of Node.js use (npm's
rtpengine-client) drives calls, and both phones hear each other."""
import json
import os
import pathlib
import subprocess

import pytest

from ng_call import Call, TO_AMR, all_is_gone, d  # noqa: F401
from packets import header
from telephony import System
from test_senders import needed

HERE = pathlib.Path(__file__).parent / "npm_client"
AMR = "AMR/8000 mode-set=7;octet-align=1"


class Npm(System):
    """Asks by it; requests are written as ours are."""

    def __init__(self, at, kind):
        needed("node")
        client = pathlib.Path(os.environ.get("NPM_CLIENT", "")).resolve()
        if not (client / "installed").exists():
            pytest.skip("no rtpengine-client: npm_client/install FOLDER, and "
                        "NPM_CLIENT=FOLDER")
        self.process = subprocess.Popen(
            ["node", HERE / "ask.js", kind, *at.rsplit(":", 1)],
            env={**os.environ, "NODE_PATH": str(client / "node_modules")},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command, **request):
        self.process.stdin.write(json.dumps({
            "command": command, **{k.replace("_", "-"): v
                                   for k, v in request.items()}}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("reply "):
                return json.loads(line[6:])
        raise EOFError(command)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture(params=["udp", "tcp"])
def npm(request, d):  # noqa: F811
    client = Npm(d.ready["ng"], request.param)
    yield client
    client.close()


def test_a_call_of_the_npm_client(d, npm):  # noqa: F811
    """PCMA meets AMR: offer, answer, speech both ways, a new offer, query,
    list, statistics, delete."""
    assert npm.ask("ping")["result"] == "pong"
    call = Call(npm, codec=TO_AMR)
    call.offer("8 PCMA/8000")
    amr, = call.offered[0].types
    assert call.offered[0].names == ["AMR/8000"]
    call.answer(f"{amr} {AMR}")
    assert call.answered[0].names == ["PCMA/8000"]
    call.a.says(0xd5, 20, 8)
    assert {header(x)["pt"] for x in call.b.hears(20)} == {amr}
    for i in range(20):
        call.b.say(7, i, 160 * i, payload=b"\xf0\x7c", pt=amr)
    heard = call.a.hears(20)
    assert {(header(x)["pt"], len(x)) for x in heard} == {(8, 12 + 160)}
    call.offer("8 PCMA/8000", known=True, lines=["a=sendonly"])
    assert call.offered[0].mode == "sendonly"
    call.answer(f"{amr} {AMR}", lines=["a=recvonly"])
    told = npm.ok("query", call_id=call.id)
    assert set(told["tags"]) == {"tag-a", "tag-b"}
    assert told["totals"]["RTP"]["packets"] == 40
    assert npm.ok("list", limit=10)["calls"] == [call.id]
    assert npm.ok("statistics")["statistics"]["currentstatistics"][
        "sessionstotal"] == 1
    assert call.delete()["totals"]["RTP"]["errors"] == 0
    all_is_gone(d)


def test_the_npm_client_is_told_what_is_wrong(npm):
    reply = npm.ask("answer", call_id="none", from_tag="a", to_tag="b",
                    sdp="v=0")
    assert reply["result"] == "error" and reply["error-reason"]
    assert "warning" in npm.ok("delete", call_id="none", from_tag="a")


def test_the_npm_client_hands_over_a_script(d, npm):  # noqa: F811
    call = Call(npm, rtpp_flags="codec=[mask=[all] transcode=[PCMU]] RTP AVP")
    call.offer("8 PCMA/8000")
    assert call.offered[0].names == ["PCMU/8000"]
    call.delete()
    all_is_gone(d)
