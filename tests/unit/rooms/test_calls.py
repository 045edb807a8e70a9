# SPDX-License-Identifier: Apache-2.0
"""A call's configuration is src/media's own; others ask for it."""
from test_rooms import sources


def reaching(files):
    return [p for p, text in files if not p.startswith("src/media/")
            and "call->cfg" in text]


def test_nobody_looks_into_a_calls_configuration():
    assert reaching(sources()) == []
    assert reaching([("src/node/a.c", "x = nc->call->cfg.id;")])
