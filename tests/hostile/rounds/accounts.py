# SPDX-License-Identifier: Apache-2.0
"""The sums of docs/operate.md: every datagram and every frame has become
something that has a name."""
import socket
import struct

from node import HOST, Wrong, wait_for

NOT_READ = {"rx": ("socket_drops",), "totals": ("port_drops", "unread")}
READ = {"rx": ("oversized", "malformed", "rtcp", "unknown_ssrc", "no_listener",
               "handover_drops"),
        "totals": ("wrong_pt", "wrong_source", "wrong_ssrc", "probation",
                   "too_big", "duplicates", "reordered", "seq_jumps", "late_in",
                   "surplus", "overflowed", "packets_in")}
FRAMES = ("done", "overwritten", "expired", "shed", "concealed", "malformed",
          "cancelled", "relayed")
NOBODYS = 0xbad0000  # SSRC, and those after it


def total(stats, places):
    return sum(stats[group][name]
               for group, names in places.items() for name in names)


def known(stats):
    """Datagrams that the node has seen or knows to be lost."""
    return stats["rx"]["packets"] + total(stats, NOT_READ)


def nudge(node):
    """A datagram to each receiver's shared socket: the kernel tells with it what
    it has dropped. How many."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((HOST, 0))
        host, port = node.rtp.rsplit(":", 1)
        for i in range(node.receivers):
            s.sendto(struct.pack("!BBHII", 0x80, 77, 0, 0, NOBODYS + i),
                     (host, int(port)))
    return node.receivers


def settle(node, sent):
    """Wait until the node knows of all @sent datagrams; (stats, how many were
    sent in the end)."""
    def is_known():
        nonlocal sent
        stats = node.ask("stats")
        if known(stats) < sent:
            sent += nudge(node)
            return None
        return stats

    return wait_for(f"{sent} datagrams known", is_known), sent


def settle_to(node, sent):
    """Wait until the node has read so many, whoever they are of."""
    wait_for(f"{sent} datagrams read", lambda: known(
        node.ask("stats")) >= sent)


def check(node, sent, to_itself=False):
    """When no call is left: all adds up. Returns the stats. @to_itself: the node
    may have been asked to send its RTCP to itself; and a reply by NG to who has
    gone goes to a port that may be one of the node's since: malformed on a port
    for RTP, and on one for RTCP counted as RTCP."""
    stats, sent = settle(node, sent)
    frames = {name: stats["totals"][name] for name in FRAMES}
    more = stats["rx"]["malformed"] + stats["rx"]["rtcp"] if to_itself else 0
    if not sent <= known(stats) <= sent + more:
        raise Wrong(f"{sent} datagrams sent, {known(stats)} known: {stats}")
    if stats["rx"]["packets"] != total(stats, READ):
        raise Wrong(f"{stats['rx']['packets']} read, {total(stats, READ)} "
                    f"named: {stats}")
    of = stats["totals"]
    if of["packets_in"] + of["synthesized"] != sum(frames.values()):
        raise Wrong(f"{of['packets_in']} + {of['synthesized']} frames: "
                    f"{frames}")
    return stats
