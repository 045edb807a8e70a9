# SPDX-License-Identifier: Apache-2.0
"""The live page in a browser: what it tells now, of the last minutes and since
the start; what was before it was opened; a switch that is refused; a phone.

CR_KEEP_SCREENSHOTS names a folder for pictures, to look at."""
import json
import os
import pathlib
import threading
import time

import pytest

import browser
from conftest import PATIENCE
from test_http import CAMPAIGN, ask

pytestmark = pytest.mark.skipif(not browser.there(),
                                reason="no chromium-driver here")
SEEN = "return document.getElementById('%s').%s"
#: Cut off at the right, or wider than the window.
TOO_WIDE = """
return [...document.querySelectorAll("body *")].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.tagName + "#" + e.id);"""
#: Is the middle of the button the button, and no other element?
HIT = """
const button = document.querySelector("#control button");
button.scrollIntoView();
const box = button.getBoundingClientRect();
return document.elementFromPoint(box.x + box.width / 2,
                                 box.y + box.height / 2) === button;"""
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
DESKTOP = {"width": 1200, "height": 900, "deviceScaleFactor": 1,
           "mobile": False}


class Page:
    """A browser with the page of a daemon."""

    def __init__(self, b, d):
        self.b, self.d = b, d

    def open(self, device=None):
        self.b.devtools("Emulation.setDeviceMetricsOverride",
                        **(device or DESKTOP))
        self.b.open(f"http://{self.d.ready['http']}/")
        self.wait_for("scheduler", "textContent", "under ")

    def seen(self, element, what):
        return self.b.run(SEEN % (element, what))

    def wait_for(self, element, what, begin):
        end = time.monotonic() + PATIENCE
        while not str(self.seen(element, what)).startswith(begin):
            assert time.monotonic() < end, (element, begin)
            time.sleep(0.1)

    def polls(self, n):
        """Wait until it has asked so often."""
        self.b.run("window.asked = 0; window.fetch = (f => (...a) => {"
                   "if (a[0] === 'state') asked++; return f(...a); })(fetch)")
        while self.b.run("return asked") < n:
            time.sleep(0.1)

    def switch_to(self, name, options=""):
        self.b.run(f"document.getElementById('choice').value = '{name}';"
                   f"document.getElementById('options').value = '{options}';"
                   "document.querySelector('#control button').click()")

    def keep(self, name):
        folder = os.environ.get("CR_KEEP_SCREENSHOTS")
        for theme in ("light", "dark") if folder else ():
            self.b.devtools("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": theme}])
            height = self.b.run("return document.body.scrollHeight + 32")
            self.b.devtools("Emulation.setDeviceMetricsOverride", **dict(
                PHONE if "phone" in name else DESKTOP, height=height))
            self.b.screenshot(pathlib.Path(folder) / f"{name}-{theme}.png")


@pytest.fixture
def page(daemon):
    d = daemon("--http", "127.0.0.1:0", "--http-control", "--ring", "64")
    with browser.Browser() as b:
        yield Page(b, d)


@pytest.fixture
def speaking(page, campaign):
    """Four calls are up for some seconds."""
    feeding = threading.Thread(target=page.d.feed, args=(campaign(
        CAMPAIGN.replace("3s", "12s")),))
    feeding.start()
    yield
    feeding.join()


def test_a_browser_draws_it(page, speaking):
    page.open()
    page.wait_for("scheduler", "textContent", "under edf")
    page.wait_for("now", "textContent", "calls4")
    assert page.seen("totals", "textContent").startswith("totals done") or (
        "lost" in page.seen("totals", "textContent"))
    page.polls(3)
    assert page.seen("delay", "querySelectorAll('rect').length") > 0
    page.keep("desktop")
    page.switch_to("cfs")
    page.wait_for("scheduler", "textContent", "under cfs")
    page.wait_for("answer", "textContent", "now under cfs")
    assert page.seen("answer", "className") == ""
    assert page.d.ctl("schedulers")["scheduler"].startswith("cfs")
    assert page.b.log("browser") == []


def test_a_refusal_stays_until_the_next_switch(page):
    page.open()
    page.switch_to("rr", "quantum=never")
    page.wait_for("answer", "textContent", "not switched: ")
    told = page.seen("answer", "textContent")
    assert "quantum" in told
    page.polls(3)
    assert page.seen("answer", "textContent") == told
    assert page.seen("answer", "className") == "bad"
    assert page.seen("message", "textContent") == ""
    page.keep("refused")
    page.switch_to("rr", "quantum=2ms")
    page.wait_for("answer", "textContent", "now under rr")


def test_a_phone_shows_all_of_it(page, speaking):
    page.open(PHONE)
    page.polls(2)
    assert page.b.run(TOO_WIDE) == []
    assert page.b.run(HIT)
    page.keep("phone")
    page.switch_to("cfs")
    page.wait_for("answer", "textContent", "now under cfs")


def test_what_was_before_is_there_when_it_is_opened(page, speaking):
    samples = []
    while sum(s["calls"] == 4 for s in samples) < 3:
        samples = json.loads(ask(page.d, "/history")[1])
        time.sleep(0.1)
    assert [s["at"] for s in samples] == sorted(s["at"] for s in samples)
    assert all(0 <= s["busy"] <= 1 and s["lost"] == 0 for s in samples)
    page.open()
    points = page.seen("calls", "querySelector('polyline').getAttribute("
                       "'points')").split()
    assert len(points) > len(samples)
    page.keep("history")
