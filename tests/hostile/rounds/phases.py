# SPDX-License-Identifier: Apache-2.0
"""What a node is asked to do while something fails: its replies are a result, a
refusal with a reason, or the end of the connection that could not have one."""
import http.client
import json
import signal
import socket
import urllib.error
import urllib.request
import wave
from itertools import count

from node import HOST, PATIENCE, Control, Wrong, wait_for
from ng import Proxy

DONE, REFUSED, CUT = "done", "refused", "cut"
# The initialisers of opencore-amr and vo-amrwbenc crash without memory, and
# --memory-reserve is there for that: no AMR here, and no AMR-WB.
CODECS = ("g722", "opus", "gsm", "pcma", "g726-32", "l16", "speex")
SCHEDULERS = ("fifo", "edf", "cfs", "edf-hsb", "wfq", "bfs")


class Phase:
    """@prepare(asker) returns what act() needs; @act(asker, it) is what may fail,
    a reply of JSON-RPC or None; @undo(asker, it) makes it as it was."""

    def __init__(self, prepare, act, undo=None):
        self.prepare, self.act = prepare, act
        self.undo = undo or (lambda asker, what: None)


class Asker:
    """A client that connects again when it has been cut off."""

    def __init__(self, node):
        self.node, self.numbers = node, count()
        self.control = Control(node.path)

    def reply(self, method, **params):
        """None: the node has closed the connection."""
        try:
            self.control.send(method, params)
            while "method" in (reply := self.control.hear()):
                pass
            return reply
        except (json.JSONDecodeError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise Wrong(f"no reply to {method}") from error
            self.again()
            return None

    def again(self):
        self.control.lines.close()
        self.control.socket.close()
        self.control = Control(self.node.path)

    def result(self, method, **params):
        reply = self.reply(method, **params)
        if not reply or "result" not in reply:
            raise Wrong(f"{method}: {reply}")
        return reply["result"]

    def close(self):
        self.control.lines.close()
        self.control.socket.close()


def outcome(reply):
    """A refusal says why."""
    if reply is None:
        return CUT
    if "result" in reply:
        return DONE
    if not reply.get("error", {}).get("message"):
        raise Wrong(f"no reason: {reply}")
    return REFUSED


def terms(asker, port="own"):
    codec = CODECS[next(asker.numbers) % len(CODECS)]
    return {"in": {"codec": "pcmu"}, "keep": True, "port": port,
            "out": {"codec": codec, "address": f"{HOST}:9"}}


def a_call(asker):
    return asker.result("call.start", **terms(asker))["call"]


def stop(asker, call):
    asker.reply("call.stop", call=call)


def stop_new(asker, old):
    """End all calls that were not there before."""
    for call in asker.result("call.list")["calls"]:
        if call["call"] not in old:
            asker.reply("call.stop", call=call["call"])


def calls(asker):
    """Their streams: a call of two has the id of its first one."""
    return {s["stream"] for s in asker.result("stream.list",
                                              limit=200)["streams"]}


def change(asker, call):
    n = next(asker.numbers)
    return asker.reply("call.change", call=call, weight=1 + n % 5, out={
        "ptime": ("20ms", "40ms", "60ms")[n % 3]})


def start_talk(asker, _):
    n = next(asker.numbers)
    return asker.reply("call.start", keep=True,
                       a={"codec": "pcmu", "jitter": "adaptive"},
                       b={"codec": ("pcmu", "gsm", "opus")[n % 3], "rtcp": "mux",
                          "address": f"{HOST}:9"})


def a_talk(asker):
    return asker.result("call.start", keep=True,
                        a={"codec": "pcmu"}, b={"codec": "pcmu"})[
                            "call"]


def change_talk(asker, talk):
    n = next(asker.numbers)
    return asker.reply("call.change", call=talk, a={
        "codec": ("gsm", "pcma", "opus")[n % 3], "address": f"{HOST}:9"})


def stop_talk(asker, talk):
    asker.reply("call.stop", call=talk)


def endpoint(asker, _):
    """Opened, told where its party is, and closed."""
    reply = asker.reply("endpoint.open", codec="pcmu", rtcp="port", keep=True)
    if outcome(reply) != DONE:
        return reply
    of = reply["result"]["endpoint"]
    told = asker.reply("endpoint.change", endpoint=of, codec="pcma",
                       address=f"{HOST}:9")
    asker.reply("endpoint.close", endpoint=of)
    return told


def no_endpoint(asker, _):
    for of in asker.result("endpoint.list")["endpoints"]:
        if not of.get("call"):
            asker.reply("endpoint.close", endpoint=of["endpoint"])


def reopened(asker):
    return asker.result("stats")["records"]["reopened"]


def reload(asker, _):
    """Whatever comes of it, the node serves."""
    asker.node.daemon.process.send_signal(signal.SIGHUP)
    return asker.reply("stats")


def reload_again(asker, before):
    """The next one does what the failed one did not."""
    def done():
        asker.node.daemon.process.send_signal(signal.SIGHUP)
        return reopened(asker) > before
    wait_for("the records are opened again", done)


def tune(asker, _):
    return asker.reply("scheduler.tune", options="quantum=%dms" % (
        1 + next(asker.numbers) % 5))


def switch(asker, _):
    return asker.reply("scheduler.set", scheduler=SCHEDULERS[
        next(asker.numbers) % len(SCHEDULERS)])


def trace(asker, _):
    one = asker.reply("trace.start", name=f"t{next(asker.numbers) % 4}",
                      overwrite=True)
    two = asker.reply("trace.stop")
    return one if outcome(one) != DONE else two


def file(asker):
    """A second of silence in the spool."""
    with wave.open(str(asker.node.folder / "spool" / "in.wav"), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(bytes(16000))


def convert_start(asker):
    return asker.reply("convert.start", **{"in": "in.wav", "out": "out.wav",
                                           "rate": 16000, "overwrite": True})


def convert(asker, _):
    reply = convert_start(asker)
    no_conversion(asker)
    return reply


def cancel(asker, _):
    """It may be over before."""
    reply = convert_start(asker)
    if outcome(reply) == DONE:
        asker.reply("convert.cancel", conversion=reply["result"]["conversion"])
    no_conversion(asker)
    return reply


def no_conversion(asker, _=None):
    def none():
        reply = asker.reply("stats")
        of = reply and reply.get("result", {}).get("conversions")
        return of and of["waiting"] + of["running"] == 0
    wait_for("no conversion is left", none)


def connect(asker, _):
    try:
        other = Control(asker.node.path)
        other.send("hello", {})
        reply = other.hear()
        other.lines.close()
        other.socket.close()
        return reply
    except TimeoutError as error:
        raise Wrong("who has connected is left alone") from error
    except (json.JSONDecodeError, OSError):
        return None


def page(asker, _):
    try:
        for path in ("metrics", "state", ""):
            urllib.request.urlopen(f"http://{HOST}:{asker.node.http}/{path}",
                                   timeout=PATIENCE).read()
        return {"result": {}}
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(getattr(error, "reason", error), TimeoutError):
            raise Wrong(f"no page: {path}") from error
        return None


def sdp(port):
    return (f"v=0\r\no=- 1 1 IN IP4 {HOST}\r\ns=-\r\nc=IN IP4 {HOST}\r\nt=0 0\r\n"
            f"m=audio {port} RTP/AVP 0 8\r\n")


def a_name(asker):
    """(calls, the call-id of the next one)"""
    return calls(asker), f"c{next(asker.numbers)}"


def forget(asker, before):
    """Its delete may have been refused."""
    old, name = before
    proxy = Proxy(f"{HOST}:{asker.node.ng}")
    proxy.ask("delete", **{"call-id": name, "delete-delay": 0})
    proxy.close()
    stop_new(asker, old)


def ng(asker, before):
    proxy = Proxy(f"{HOST}:{asker.node.ng}")
    try:
        of = {"call-id": before[1], "from-tag": "a"}
        told = [proxy.ask("offer", sdp=sdp(4000), **of),
                proxy.ask("answer", sdp=sdp(4002), **of, **{"to-tag": "b"}),
                proxy.ask("query", **of),
                proxy.ask("list"),
                proxy.ask("delete", **of)]
    except (TimeoutError, ConnectionError, socket.timeout) as error:
        raise Wrong("no answer by NG") from error
    finally:
        proxy.close()
    if any(t["result"] == "error" and not t.get("error-reason") for t in told):
        raise Wrong(f"no reason: {told}")
    if any(t["result"] == "ok" and not t.get("sdp") for t in told[:2]):
        raise Wrong(f"no SDP: {told}")
    for t, has in zip(told[2:4], ({"created", "tags", "totals"}, {"calls"})):
        if t["result"] == "ok" and not has <= set(t):
            raise Wrong(f"members are missing: {told}")
    ok = all(t["result"] == "ok" for t in told)
    return {"result": {}} if ok else {"error": {"message": str(told)}}


PHASES = {
    "call": Phase(calls, lambda asker, _: asker.reply(
        "call.start", **terms(asker)), stop_new),
    "shared": Phase(calls, lambda asker, _: asker.reply(
        "call.start", **terms(asker, "shared")), stop_new),
    "stop": Phase(a_call, lambda asker, call: asker.reply(
        "call.stop", call=call), stop),
    "change": Phase(a_call, change, stop),
    "talk": Phase(calls, start_talk, stop_new),
    "talk-change": Phase(a_talk, change_talk, stop_talk),
    "endpoint": Phase(lambda asker: None, endpoint, no_endpoint),
    "switch": Phase(lambda asker: None, switch),
    "tune": Phase(lambda asker: asker.result("scheduler.set", scheduler="rr"),
                  tune),
    "reload": Phase(reopened, reload, reload_again),
    "trace": Phase(lambda asker: None, trace,
                   lambda asker, _: asker.reply("trace.stop")),
    "convert": Phase(file, convert, no_conversion),
    "cancel": Phase(file, cancel, no_conversion),
    "connect": Phase(lambda asker: None, connect),
    "page": Phase(lambda asker: None, page),
    "ng": Phase(a_name, ng, forget),
}
