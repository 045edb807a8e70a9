# SPDX-License-Identifier: Apache-2.0
"""How figures look: charts of a few schedulers each, of the same scales and
time, in colours that all eyes can tell apart."""
import itertools
import math

import numpy as np
import pytest
from conftest import MS, plain, stall, starve, steady


def test_many_schedulers_are_charts_of_a_few_each(frames):
    """No two lines of a chart look alike, and all have the same scales, in
    which every line lies."""
    from codec_report.figures import Column, delays, loss, style, timeline
    good, bad = frames(*steady()), frames(*steady(spoil=starve))
    for module, height in ((loss, 50), (delays, 4), (timeline, 25)):
        one = module.data(good)
        looks = style.looks([f"s{i}" for i in range(16)])
        fig = module.draw([
            Column(f"s{i}", f"s{i}", one if i < 15 else module.data(bad), look)
            for i, look in enumerate(looks)])
        legends = [axes.get_legend() for axes in fig.axes]
        assert [[text.get_text() for text in legend.texts]
                for legend in legends if legend] == [
            [f"s{i}" for i in part] for part in (
                range(6), range(6, 12), range(12, 16))]
        scales = {}
        for axes in fig.axes:
            seen = [(line.get_color(), line.get_linestyle())
                    for line in axes.lines
                    if line.get_label().startswith("s")]
            assert 4 <= len(set(seen)) == len(seen) <= style.TOGETHER
            low, high = axes.get_ylim()
            scales.setdefault(axes.get_ylabel(), set()).add((low, high))
            assert low == 0
            assert max(max(line.get_ydata(), default=0)
                       for line in axes.lines) <= high
        assert {len(limits) for limits in scales.values()} == {1}
        assert max(high for limits in scales.values()
                   for _, high in limits) >= height


def test_one_endless_tail_leaves_room_for_the_other_histograms():
    from codec_report.figures import jitter

    def series(end):
        return [("", np.arange(end), np.full(end, 10))]
    panels = {name: series(1000) for name in "abc"}
    width, reach = jitter.scale({**panels, "slow": series(50000)})
    assert 1990 < width * reach[1] < 2200
    width, reach = jitter.scale({**panels, "slow": series(1900)})
    assert 1890 < width * reach[1] < 2050


def test_all_charts_of_frames_show_the_same_time(write, codec_report,
                                                 tmp_path):
    """That of the first scheduler, though the worst of the second is later."""
    def late(at):
        return steady(spoil=lambda j: {**j, **{
            name: j[name] + (60 * MS if j["seq"] == at else 0)
            for name in ("pick", "start", "end", "sent")}})
    one = write(*late(30), name="a/trace.bin")
    two = write(*late(80), name="b/trace.bin")
    codec_report("--html", str(tmp_path / "r.html"), one, two)
    text = plain((tmp_path / "r.html").read_text(encoding="utf-8"))
    said = text.split('<h2 id="gantt">')[1].split("<p")[0]
    assert " from 0.59" in said and said.count(" from ") == 1
    assert said.count(" of 153 frames") == 2


def test_tables_behind_a_pipe_look_as_on_the_terminal_behind_it(
        write, codec_report, monkeypatch):
    """campaigns/run says by these two variables what is there."""
    runs = [write(*steady(calls=4, spoil=spoil), name=f"{name}.bin")
            for name, spoil in (("a", stall), ("b", lambda j: j))]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    assert "\033[" not in codec_report("--all", *runs).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033[" in codec_report("--all", *runs).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in codec_report("--all", *runs).stdout


#: Colours to an eye, of linear RGB: Machado, Oliveira, Fernandes (2009),
#: severity 1.
EYES = {
    "any": np.eye(3),
    "protanopia": [[.152286, 1.052583, -.204868],
                   [.114503, .786281, .099216],
                   [-.003882, -.048116, 1.051998]],
    "deuteranopia": [[.367322, .860646, -.227968],
                     [.280085, .672501, .047413],
                     [-.011820, .042940, .968881]],
    "tritanopia": [[1.255528, -.076749, -.178779],
                   [-.078411, .930809, .147602],
                   [.004733, .691367, .303900]]}
XYZ = np.array([[.4124, .3576, .1805], [.2126, .7152, .0722],
                [.0193, .1192, .9505]])


def lab(colour, eye):
    """CIE L*a*b* of "#rrggbb" as an eye sees it."""
    rgb = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    rgb = np.where(rgb <= .04045, rgb / 12.92, ((rgb + .055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(eye) @ rgb, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(xyz > .008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("theme", ("LIGHT", "DARK"))
def test_no_eye_takes_one_scheduler_for_another(theme, eye):
    """2.3 is what an eye just notices (CIE76)."""
    from codec_report.figures import style
    seen = {name: lab(getattr(style, theme)[name], EYES[eye])
            for name in style.SERIES}
    for one, two in itertools.combinations(seen, 2):
        assert math.dist(seen[one], seen[two]) > 12, (one, two)
