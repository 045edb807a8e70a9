# SPDX-License-Identifier: Apache-2.0
"""The web page: well formed, self-contained, the same numbers as --json."""
import contextlib
import io
import json
import os
import re
from html.parser import HTMLParser

import pytest
from conftest import DONE, MS, OVERWRITTEN, call, header, job

VOID = {"meta", "br", "hr", "img", "link", "input"}
pytest.importorskip("matplotlib")


class Strict(HTMLParser):
    """Refuses tags that do not nest, and ids that are used twice; keeps the
    tables as rows of cells."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.refs, self.tables = [], [], [], []
        self.tags, self.cell = [], None

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for value in attrs.values():
            self.refs += re.findall(r"url\(#([^)]+)\)|^#(.+)$", value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = [attrs, None, ""]
            self.tables[-1][-1].append(self.cell)
        elif tag == "data":
            self.cell[1] = attrs["value"]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, text):
        if self.cell is not None and "table" in self.open:
            self.cell[2] += text


def parse(text):
    page = Strict()
    page.feed(text)
    page.close()
    assert not page.open
    assert len(set(page.ids)) == len(page.ids)
    refs = {a or b for a, b in page.refs}
    assert refs <= set(page.ids)
    return page


def runs(folder):
    """Two runs of two codec pairs; in the second, call 2 loses a lot."""
    for name, lost in (("fifo", 1), ("rr,<b>&\"", 12)):
        frames = [job(c, i, MS + 20 * MS * i,
                      MS + 20 * MS * i + (3 + i % (c + lost)) * MS,
                      OVERWRITTEN if c == 2 and i < lost else DONE)
                  for c in (1, 2) for i in range(30)]
        run = folder / name[:2]
        run.mkdir()
        (run / "trace.bin").write_bytes(b"".join(
            [header(name), call(1), call(2, codec_out="g723_1"), *frames]))
        yield str(run)


def report(*args):
    """The output of codec-report, run in this process: matplotlib takes longer
    to load than to draw."""
    from codec_report.cli import main
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([str(arg) for arg in args]) == 0
    return out.getvalue()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with r.html, plots and r.json of the runs."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "r.json").write_text(
        report("--html", folder / "r.html", "--plots", folder / "a" / "plots",
               "--json", *runs(folder)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def page(drawn):
    """(the page's text, what --json says of the same runs)."""
    return ((drawn / "r.html").read_text(encoding="utf-8"),
            json.loads((drawn / "r.json").read_text())["runs"])


def test_the_same_runs_give_the_same_bytes(page, program, tmp_path):
    path = tmp_path / "r.html"
    result = program("--html", str(path), *runs(tmp_path))
    assert result.returncode == 0, result.stderr
    assert path.read_text(encoding="utf-8") == page[0]


def test_tables_have_the_numbers_of_json(page):
    text, reports = page
    # first the short one, last what was run; a group is one, and its rest
    tables = parse(text).tables[1:-1]
    groups = [[s["groups"] for s in r["schedulers"]][0] for r in reports]
    assert len(tables) == 6
    compared = 0
    for at, table in enumerate(tables[i] + tables[i + 1][1:]
                               for i in range(0, 6, 2)):
        assert len(tables[2 * at]) == 1 + 15
        head, *rows = table
        assert len(head) == 3
        for title, *cells in rows:
            assert title[0]["scope"] == "row"
            for group, (attrs, value, shown) in zip(groups, cells):
                number = group[at][title[0]["data-metric"]]
                if number is None:
                    assert (value, shown) == (None, "-")
                else:
                    assert float(value) == number
                compared += 1
        assert len({row[0][0]["data-metric"] for row in rows}) == len(rows)
    assert compared > 100
    assert "*</span>" not in text  # of one run each


def test_the_rest_of_a_table_is_folded(page):
    """Nothing is longer than 15 rows that nobody unfolded."""
    text, _ = page
    shown = re.sub(r"<details>.*?</details>", "", text, flags=re.S)
    assert all(len(table) <= 16 for table in parse(shown).tables)
    more = [int(n) for n in re.findall(r"<summary>(\d+) more rows", text)]
    folded = re.findall(r"<details><summary>\d+ more.*?</details>", text,
                        re.S)
    assert more == [len(parse(part).tables[0]) - 1 for part in folded]
    assert len(more) == 3


def test_the_page_needs_nothing_beside_itself(page):
    text, _ = page
    urls = set(re.findall(r"[a-z]+://[^\s\"'<)]*", text))
    assert urls <= {"http://www.w3.org/2000/svg",
                    "http://www.w3.org/1999/xlink"}
    parsed = parse(text)
    assert not {"script", "link", "img", "iframe", "object"} & \
        {tag for tag, _ in parsed.tags}
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []


def test_tables_are_as_wide_as_paper_and_no_column_is_lost():
    from codec_report import page as made, table
    columns = [table.Column(f"run-{i:02}", "edf", {
        "lost": i, "jobs": 100000, "delay_p99_ms": 3.5,
        "samples": {"lost": [i] * 4}}) for i in range(21)]
    tables = [parse(text).tables[0]
              for text in made._tables("all", columns)]
    assert len(tables) == 2
    seen = []
    for head, *rows in tables:
        lost = next(row for row in rows if row[0][2] == "lost")
        seen += [float(cell[1]) for cell in lost[1:]]
        # the best of all is marked, not the best of each part
        assert [cell[2].strip()[-1] == "*" for cell in lost[1:]] == [
            float(cell[1]) == 0 for cell in lost[1:]]
        width = sum(max(len(row[i][2].strip()) for row in rows)
                    for i in range(len(head)))
        assert width <= made.PAPER
    assert seen == list(range(21))
    titles = re.findall("<caption><span>(.*?)<", "".join(
        made._tables("all", columns)))
    assert titles == [f"all frames, {i} of 2" for i in (1, 2)]


def test_common_facts_of_all_runs_are_shown_once(page):
    facts = parse(page[0]).tables[-1]
    assert [cell[2].strip() for cell in facts[0]] == ["run", "scheduler"]
    assert "All runs: CPUs 2." in page[0]


@pytest.mark.parametrize("output", [
    {"kernels": "stock"}, {"daemon": {"hello": {"kernels": "stock"}}}])
def test_the_codec_kernels_of_a_run_are_reported(output):
    from codec_report import pictures, run
    assert pictures.facts(run.Run("r", feeder=output))["codec kernels"] == \
        "stock"


def test_figures_can_be_read_without_eyes(page):
    text, _ = page
    parsed = parse(text)
    from codec_report.figures import FIGURES
    pictures = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert len(pictures) == len(FIGURES)
    for attrs, module in zip(pictures, FIGURES):
        assert attrs["role"] == "img"
        assert attrs["aria-label"] == f"{module.TITLE}. {module.ALT}"
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("figure") == tags.count("figcaption") == len(FIGURES)
    assert all("scope" in attrs for tag, attrs in parsed.tags if tag == "th")


def test_names_from_the_file_stay_text(page):
    text, _ = page
    assert "<b>" not in text
    assert "rr,&lt;b&gt;&amp;" in text


def test_plots_are_files_of_both_kinds(drawn):
    from codec_report.figures import FIGURES
    folder = drawn / "a" / "plots"
    assert sorted(os.listdir(folder)) == sorted(
        f"{m.NAME}.{kind}" for m in FIGURES for kind in ("svg", "png"))
    for module in FIGURES:
        assert (folder / f"{module.NAME}.png").read_bytes()[1:4] == b"PNG"
        text = (folder / f"{module.NAME}.svg").read_text()
        assert "var(" not in text and "date" not in text
        parse(text)


def test_plots_do_not_depend_on_a_page_beside_them(drawn, tmp_path):
    report("--plots", tmp_path / "plots", *runs(tmp_path))
    for one in (tmp_path / "plots").iterdir():
        assert one.read_bytes() == (drawn / "a/plots" / one.name).read_bytes()


def test_plots_for_a_paper_have_its_width_fonts_and_words(page, tmp_path):
    from codec_report.figures import FIGURES
    report("--html", tmp_path / "r.html", "--plots", tmp_path / "p",
           "--format", "pdf,png,svg", "--width", "88mm", "--labels",
           "fifo=First, come=served", *runs(tmp_path))
    # a page beside them is as ever
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page[0]
    assert len(os.listdir(tmp_path / "p")) == 3 * len(FIGURES)
    for module in FIGURES:
        path = tmp_path / "p" / module.NAME
        pdf = path.with_suffix(".pdf").read_bytes()
        box, = re.findall(rb"/MediaBox \[ 0 0 ([0-9.]+) ", pdf)
        assert float(box) == pytest.approx(88 / 25.4 * 72)
        assert b"/FontFile2" in pdf and b"/Type3" not in pdf
        png = path.with_suffix(".png").read_bytes()
        assert int.from_bytes(png[16:20], "big") == int(88 / 25.4 * 300)
        words = re.findall(r"<text[^>]*>([^<]+)</text>",
                           path.with_suffix(".svg").read_text())
        assert not [w for w in words if w.startswith("fifo")]
        assert [w for w in words if w.startswith("First, come=served")]


@pytest.mark.parametrize("mm", (88, 180))
def test_print_has_no_small_text_and_none_outside(tmp_path, mm, monkeypatch):
    from matplotlib.text import Text
    from codec_report import figures
    from codec_report.figures import style
    from codec_report.run import load_run, sections
    kept = [figures.reduce(s.frames) for run in runs(tmp_path)
            for s in sections(load_run(run))]
    with style.printed(mm / 25.4):
        drawn = list(figures.draw([(f"s{i},levels={i}", f"s{i}", kept[i % 2])
                                   for i in range(8)]))
    assert len(drawn) == len(figures.FIGURES)
    seen, draw = [], Text.draw
    monkeypatch.setattr(Text, "draw", lambda text, renderer: (
        seen.append(text), draw(text, renderer)))
    for d in drawn:
        width, height = d.figure.bbox.size
        assert width == pytest.approx(mm / 25.4 * d.figure.dpi)
        seen.clear()
        d.figure.draw_without_rendering()
        texts = [t for t in seen if t.get_text()]
        assert len(texts) > 10
        for text in texts:
            box, where = text.get_window_extent(), (d.name, text)
            assert text.get_fontsize() >= 8, where
            assert box.x0 > -1 and box.x1 < width + 1, where
            assert box.y0 > -1 and box.y1 < height + 1, where


@pytest.mark.parametrize("words,why", (
    (("--plots", "p", "--width", "88"), "'88' is not a width such as 88mm"),
    (("--plots", "p", "--width", "9in9"), "'9in9' is not a width"),
    (("--plots", "p", "--width", "8mm"), "'8mm' is not a width"),
    (("--plots", "p", "--format", "pdf,gif"), "known: svg, png, pdf"),
    (("--plots", "p", "--labels", "rr=x"), "'rr=x' is not LABEL=TEXT with one "
     "of edf"),
    (("--format", "pdf"), "--format, --width and --labels are for --plots"),
    (("--html", "p", "--labels", "edf=x"), "are for --plots")))
def test_wrong_options_of_plots_are_reported(write, codec_report, words, why,
                                             tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(header(), call(1), job(1, 0, MS, 2 * MS))
    result = codec_report(*words, path)
    assert result.returncode == 2 and why in result.stderr
    assert not (tmp_path / "p").exists()


def test_no_run_or_no_trace_makes_a_page_too(write, tmp_path):
    path = tmp_path / "r.html"
    write(b"stream,sent,received,lost\n1,5,4,1\n", name="f/streams.csv")
    for run in (write(header()), str(tmp_path / "f"),
                write(header(), call(1), job(1, 0, MS, 2 * MS))):
        report("--html", path, run)
        parse(path.read_text(encoding="utf-8"))


def test_a_window_is_one_and_has_a_figure_to_be_in(write, codec_report):
    path = write(header(), call(1), job(1, 0, MS, 2 * MS))
    for text in ("1s", "2s..1s", "1s..1s", "x..y"):
        assert codec_report("--gantt", text, path).returncode == 2
    result = codec_report("--gantt", "1s..1.5s", path)
    assert result.returncode == 2
    assert "--gantt is for --html and --plots" in result.stderr


def test_a_page_that_cannot_be_written_is_an_error(write, codec_report):
    path = write(header(), call(1), job(1, 0, MS, 2 * MS))
    result = codec_report("--html", "/nowhere/r.html", path)
    assert result.returncode == 2
    assert "/nowhere/r.html: No such file" in result.stderr


def test_without_matplotlib_tables_work_and_pages_say_what_to_install(
         write, program, tmp_path):
    (tmp_path / "no").mkdir()
    (tmp_path / "no" / "matplotlib.py").write_text("raise ImportError('gone')")
    path = write(header(), call(1), job(1, 0, MS, 2 * MS))
    first = str(tmp_path / "no")
    assert program(path, first=first).returncode == 0
    result = program("--html", str(tmp_path / "r.html"), path, first=first)
    assert result.returncode == 2
    assert "install python3-matplotlib" in result.stderr
    assert not (tmp_path / "r.html").exists()
