# SPDX-License-Identifier: Apache-2.0
"""The node is stopped and goes on; another one beside it is killed and starts
again at the same ports, with the same files."""
import json
import signal
import socket
import time

from node import HOST, Control, Node, Wrong, free_port, wait_for

STOPPED = 0.4  # seconds at a time


def stop_and_go(scene):
    """What the kernel keeps meanwhile is done when it goes on."""
    process, told = scene.node.daemon.process, {"stops": 0}
    end = time.monotonic() + scene.seconds
    while time.monotonic() < end:
        process.send_signal(signal.SIGSTOP)
        time.sleep(scene.rng.uniform(0, STOPPED))
        process.send_signal(signal.SIGCONT)
        told["stops"] += 1
        scene.good.flow()
        scene.node.ask("stats")
    return told


def fixed(folder):
    """Options of a node whose ports are the same each time."""
    return ("--rtp", f"{HOST}:{free_port()}", "--udp-port", str(free_port()),
            "--rtp-ports", "40000-40999", "--ng", f"{HOST}:{free_port()}",
            "--http", f"{HOST}:{free_port(socket.SOCK_STREAM)}")


def kill_and_start(scene):
    """It is killed while calls are up and calls end. What was written is there
    then, and whole, but for a last line."""
    folder = scene.folder / "victim"
    folder.mkdir()
    options, told = fixed(folder), {"kills": 0, "ended": 0, "ending": 0}
    end = time.monotonic() + scene.seconds
    while time.monotonic() < end or told["kills"] < 2:
        node = Node(folder, scene.rng.randrange(4), options)
        try:
            up, ended = up_and_down(node, scene.rng)
            wait_for("all calls that have ended are written", lambda: node.ask(
                "stats")["records"]["written"] == ended)
            told["ended"] += ended
            told["ending"] += end_some(node, up, scene.rng)
        finally:
            node.kill()
        told["kills"] += 1
    node = Node(folder, 0, options)
    node.stop()
    told["ended"] += 1  # its own
    told |= dict(zip(("records", "cut"), whole_and_cut(folder / "records")))
    missing = told["ended"] - told["records"]
    if told["cut"] > told["kills"] or not \
            -told["ending"] <= missing <= told["cut"]:
        raise Wrong(f"records: {told}")
    return told


def whole_and_cut(path):
    """How many lines are records, and how many are not."""
    whole = cut = 0
    for line in path.read_text().splitlines():
        try:
            json.loads(line)
            whole += 1
        except ValueError:
            cut += 1
    return whole, cut


def up_and_down(node, rng):
    """Calls, some of which end. Those that are up; and how many have ended of
    all that the node had."""
    calls = [node.ask("call.start", **{
        "in": {"codec": "pcmu"}, "port": rng.choice(("own", "shared")),
        "out": {"codec": "pcma", "address": f"{HOST}:9"}})["call"]
        for _ in range(10)]
    ended = rng.randrange(10)
    for call in calls[:ended]:
        node.ask("call.stop", call=call)
    Control(node.path)  # a client that is there when it dies
    return calls[ended:], ended + 1  # that of meet()


def end_some(node, calls, rng):
    """Nobody waits for their ends. How many."""
    some = calls[:rng.randrange(len(calls) + 1)]
    for call in some:
        node.control.send("call.stop", {"call": call})
    return len(some)
