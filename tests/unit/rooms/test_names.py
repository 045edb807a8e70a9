# SPDX-License-Identifier: Apache-2.0
"""What rooms must not name. Policies tell what holds under them, so nothing
outside schedulers/ asks which one it has: but for src/app, where people choose
one. A node speaks no protocol: there and below are structs, and no JSON.
Comments may name anything.
"""
import re

import test_rooms as rooms

# A comment, or a literal with what it says.
COMMENT = r"//[^\n]*|/\*.*?\*/"
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
COMMENT_OR_LITERAL = re.compile(f"{COMMENT}|{LITERAL}|'(?:[^'\\\\]|\\\\.)+'",
                                re.DOTALL)
LISTED = re.compile(r"&cr_sched_(\w+)")
WORD = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
# What the kernel calls its own is the engine's list.
KERNELS = re.compile(r"\bkernel:[a-z]+")
# Words of the language, too: only a literal that begins with one names it.
ENGLISH = {"best"}


def read(path):
    return (rooms.TOP / path).read_text()


def policies():
    """The names in the registry's list."""
    rows = re.search(r"cr_schedulers\[\] = \{(.*?)\};",
                     read("schedulers/registry.c"), re.DOTALL)
    return {name.replace("_", "-") for name in LISTED.findall(rows[1])}


def is_named(name, text):
    text = KERNELS.sub(" ", text)
    if name in ENGLISH:
        return re.match(name + "(,|$)", text) is not None
    return name in WORD.findall(text)


def code_and_literals(text):
    """The code without comments and literals; the literals."""
    literals = [m[1] for m in COMMENT_OR_LITERAL.finditer(text)
                if m[1] is not None]
    return COMMENT_OR_LITERAL.sub(" ", text), literals


def named(files, names):
    """(path, name) for every policy that a file's code or literals name."""
    found = set()
    for path, text in files:
        code, literals = code_and_literals(text)
        found |= {(path, name) for name in names
                  for literal in literals if is_named(name, literal)}
        found |= {(path, name.replace("_", "-"))
                  for name in re.findall(r"\bcr_sched_(\w+)", code)
                  if name.replace("_", "-") in names}
    return found


def sources_below_apps():
    """All sources that are to know no policy."""
    return [(p, text) for p, text in rooms.sources()
            if p.startswith(("include/", "src/"))
            and not p.startswith("src/app/")]


def test_the_registry_lists_what_people_choose_by_name():
    names = policies()
    literals = {literal for p, text in rooms.sources()
                if p.startswith("schedulers/")
                for literal in code_and_literals(text)[1]}
    # pf, pd and pd2 are one macro's
    assert {n for n in names if n not in literals} == {"pf", "pd", "pd2"}
    assert len(names) >= 16


def test_no_policy_is_named_outside_schedulers():
    assert named(sources_below_apps(), policies()) == set()


def test_a_policy_that_is_named_would_be_found():
    told = [("src/node/a.c", 'if (!strcmp(p->name, "edf-hsb")) // "fifo"\n'),
            ("src/node/b.c", 'live_switch(l, &cr_sched_fifo, NULL, e); /* "rr" */'),
            ("src/sim/c.c", 'log("goes-on=fifo at_ns=%d", 3);'),
            ("src/sim/d.c", "char c = '\"'; say(\"the best of all: edfs\");"),
            ("src/sim/e.c", 'find("best,w=3")'),
            ("src/sim/f.c", 'find("kernel:fifo,priority=3")'),
            ("src/sim/g.c", 'find("kernel:rr or rr")')]
    assert named(told, policies()) == {
        ("src/node/a.c", "edf-hsb"), ("src/node/b.c", "fifo"),
        ("src/sim/c.c", "fifo"), ("src/sim/e.c", "best"),
        ("src/sim/g.c", "rr")}


# --- JSON ---

JSON = re.compile(r"jansson|\bjson_t\b|\bjson_(object|array|string|integer|real"
                  r"|pack|unpack|load[bs]|dump[bs]?)\w*\(")


def speak_json(files):
    """The files whose code, or whose includes, are jansson's."""
    return {path for path, text in files
            if JSON.search(code_and_literals(text)[0])}


def node_and_below():
    known = rooms.rooms()
    return set(known[known.index("src/node"):])


def test_no_json_in_the_node_and_below():
    known, below = rooms.rooms(), node_and_below()
    assert {"src/node", "src/engine", "src/cost", "src/observe"} <= below
    assert not {"src/protocol", "src/rpc", "src/run"} & below
    files = [(p, text) for p, text in rooms.sources()
             if rooms.room_of(p, known) in below]
    built = [(p, read(p)) for p in rooms.tracked("*CMakeLists.txt")
             if rooms.room_of(p, known) in below]
    assert len(files) > 200 and len(built) > 10
    assert speak_json(files) == set()
    assert [p for p, text in built if "JANSSON" in text] == []


def test_json_would_be_found():
    told = [("a.h", "#include <jansson.h>\n"),
            ("b.c", "static json_t *x; /* ... */\n"),
            ("c.c", "o = json_pack(fmt, 1);\n"),
            ("d.c", "/* jansson, json_t */ put(f, \"json_t\"); put_json(f);\n")]
    assert speak_json(told) == {"a.h", "b.c", "c.c"}
