# SPDX-License-Identifier: Apache-2.0
"""The command line of campaigns/run."""
import os
import re
from dataclasses import dataclass, field

import installation
import peer

# folders whose program compares no schedulers
UNSCHEDULED = ("cluster",)
# {folder: what its program needs of the tests' build}
BENCHES = {"scale": ("bench_contention", "bench-moves")}


class Wrong(Exception):
    """A wrong command line; the text says what is wrong."""


@dataclass
class Options:
    """campaign: a file or a folder; schedulers: empty, the campaign's own;
    p99: ms, the bound of find_capacity; peer: a media proxy that plays, too,
    rtpengine or ADDR:PORT; feeder, runner: options passed on."""
    HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    TOP = os.path.dirname(HERE)

    campaign: str = None
    schedulers: list = field(default_factory=list)
    out: str = None
    quick: bool = False
    rounds: int = None
    separate: bool = False
    find_capacity: bool = False
    p99: float = 20.0
    dump: bool = False
    peer: str = None
    feeder: list = field(default_factory=list)
    runner: list = field(default_factory=list)

    @property
    def name(self):
        base = os.path.basename(os.path.abspath(self.campaign))
        return base.removesuffix(".yaml")

    def own_program(self):
        """The program of a folder of campaigns; None: it has none."""
        path = os.path.join(self.campaign, "run")
        return path if os.access(path, os.X_OK) else None

    def check(self):
        """Find the campaign, and whether the options fit it."""
        beside = os.path.join(self.HERE, self.campaign or "demo.yaml")
        if not self.campaign or (not os.path.exists(self.campaign)
                                 and os.path.exists(beside)):
            self.campaign = beside
        if not os.path.exists(self.campaign):
            raise Wrong(f"no campaign file {self.campaign}")
        folder = os.path.isdir(self.campaign)
        self.out = self.out or installation.out(self.TOP, self.name)
        if folder and (self.feeder or self.runner or self.dump or self.peer
                       or self.rounds or self.separate or self.find_capacity):
            own = self.own_program()
            raise Wrong(f"{self.name} {'has a program of its own' if own else 'is simulated'}"
                        ": no --feeder, --runner, --dump, --peer, --rounds, "
                        "--separate or --find-capacity" +
                        (f"; {own} --help has its options" if own else ""))
        if (folder and self.schedulers and self.name in UNSCHEDULED
                and self.own_program()):
            raise Wrong(f"{self.name} compares no schedulers: no --schedulers; "
                        f"{self.own_program()} --help has its options")
        if self.rounds and self.find_capacity:
            raise Wrong("--find-capacity repeats as it needs: no --rounds")
        if self.quick and folder and not self.own_program():
            raise Wrong(f"{self.name} has no short form")
        if self.quick and (self.rounds or self.find_capacity or self.separate):
            raise Wrong("--quick plays blocks, six rounds of them: no --rounds, "
                        "--find-capacity or --separate")


def scheduler_spec(name):
    """A scheduler as codec-runner takes it; on the command line options follow
    colons, as commas part the schedulers. No value has a colon in it."""
    return re.sub(r"(?<!^kernel):", ",", name)


def scheduler_list(text):
    """Several; an option after a comma belongs to the scheduler before it."""
    out = []
    for word in filter(None, text.split(",")):
        if "=" not in word.split(":")[0]:
            out.append(word)
        elif out:
            out[-1] += f",{word}"
        else:
            raise Wrong(f"--schedulers: {word} is an option: the scheduler "
                        "that has it comes first, as in rr:quantum=2ms")
    return [scheduler_spec(name) for name in out]


def _schedulers(text):
    found = scheduler_list(text)
    if not found:
        raise Wrong("--schedulers takes names such as fifo,edf")
    for name in found:
        if found.count(name) > 1:
            raise Wrong(f"--schedulers has {name} twice; to compare it with "
                        f"itself, call the second one {name}#2")
    return found


def _rounds(text):
    if not re.fullmatch(r"[1-9][0-9]{0,2}", text):
        raise Wrong(f"--rounds takes 1 to 999, not {text}")
    return int(text)


def _p99(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    if not match:
        raise Wrong(f"--p99 takes a time such as 20ms, not {text}")
    return float(match[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[match[2]]


def peer_name(text):
    """A media proxy, as --peer takes it. Wrong: it does not."""
    if text != peer.RTPENGINE and not peer.is_address(text):
        raise Wrong("--peer takes rtpengine or the address at which a media "
                    f"proxy listens for NG, as 127.0.0.1:22222, not {text}")
    return text


#: How the value of an option is read; lists grow each time.
VALUES = {"peer": peer_name, "rounds": _rounds, "p99": _p99,
          "schedulers": _schedulers, "out": os.path.abspath, "feeder": list,
          "runner": list}
FLAGS = "quick", "find_capacity", "dump", "separate"


def parse(arguments):
    """Options, or None when help is asked for. Not by argparse: values of
    --feeder and --runner begin with dashes."""
    options = Options()
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in ("-h", "--help"):
            return None
        name = word[2:].replace("-", "_") \
            if word.startswith("--") and "_" not in word else ""
        if name in VALUES:
            if not left:
                raise Wrong(f"{word} needs a value")
            read, text = VALUES[name], left.pop(0)
            if read is list:
                getattr(options, name).append(text)
            else:
                setattr(options, name, read(text))
        elif name in FLAGS:
            setattr(options, name, True)
        elif word.startswith("-"):
            raise Wrong(f"unknown option {word}; see --help")
        elif options.campaign:
            raise Wrong("one campaign at a time, not "
                        f"{options.campaign} and {word}")
        else:
            options.campaign = word
    return options
