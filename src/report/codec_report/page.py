# SPDX-License-Identifier: Apache-2.0
"""A comparison as one web page that needs nothing beside itself: the verdict,
findings, figures, tables, what was run. For screens, wide and narrow, light and
dark, and for paper."""
from html import escape

from codec_report import (blocks, differ, heard, interleaved, metrics, paired,
                          phases, table, verdict, words)
from codec_report.figures import style, svg

PAPER = 104  # characters of a table that A4 is wide enough for
GAP = 2      # of them between two columns
ROWS = 15    # of a table; the rest is folded
#: Rows that are not folded, as far as there are any.
MAIN = ("jobs", "lost", "in_time_share", "call_loss_max", "delay_p50_ms",
        "delay_p99_ms", "delay_max_ms", "jitter_p99_ms",
        "sched_jitter_p99_ms", "mos_mean", "busy_share", "pesq_mean",
        "feeder_lost", "feeder_delay_p99_ms", "feeder_recovery_ms")

_CSS = """
:root { color-scheme: light dark; %(light)s }
@media screen and (prefers-color-scheme: dark) { :root { %(dark)s } }
body { background: var(--background); color: var(--text); margin: 0 auto;
  max-width: 60rem; padding: 1rem 1.25rem 4rem; overflow-wrap: break-word;
  font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p, ul { max-width: 46rem; }
a { color: var(--c0); }
.muted, .alt { color: var(--muted); }
figure { margin: 0; }
figcaption { max-width: 46rem; }
.alt { font-size: .85rem; margin: .15rem 0 .6rem; }
svg { display: block; width: 100%%; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 2px solid var(--c0); }
.wide > svg { min-width: 38rem; }
table { border-collapse: collapse; font-size: .85rem; line-height: 1.35;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 1rem;
  padding: .5rem 0; white-space: nowrap; }
caption span { position: sticky; left: 0; }
th, td { padding: .15rem .6rem; text-align: right; white-space: nowrap; }
th[scope=row], .facts td, .facts th { text-align: left; }
th[scope=row] { font-weight: normal; padding-left: 0; }
.facts td { white-space: normal; vertical-align: top;
  overflow-wrap: anywhere; }
.facts th { vertical-align: top; }
thead th { border-bottom: 2px solid var(--muted); vertical-align: bottom; }
tbody tr { border-bottom: 1px solid var(--grid); }
th[scope=row], thead th:first-child { position: sticky; left: 0;
  background: var(--background); text-align: left; padding-left: 0; }
.best { font-weight: 700; }
th.part { padding-left: 1.2rem; }
.chip { display: inline-block; width: .7em; height: .7em; margin-right: .35em;
  border-radius: .15em; }
.verdict { margin: 1rem 0 1.5rem; padding: .25rem 1rem;
  border-left: .3rem solid var(--text); }
.verdict p { margin: .5rem 0; }
.choose { font-weight: 600; }
audio { display: block; width: 100%%; max-width: 30rem; }
.again { margin-top: 2.5rem; }
details { margin: .4rem 0 1rem; }
summary { font-weight: 600; cursor: pointer; padding: .3rem 0; }
pre { white-space: pre-wrap; font-size: .8rem; }
@media (max-width: 34rem) {
  body { padding: .25rem .75rem 3rem; }
  h1 { font-size: 1.3rem; }
  .verdict { padding: .1rem .75rem; }
  th, td { padding: .3rem .5rem; }
  th[scope=row] { white-space: normal; min-width: 6.5rem; }
}
@media print {
  @page { margin: 14mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure, tr, li { break-inside: avoid; }
  h2, caption, section > p { break-after: avoid; }
  h2 { margin-top: 1.2rem; }
  .alt { margin-bottom: .3rem; }
  .wide { overflow: visible; }
  .wide > svg { min-width: 0; width: 82%%; max-height: 205mm; }
  .wide { break-inside: avoid; }
  table { font-size: 7.5pt; line-height: 1.15; }
  th, td { padding: .05rem .35rem; }
  th[scope=row], thead th:first-child { position: static; }
  details, audio { display: none; }
  .chip { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { color: inherit; text-decoration: none; }
}
"""


def _css():
    def variables(theme, colours):
        return " ".join(
            [f"--background: {style.BACKGROUND[theme]};"]
            + [f"--{name}: {value};" for name, value in colours.items()])
    return _CSS % {"light": variables("light", style.LIGHT),
                   "dark": variables("dark", style.DARK)}


def _number(value, text, best):
    """A cell: as the text report shows it, with the number behind it."""
    if value is None:
        return "<td>-</td>"
    shown = f'<data value="{value!r}">{escape(text)}</data>'
    if best:
        why = "best" if best == "*" else "best, but noise could explain it"
        return f'<td class="best">{shown}<span title="{why}">{best}</span></td>'
    return f"<td>{shown}</td>"


def chip(scheduler):
    """A scheduler's colour."""
    name = style.looks([scheduler])[0].name
    return f'<span class="chip" style="background: var(--{name})"></span>'


def _parts(columns, rows):
    """[(begin, end)] of the columns: each part fits on paper."""
    left = max(len(metric.title) for metric, _ in rows) if rows else 0
    parts, room = [], 0
    for i, column in enumerate(columns):
        width = max([len(text + mark) for _, cells in rows
                     for _, text, mark in cells[i:i + 1]]
                    + [len(column.heading) + GAP]) + GAP
        if not parts or width > room:
            parts.append([i, i])
            room = PAPER - GAP - left
        parts[-1][1] = i + 1
        room -= width
    return parts


def _folded(rows):
    """(those that are shown, those that are folded), each in order."""
    main = [row for row in rows if row[0].key in MAIN]
    others = [row for row in rows if row[0].key not in MAIN]
    shown = {row[0].key for row in main + others[:max(ROWS - len(main), 0)]}
    return ([row for row in rows if row[0].key in shown],
            [row for row in rows if row[0].key not in shown])


def _tables(label, columns, chosen=metrics.METRICS):
    """The table of a group, or several with some of the columns each, and
    what is folded of them."""
    rows = list(table.rows(columns, chosen))
    title = "all frames" if label == "all" else label
    parts = _parts(columns, rows)
    for some, rest in zip(_folded(rows), ("", ", the rest")):
        for i, (begin, end) in enumerate(parts if some or not rest else ()):
            number = f", {i + 1} of {len(parts)}" if len(parts) > 1 else ""
            made = _table(title + rest + number, columns[begin:end],
                          [(metric, cells[begin:end])
                           for metric, cells in some])
            yield (f"<details><summary>{len(some)} more rows: "
                   f"{escape(title + number)}</summary>\n{made}</details>\n"
                   ) if rest else made


def _table(title, columns, rows):
    title = escape(title)
    heads = "".join(
        f'<th scope="col">{chip(c.scheduler)}{escape(c.heading)}</th>'
        for c in columns)
    part = ' class="part"'
    rows = "\n".join(
        f'<tr><th scope="row" data-metric="{metric.key}"'
        f'{part * metric.title.startswith(" ")}>'
        f"{escape(metric.title.strip())}</th>"
        + "".join(_number(*cell) for cell in cells) + "</tr>"
        for metric, cells in rows)
    return (f'<div class="wide" tabindex="0" role="region" '
            f'aria-label="Table: {title}"><table><caption><span>{title}</span></caption>\n'
            f'<thead><tr><th scope="col">metric</th>'
            f"{heads}</tr></thead>\n"
            f"<tbody>\n{rows}\n</tbody></table></div>\n")


def _text(sentence):
    return escape(words.together(sentence))


def _verdict(ranking, several):
    """What came out of a campaign, and its short table. ranking: a
    verdict.Verdict; several: campaigns on the page."""
    columns, chosen = ranking.table()
    choice = ranking.choose()
    sentences = "\n".join(
        f'<p class="choose">{_text(text)}</p>' if choice and
        text.startswith(choice) else f"<p>{_text(text)}</p>"
        for text in ranking.sentences())
    title = ranking.family.campaign.removesuffix(".yaml") or "in short"
    if len(ranking.family.phases) > 1:
        title += ", by phase"
    return (f'<section{" class=again" if several else ""}>\n'
            f'<p class="muted">{_text(ranking.head())}<br>'
            f"{_text(ranking.load())}</p>\n"
            f'<div class="verdict">\n{sentences}\n</div>\n'
            + "".join(_tables(title, columns, chosen)) + "</section>\n")


def _figure(drawn):
    return (f'<section><h2 id="{drawn.name}">{escape(drawn.title)}</h2>\n'
            f"<figure><figcaption>{_text(drawn.sentence)}"
            f'<p class="alt">{escape(drawn.alt)}</p></figcaption>\n'
            f'<div class="wide">{svg.inline(drawn)}</div></figure></section>'
            "\n")


def _heard(passages):
    """What there is to hear."""
    if not passages:
        return ""
    items = "\n".join(
        f"<p>{escape(heard.KINDS[p.shed])}.<br>{escape(p.score())}.</p>\n"
        f'<audio controls aria-label="{escape(heard.KINDS[p.shed])}" '
        f'src="{p.source()}"></audio>' for p in passages)
    more = heard.hint(passages)
    return ('<section><h2 id="heard">To hear</h2>\n<p>One call through the '
            f"same overload, under {escape(passages[0].scheduler)}.</p>\n"
            f"{items}\n"
            + (f'<p class="muted">{escape(more)}</p>\n' if more else "")
            + "</section>\n")


def _findings(figures, absent):
    items = "\n".join(f'<li><a href="#{d.name}">{escape(d.title)}</a>: '
                      f"{_text(d.sentence)}</li>" for d in figures)
    of = '<p class="muted">This and the figures are of runs with a trace: ' \
        f"nothing in them is of {escape(', '.join(absent))}.</p>\n" \
        if absent else ""
    return f"<h2>What to see</h2>\n<ul>\n{items}\n</ul>\n{of}" \
        if items else ""


def _facts(runs):
    """runs: [{what: value}], one for each. What all have in common is shown
    once."""
    names = list(dict.fromkeys(name for facts in runs for name in facts))
    common = {name: runs[0].get(name) for name in names
              if len(runs) > 1 and name != "run"
              and len({facts.get(name) for facts in runs}) == 1}
    names = [name for name in names if name not in common]
    shared = "; ".join(f"{name} {value}" for name, value in common.items()
                       if value)
    head = "".join(f'<th scope="col">{escape(n)}</th>' for n in names)
    rows = "\n".join(
        "<tr>" + "".join(
            f'<th scope="row">{escape(facts.get(n, ""))}</th>' if n == "run"
            else f'<td>{escape(facts.get(n, ""))}</td>' for n in names)
        + "</tr>" for facts in runs)
    return ("<h2>What was run</h2>\n"
            + (f"<p>All runs: {escape(shared)}.</p>\n" if shared else "")
            + '<div class="wide" tabindex="0" '
            'role="region" aria-label="Table: what was run">'
            f'<table class="facts">\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{rows}\n</tbody></table></div>\n")


def _notes(notes):
    items = "".join(f"<li>{escape(note)}</li>\n" for note in notes)
    return f"<ul>\n{items}</ul>\n" if items else ""


def _definitions():
    text = "\n".join(escape(module.__doc__.split("\n\n", 1)[1]) for module
                     in (verdict, differ, interleaved, blocks, paired, phases,
                         metrics, heard))
    return ("<details><summary>Definitions</summary>\n"
            f"<pre>{text}</pre></details>\n")


_MARKS = ("<p>The best of a row is marked * where noise does not explain it, "
          "~ where it could.</p>\n")


def page(title, verdicts, tables, figures, runs, notes, absent=(),
         passages=()):
    """The page as text.

    verdicts: [verdict.Verdict]; tables: [(label of a group, [table.Column])];
    figures: [figures.Drawn]; runs: [{what: value}] of each run; notes: what a
    reader should know; absent: names of runs that no figure shows; passages:
    [heard.Passage].
    """
    repeated = any(c.values.get("samples") for _, columns in tables
                   for c in columns)
    body = "".join([
        f"<header><h1>{escape(title)}</h1></header>\n<main>\n",
        *[_verdict(ranking, len(verdicts) > 1) for ranking in verdicts],
        _heard(passages),
        _findings(figures, absent),
        *[_figure(drawn) for drawn in figures],
        '<section><h2 id="tables">Tables</h2>\n',
        _MARKS if repeated else "",
        *[part for label, columns in tables
          for part in _tables(label, columns)],
        "</section>\n<section>", _facts(runs), _notes(notes), "</section>\n",
        _definitions(), "</main>\n"])
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n'
            '<meta charset="utf-8">\n<meta name="viewport" '
            'content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>{_css()}</style>\n"
            f"</head>\n<body>\n{body}</body>\n</html>\n")
