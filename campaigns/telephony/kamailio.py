# SPDX-License-Identifier: Apache-2.0
"""Kamailio as it is packaged, between two parties on loopback: it relays SIP by
the request's URI and has its media nodes rewrite every offer and answer by the
NG protocol (its module rtpengine)."""
import json
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass

from loopback import HOST, PATIENCE, free_port

PLAIN = "replace-origin replace-session-connection ICE=remove RTP/AVP"
AMR = "AMR/8000/1/12200//mode-set--7;octet-align--1"


def transcode(codec):
    """Flags of an offer: instead of what it has, this codec."""
    return (f"{PLAIN} codec-mask-all codec-except-telephone-event "
            f"codec-transcode-{codec}")


@dataclass(frozen=True)
class Routes:
    """to_callee, to_caller: flags of offers, by who gets them; answer: of
    answers; delete: of the end of a call; forks: more URIs that each call goes
    to at once, each an offer of its own; manage: let rtpengine_manage() find
    out which of them a message is; unread: let the node read the flags
    (Kamailio 6)."""
    to_callee: str = transcode(AMR)
    to_caller: str = transcode("PCMA")
    answer: str = PLAIN
    delete: str = ""
    forks: tuple = ()
    manage: bool = False
    unread: bool = False

    def words(self):
        """What the configuration's words in capitals stand for."""
        verb = "rtpengine_manage" if self.manage else "rtpengine_{}"
        branch = " via-branch=auto-next" if self.forks else ""
        # flags are the node's to read where a second argument is said
        second = '", "none' if self.unread else ""
        return {
            "OFFER": verb.format("offer"), "ANSWER": verb.format("answer"),
            "DELETE": verb.format("delete"), "ENDED": self.delete + second,
            "TO_CALLEE": self.to_callee + branch + second,
            "TO_CALLER": self.to_caller + second,
            "ANSWERED": self.answer + branch + second,
            "FIRST": 'route(OFFERED);' if not self.forks else "".join(
                f'append_branch("{uri}");' for uri in self.forks),
            "EACH": "route(OFFERED);" if self.forks else "return;"}


CONFIG = """#!KAMAILIO
debug=2
log_stderror=yes
fork=yes
children=2
disable_tcp=yes
auto_aliases=no
listen=udp:@HOST@:@PORT@
MODULES
modparam("jsonrpcs", "transport", 4)
modparam("jsonrpcs", "dgram_socket", "@FOLDER@/rpc")
modparam("tm", "fr_timer", 60000)
NODES
MORE

request_route {
	if (is_method("OPTIONS")) {
		sl_send_reply("200", "OK");
		exit;
	}
	if (is_method("CANCEL")) {
		if (t_check_trans()) {
			@DELETE@("@ENDED@");
			t_relay();
		}
		exit;
	}
	t_on_reply("MEDIA");
	if (has_totag()) {
		if (!loose_route()) {
			if (is_method("ACK") && t_check_trans())
				t_relay();
			exit;
		}
		if (is_method("BYE"))
			@DELETE@("@ENDED@");
		if (is_method("INVITE"))
			route(OFFERED);
		if (is_method("ACK") && has_body("application/sdp"))
			@ANSWER@("@ANSWERED@");
		t_relay();
		exit;
	}
	t_check_trans();
	record_route();
	t_on_failure("FAILED");
	t_on_branch("EACH");
	@FIRST@
	t_relay();
}

# flag 1: the request has an offer; flag 2: it comes from who was called
route[OFFERED] {
	if (has_totag() && is_direction("upstream"))
		setflag(2);
	if (!has_body("application/sdp"))
		return;
	setflag(1);
	if (isflagset(2)) {
		if (!@OFFER@("@TO_CALLER@"))
			route(NO_MEDIA);
	} else if (!@OFFER@("@TO_CALLEE@"))
		route(NO_MEDIA);
}

route[NO_MEDIA] {
	xlog("L_WARN", "no media for $ci\\n");
	send_reply("503", "No media");
	exit;
}

branch_route[EACH] {
	@EACH@
}

onreply_route[MEDIA] {
	if (!status =~ "(18[0-9])|(2[0-9][0-9])" || $rm != "INVITE" ||
	    !has_body("application/sdp"))
		return;
	if (isflagset(1)) {
		@ANSWER@("@ANSWERED@");
	} else if (isflagset(2)) {
		@OFFER@("@TO_CALLEE@");
	} else {
		@OFFER@("@TO_CALLER@");
	}
}

failure_route[FAILED] {
	@DELETE@("@ENDED@");
}
"""
MODULES = ("jsonrpcs", "kex", "corex", "tm", "tmx", "sl", "rr", "pv", "maxfwd",
           "textops", "siputils", "xlog", "rtpengine")


def version():
    """(6, 0, 1); (0,): there is none."""
    try:
        told = subprocess.run(["kamailio", "-v"], capture_output=True,
                              text=True).stdout
    except FileNotFoundError:
        return (0,)
    return tuple(map(int, re.search(r"kamailio (\d+)\.(\d+)\.(\d+)",
                                    told).groups()))


class Kamailio:
    """One that runs, at .port of @host. It waits for 10 s for nodes and for
    60 s for parties (fr_timer), as a busy machine is late where a net would be
    broken. @nodes: of the NG protocol, as rtpengine_sock has them
    ("udp:127.0.0.1:2223"), of one set; or none, with @more lines of
    configuration that tell where they are; then @retries and @wait_ms may be
    "", too."""

    def __init__(self, folder, nodes, routes=Routes(), retries=20, wait_ms=500,
                 more=(), host=HOST):
        self.folder, self.host, self.port = folder, host, free_port()
        (folder / "run").mkdir(parents=True)
        params = {"rtpengine_sock": " ".join(nodes), "rtpengine_retr": retries,
                  "rtpengine_tout_ms": wait_ms}
        self._configure(routes, params, more)
        self.log_path = folder / "kamailio.log"
        self.process = subprocess.Popen(
            ["kamailio", "-DD", "-E", "-f", folder / "kamailio.cfg", "-Y",
             folder / "run", "-w", folder, "-m", "64", "-M", "8"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.log_path, "w"))
        try:
            self._answers()
        except BaseException:
            self.end()
            raise

    def _configure(self, routes, params, more):
        lines = [f'modparam("rtpengine", "{name}", {json.dumps(value)})'
                 for name, value in params.items() if value != ""]
        text = CONFIG.replace("MODULES", "\n".join(
            f'loadmodule "{m}.so"' for m in MODULES
            if f'loadmodule "{m}.so"' not in more))
        text = text.replace("NODES", "\n".join(lines), 1)
        text = text.replace("MORE", "\n".join(more), 1)
        words = {**routes.words(), "HOST": self.host, "PORT": str(self.port),
                 "FOLDER": str(self.folder)}
        (self.folder / "kamailio.cfg").write_text(
            re.sub(r"@([A-Z_]+)@", lambda m: words[m[1]], text))

    def _answers(self):
        """Until it answers OPTIONS."""
        deadline = time.monotonic() + PATIENCE
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind((self.host, 0))
            s.settimeout(0.2)
            asked = (f"OPTIONS sip:{self.host}:{self.port} SIP/2.0\r\n"
                     f"Via: SIP/2.0/UDP {self.host}:{s.getsockname()[1]}"
                     ";branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\n"
                     "To: <sip:a@b>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\n"
                     "Max-Forwards: 1\r\nContent-Length: 0\r\n\r\n").encode()
            while True:
                assert self.process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()
                try:
                    s.sendto(asked, (self.host, self.port))
                    if s.recv(4096).startswith(b"SIP/2.0 200"):
                        return
                except (TimeoutError, ConnectionRefusedError):
                    time.sleep(0.02)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def rpc(self, method, *params):
        """The result of a command of its RPC."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(str(self.folder / "asker"))
            s.settimeout(PATIENCE)
            s.connect(str(self.folder / "rpc"))
            s.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method,
                               "params": params}).encode())
            reply = json.loads(s.recv(1 << 20))
        (self.folder / "asker").unlink()
        assert "result" in reply, reply
        return reply["result"]

    def end(self):
        """End it and those that it has started."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)
