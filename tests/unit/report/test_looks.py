# SPDX-License-Identifier: Apache-2.0
"""How figures look: charts of a few schedulers each, of the same scales and time."""
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
    import numpy as np
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
