# SPDX-License-Identifier: Apache-2.0
"""The command line of campaigns/run."""
import os
from dataclasses import dataclass, field


class Wrong(Exception):
    """A wrong command line; the text says what is wrong."""


@dataclass
class Options:
    """campaign: a file or a folder; schedulers: empty, the campaign's own;
    feeder, runner: options passed on."""
    HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    TOP = os.path.dirname(HERE)

    campaign: str = None
    schedulers: list = field(default_factory=list)
    out: str = None
    quick: bool = False
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
        self.out = self.out or os.path.join(self.TOP, "out", self.name)
        if folder and (self.feeder or self.runner):
            raise Wrong(f"{self.name} is simulated: no --feeder, no --runner")
        if self.quick and not (folder and self.own_program()):
            raise Wrong(f"{self.name} has no short form")


def scheduler_list(text):
    """Schedulers as codec-runner takes them; on the command line options
    follow a colon, as commas part the schedulers."""
    return [name.replace(":", ",", 1) for name in text.split(",") if name]


def _set_list(options, text):
    options.schedulers = scheduler_list(text)


def _set_out(options, text):
    options.out = os.path.abspath(text)


VALUES = {
    "--schedulers": _set_list,
    "--out": _set_out,
    "--feeder": lambda options, text: options.feeder.append(text),
    "--runner": lambda options, text: options.runner.append(text),
}


def parse(arguments):
    """Options, or None when help is asked for. Not by argparse: values of
    --feeder and --runner begin with dashes."""
    options = Options()
    left = list(arguments)
    while left:
        word = left.pop(0)
        if word in ("-h", "--help"):
            return None
        if word in VALUES:
            if not left:
                raise Wrong(f"{word} needs a value")
            VALUES[word](options, left.pop(0))
        elif word == "--quick":
            options.quick = True
        elif word.startswith("-"):
            raise Wrong(f"unknown option {word}; see --help")
        elif options.campaign:
            raise Wrong("one campaign at a time, not "
                        f"{options.campaign} and {word}")
        else:
            options.campaign = word
    return options
