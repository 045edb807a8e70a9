# SPDX-License-Identifier: Apache-2.0
"""The page of codec-report in a browser: it asks nobody for anything, follows
the reader's theme, nothing of it is cut off, and a phone is wide enough."""
import json
import subprocess
import wave

import pytest

import browser
from conftest import BUILD, PATIENCE

CAMPAIGN = """
seed: 5
duration: 1s
flows:
  - {name: light, count: 40, period: 20ms, cost: {mean: 200us}}
  - {name: heavy, count: 3, period: 30ms, cost: {mean: 4ms}}
"""
pytestmark = pytest.mark.skipif(not browser.there(),
                                reason="no chromium-driver here")

#: Labels of figures that lie, in part, outside of their figure.
CUT_OFF = """
return [...document.querySelectorAll("figure svg")].flatMap(svg => {
  const outer = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < outer.left - 1 || box.right > outer.right + 1 ||
      box.top < outer.top - 1 || box.bottom > outer.bottom + 1;
  }).map(text => svg.ariaLabel.slice(0, 20) + text.textContent);
});"""
COLOURS = """
const style = getComputedStyle(document.body);
return [style.backgroundColor, style.color];"""


#: What is wider than a phone, and no table or figure, which can be pushed aside.
TOO_WIDE = """
return [...document.querySelectorAll("body *")].filter(
  e => !e.parentElement.closest(".wide") && e.checkVisibility() &&
       e.getBoundingClientRect().right > 390.5).map(
  e => e.tagName + " " + e.textContent.slice(0, 40));"""
#: What each player has to say.
PLAYERS = """
const all = [...document.querySelectorAll("audio")];
return Promise.all(all.map(a => new Promise(done => {
  const tell = () => done([a.duration, a.error && a.error.message]);
  if (a.readyState || a.error) tell();
  a.onloadedmetadata = a.onerror = tell;
})));"""
#: A name that no line can break.
LONG = "c_" + "0123456789" * 6

#: Of each table that is too wide: where its first column and its second one
#: are, when it has been pushed aside as far as it goes.
PUSHED = """
return [...document.querySelectorAll(".wide")].filter(
  e => e.querySelector("table") && e.scrollWidth > e.clientWidth).map(e => {
    e.scrollLeft = 1e6;
    const cells = e.querySelector("tbody tr").children;
    return [cells[0].getBoundingClientRect().left -
            e.getBoundingClientRect().left,
            cells[1].getBoundingClientRect().left <
            cells[0].getBoundingClientRect().right];
  });"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a simulated campaign under eight schedulers."""
    folder = tmp_path_factory.mktemp("page")
    (folder / f"{LONG}.yaml").write_text(CAMPAIGN)
    (folder / "out" / "fifo").mkdir(parents=True)
    names = "fifo rr edf llf rm cfs bfs staircase".split()
    for kind in ("quiet", "age"):
        with wave.open(str(folder / f"out/shed-{kind}.wav"), "wb") as f:
            f.setparams((1, 2, 8000, 0, "NONE", ""))
            f.writeframes(bytes(2 * 8000))
    (folder / "out/fifo/heard.json").write_text(json.dumps(
        {"stream": 1, "quiet": [0, 1], "age": [0, 1]}))
    for command in (
            [BUILD / "codec-sim", folder / f"{LONG}.yaml",
             "--out", folder / "out", *(f"--scheduler={name}" for name in names)],
            [BUILD / "codec-report", "--html", folder / "r.html",
             folder / "out"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       timeout=PATIENCE)
    return folder / "r.html"


def test_a_browser_shows_it_and_asks_nobody(page):
    with browser.Browser() as b:
        b.open(page.as_uri())
        events = [json.loads(text)["message"]
                  for text in b.log("performance")]
        asked = [e["params"]["request"]["url"] for e in events
                 if e["method"] == "Network.requestWillBeSent"]
        # the browser's own pictures of a player's buttons are such data
        assert [url for url in asked if not url.startswith("data:")] == [
            page.as_uri()]
        assert b.log("browser") == []
        assert b.run(PLAYERS) == [[1, None], [1, None]]
        assert b.run(CUT_OFF) == []
        assert b.run("return document.documentElement.scrollWidth") <= \
            b.run("return innerWidth")
        seen = {}
        for theme in ("light", "dark"):
            b.devtools("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": theme}])
            seen[theme] = b.run(COLOURS)
        assert seen["light"][0] == "rgb(255, 255, 255)"
        assert seen["light"] != seen["dark"]
        b.devtools("Emulation.setEmulatedMedia", media="print", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
        assert b.run(COLOURS) == seen["light"]  # paper is white


def test_on_a_phone_a_table_keeps_its_first_column(page):
    with browser.Browser() as b:
        b.devtools("Emulation.setDeviceMetricsOverride", width=390,
                   height=844, deviceScaleFactor=2, mobile=True)
        b.open(page.as_uri())
        assert b.run(TOO_WIDE) == []
        assert b.run("return document.documentElement.scrollWidth") <= 390
        assert b.run("return document.querySelector('.verdict')"
                     ".getBoundingClientRect().top") < 844
        pushed = b.run(PUSHED)
        assert pushed
        for left, covered in pushed:
            assert abs(left) < 1 and covered
        assert b.run("return [...document.querySelectorAll('table')].filter("
                     "t => t.checkVisibility() && t.rows.length > 16)"
                     ".length") == 0
