# SPDX-License-Identifier: Apache-2.0
"""What happens to the set of nodes, one phase after the other, what must hold in
each, and what was counted."""
import math
from dataclasses import dataclass, field

from calls import PACE, Group
from nodes import Node, Set
from speech import law_encode, speech


@dataclass
class Phase:
    """groups: of calls, by the order of their begin; gone: nodes by number that
    were killed while these calls were up; limits: node's name to offers that it
    refused in this phase."""
    name: str
    groups: list = field(default_factory=list)
    gone: set = field(default_factory=set)
    limits: dict = field(default_factory=dict)

    def calls(self):
        return [c for g in self.groups for c in g.calls.values()]


class Run:
    """All phases in turn. @tell: takes a line of progress."""

    def __init__(self, args, out, tell):
        self.args, self.out, self.tell = args, out, tell
        self.nodes, self.phases, self.checks = [], [], []
        self.set, self.groups, self.limits = None, [], {}
        law = law_encode("alaw", speech(PACE * 20))
        self.said = [law[160 * i:160 * (i + 1)] for i in range(len(law) // 160)]

    def begin(self):
        args = self.args
        self.most = math.ceil(args.calls / args.nodes) + 1
        for n in range(1, args.nodes + 1):
            self._node(n, ["--max-calls", str(self.most)] if n == 1 else [])
        self.set = Set(self.out, self.args.config, self.nodes)

    def _node(self, n, options=()):
        self.nodes.append(Node(self.args.build, self.out, n, options))
        return self.nodes[-1]

    def end(self):
        """End all that runs, whatever has happened."""
        for group in self.groups:
            group.end()
        if self.set:
            self.set.end()
        for node in self.nodes:
            node.end()

    def check(self, what, holds, seen):
        self.checks.append({"phase": self.phases[-1].name, "what": what,
                            "holds": bool(holds), "seen": str(seen)})
        self.tell(f"  {'ok' if holds else 'FAILED'}: {what} ({seen})")

    def _phase(self, name, tell):
        self.phases.append(Phase(name))
        self.tell(f"{name}: {tell}")
        return self.phases[-1]

    def _group(self, count=None, seconds=None, rate=None):
        args, phase = self.args, self.phases[-1]
        name = f"{phase.name}-{len(phase.groups) + 1}"
        seconds = seconds or args.seconds
        said = self.said * math.ceil(seconds * PACE / len(self.said))
        group = Group(self.out / name, name, self.set, said,
                      count or args.calls, rate or args.rate, seconds)
        self.groups.append(group)
        phase.groups.append(group)
        return group

    def _long(self):
        """Seconds for calls that are up while as many more come."""
        return 2 * (self.args.seconds + self.args.calls / self.args.rate)

    def on(self, node, calls=None):
        """How many of the calls this node took."""
        calls = self.phases[-1].calls() if calls is None else calls
        return sum(c.host == node.host for c in calls)

    def _ends(self):
        """Of a phase: all calls were answered, and no frame was lost but of
        those that are gone."""
        phase = self.phases[-1]
        for group in phase.groups:
            group.over()
        calls = phase.calls()
        answered = sum(bool(c.answered) for c in calls)
        wanted = sum(g.count for g in phase.groups)
        self.check("every call is answered", answered == wanted,
                   f"{answered} of {wanted}")
        gone = {n.host for n in self.nodes if n.n in phase.gone}
        lost = [sum(c.lost()) for c in calls if c.answered and
                c.host not in gone]
        self.check("no frame is lost" + (" of the other calls" if gone else ""),
                   not any(lost), f"{sum(lost)} lost")
        for node in self.nodes:
            if node.process.poll() is None:
                now = node.load_limits()
                phase.limits[node.name] = now - self.limits.get(node.name, 0)
                self.limits[node.name] = now

    def spread(self):
        n = self.args.nodes
        self._phase("spread", f"{self.args.calls} calls to {n} nodes")
        self._group()
        self._ends()
        taken = [self.on(node) for node in self.nodes]
        self.check("every node takes calls", all(taken), taken)

    def full(self):
        """Twice the calls, all up at once."""
        count = 2 * self.args.calls
        phase = self._phase("full", f"{count} calls at once; node 1 has room "
                            f"for {self.most}")
        self._group(count, rate=max(self.args.rate,
                                    count / self.args.seconds * 2))
        self._ends()
        first = self.nodes[0]
        refused, taken = phase.limits[first.name], self.on(first)
        self.check("node 1 is filled, and no more", taken == self.most, taken)
        self.check("it says load limit to the others", refused > 0, refused)

    def drain(self):
        node = self.nodes[1]
        self._phase("drain", "node 2 drains while calls are up")
        before = self._group(seconds=self._long())
        before.up()
        node.ctl("drain", "1h")
        after = self._group()
        after.up()
        self._ends()
        code = node.wait()
        self.check("it had calls", self.on(node, before.calls.values()),
                   self.on(node, before.calls.values()))
        taken = self.on(node, after.calls.values())
        self.check("it takes none after that", not taken, taken)
        self.check("it ends empty and exits", code == 0, f"exit code {code}")

    def add(self):
        self._phase("add", "a node is added while the proxy runs")
        node = self._node(len(self.nodes) + 1)
        self.set.change([n for n in self.nodes if n.process.poll() is None])
        self._group()
        self._ends()
        self.check("the new node takes calls", self.on(node), self.on(node))

    def kill(self):
        node = self.nodes[2]
        phase = self._phase("kill", "node 3 is killed with -9 while calls are "
                            "up")
        phase.gone.add(node.n)
        before = self._group(seconds=self._long())
        before.up()
        node.kill()
        after = self._group()
        after.up()
        self._ends()
        gone = self.on(node, before.calls.values())
        self.check("its calls are gone", gone, gone)
        taken = self.on(node, after.calls.values())
        self.check("it takes no new ones", not taken, taken)

    def leave(self):
        """All that are left end empty."""
        self._phase("end", "all are told to end")
        left = [n for n in self.nodes if n.process.poll() is None]
        calls = {n.name: n.empties() for n in left}
        self.check("no call is left", not any(calls.values()), calls)
        codes = {n.name: n.end() for n in left}
        self.check("each exits with 0", not any(codes.values()), codes)

        for node in self.nodes:
            had = sum(self.on(node, p.calls()) for p in self.phases
                      if node.n not in p.gone)
            have = len(node.records())
            self.check(f"{node.name} has a record of each call that is not "
                       "gone", have == had,
                       f"{have} of {had} calls")

    def play(self):
        for step in (self.begin, self.spread, self.full, self.drain, self.add,
                     self.kill, self.leave):
            step()
