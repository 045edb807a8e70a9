# SPDX-License-Identifier: Apache-2.0
"""What columns are called: their scheduler, and of its options those that tell
it apart from others of that name. Never a path."""
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """Of a column. run: name of its folder; scheduler; options: as in the
    trace, "rr,quantum=1ms"; cpus: as text; campaign: name of its file."""
    run: str
    scheduler: str
    options: str = ""
    cpus: str = ""
    campaign: str = ""


def scheduler_name(text):
    """"./x/mine.so" is mine, and so is "libmine.so"."""
    name = text.split(",")[0]
    if name.endswith(".so"):
        name = os.path.basename(name)[:-len(".so")]
        name = name.removeprefix("lib") or name
    return name


def _options(known):
    return known.options.split(",")[1:]


def _with_options(known, alike):
    """With the options that not all of its name have."""
    others = [_options(k) for k in alike]
    own = [o for o in _options(known)
           if not all(o in more for more in others)]
    return ",".join([scheduler_name(known.scheduler), *own])


#: Tried in turn, until no two are alike; each gets the label so far.
_WAYS = (lambda label, k: f"{label} on {k.cpus} CPU" + "s" * (k.cpus != "1")
         if k.cpus else label,
         lambda label, k: f"{label}, {k.campaign}" if k.campaign else label,
         lambda label, k: f"{label} ({k.run})")


def _apart(labels, known, way):
    """Those that are not unique, told apart by a way, if it does."""
    out = list(labels)
    for label in set(labels):
        places = [i for i, other in enumerate(labels) if other == label]
        more = [way(label, known[i]) for i in places]
        if len(places) > 1 and len(set(more)) > 1:
            for i, text in zip(places, more):
                out[i] = text
    return out


def labels(known):
    """A label for each Known, no two alike."""
    names = [scheduler_name(k.scheduler) for k in known]
    out = [_with_options(k, [o for o, n in zip(known, names) if n == name])
           if names.count(name) > 1 else name
           for k, name in zip(known, names)]
    for way in _WAYS:
        out = _apart(out, known, way)
    return unique(out, " #")


def unique(names, mark):
    """The names, of which the second of a kind ends in mark and 2, and so on."""
    return [name + (f"{mark}{n}" if (n := names[:i + 1].count(name)) > 1
                    else "") for i, name in enumerate(names)]
