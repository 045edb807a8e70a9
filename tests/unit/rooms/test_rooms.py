# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md's map of rooms, held against the code; and the names that
docs/architecture.md has of it.

The map is a table, the highest room first. A room may include what stands
below it, and nothing else: so there is no include upwards and no circle.
"""
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ROW = re.compile(r"^\| (`[^|]*`) \|", re.MULTILINE)
# Headers that cmake writes into the build folder, for one file each.
GENERATED = {"codecs/kernels/kernels.c": {"kernels_off.h"}}


def rooms():
    """The folders of the map, the highest first."""
    text = (TOP / "CONTRIBUTING.md").read_text()
    part = text.split("## Where things are")[1].split("\n## ")[0]
    return [name.rstrip("/") for cell in ROW.findall(part)
            for name in re.findall(r"`([^`]+)`", cell)]


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=TOP,
                         check=True, capture_output=True, text=True).stdout
    return [p for p in out.split("\0") if p and (TOP / p).exists()]


def room_of(path, known):
    """The innermost room of the map that a file of the project is in."""
    inside = [r for r in known if path == r or path.startswith(r + "/")]
    return max(inside, key=len) if inside else None


def included(path, text, known):
    """(include, its room) for every file of the project that is included."""
    for name in INCLUDE.findall(text):
        if name in GENERATED.get(path, ()):
            continue
        for base in ("", "src/", "include/", str(pathlib.Path(path).parent) + "/"):
            if (TOP / (base + name)).exists():
                yield name, room_of(base + name, known)
                break
        else:
            yield name, None


def upward(files, known):
    """What includes something that does not stand below it."""
    found = []
    for path, text in files:
        here = room_of(path, known)
        for name, there in included(path, text, known):
            if there is None:
                found.append(f"{path}: {name}: in no room of the map")
            elif there != here and known.index(there) <= known.index(here):
                found.append(f"{path}: {name}: {there} is not below {here}")
    return found


def sources():
    paths = tracked("include/*.h", "src/*.[ch]", "schedulers/*.[ch]",
                    "codecs/*.[ch]")
    assert len(paths) > 300
    return [(p, (TOP / p).read_text()) for p in paths]


def test_every_folder_is_on_the_map():
    known = rooms()
    folders = {str(pathlib.Path(p).parent) for p in tracked()}
    lost = {f for f in folders if f != "." and not room_of(f, known)}
    assert not lost


def test_every_room_of_the_map_exists():
    assert [r for r in rooms() if not (TOP / r).is_dir()] == []
    assert len(rooms()) == len(set(rooms()))


def test_no_include_goes_up():
    assert upward(sources(), rooms()) == []


def test_an_include_that_goes_up_would_be_found():
    known = rooms()
    wrong = [("src/engine/core.c", '#include "node/node.h"\n'),
             ("src/base/units.c", '#include "cr/time.h"\n#include "base/none.h"\n')]
    assert upward(wrong, known) == [
        "src/engine/core.c: node/node.h: src/node is not below src/engine",
        "src/base/units.c: base/none.h: in no room of the map"]


def test_what_the_architecture_names_is_there():
    text = (TOP / "docs/architecture.md").read_text()
    paths = tracked("*.[ch]", "*.py", "*.txt")
    words = {w for p in paths for w in re.findall(r"\w+", (TOP / p).read_text())}
    words |= {pathlib.Path(p).stem for p in paths}
    named = set(re.findall(r"`(?:struct |enum )?(\w*[a-zA-Z0-9]_\w+)(?:\(\))?`", text))
    assert len(named) > 100
    assert named - words == set()
