# SPDX-License-Identifier: Apache-2.0
"""How figures look: colours for light and dark, line styles.

Okabe and Ito's colours ("Color Universal Design", 2008), which people with any
colour vision tell apart; without yellow, which vanishes on white, and with the
text's colour for black, and with four more. Their lightness is moved until each
has a contrast of 3:1 at least to the background (WCAG 2.1, 1.4.11) and no two
are alike to any eye. Line styles and markers say the same again. What is no
scheduler is grey.

Figures are drawn in the colours of LIGHT; a web page puts variables in their
place (svg.py).
"""
import contextlib
import math
import zlib
from dataclasses import dataclass

BACKGROUND = {"light": "#ffffff", "dark": "#15181d"}
LIGHT = {"text": "#1b1e23", "muted": "#6b7178", "grid": "#d9dce0",
         "c0": "#0072b2", "c1": "#b84500", "c2": "#008f68", "c3": "#b8578c",
         "c4": "#b87f00", "c5": "#3897d1", "c6": "#7b2fe8", "c7": "#5d0061",
         "c8": "#162c9c", "c9": "#702503", "bad": "#d6001c",
         "p0": "#2b2f36", "p1": "#6a7078", "p2": "#8d939b", "p3": "#454a52",
         "p4": "#7b818a", "p5": "#565c64"}
DARK = {"text": "#e8eaed", "muted": "#9aa0a8", "grid": "#3a3f47",
        "c0": "#3f9fdc", "c1": "#f0803c", "c2": "#22b98d", "c3": "#dc94bc",
        "c4": "#e6a91f", "c5": "#9ad4f7", "c6": "#8446f5", "c7": "#b82979",
        "c8": "#475fc2", "c9": "#ca213d", "bad": "#ff4d4d",
        "p0": "#eef0f2", "p1": "#8b9199", "p2": "#b9bec5", "p3": "#d4d7db",
        "p4": "#6f757d", "p5": "#a3a9b1"}
#: Of schedulers, in the order of use.
SERIES = ("c0", "c1", "c2", "c3", "c4", "c6", "text", "c5", "c9", "c7", "c8")
#: Of whatever is no scheduler: parts of a time, workers, codecs.
PARTS = ("p0", "p1", "p2", "p3", "p4", "p5")
#: A scheduler has the colour of its place here, in every figure of every page;
#: others, as plug-ins, the one that their name gives (CRC-32).
NAMES = ("fifo", "rr", "edf", "cfs", "bfs", "pd2", "edf-hsb", "edf-be",
         "rtpengine", "kernel", "llf",
         "rm", "staircase", "rsdl", "best", "dwa", "goodness", "pd", "pf",
         "eevdf", "cbs", "grub", "gfl", "dbp", "red", "srpt",
         "wfq")
#: Of lengths without a common factor: the 8th series is not like the first.
LINES = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*")
WIDTH = 8.0  # inches, of every figure that is not printed()
TOGETHER = 7  # lines in one chart
BESIDE = 2.4  # inches of a chart beside another one
PANELS = 3, 1.7  # of small ones: so many side by side, and their inches

SETTINGS = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9, "axes.titlesize": 9.5, "axes.titleweight": "bold",
    "axes.labelsize": 9, "legend.fontsize": 8.5, "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5, "legend.frameon": False,
    "text.color": LIGHT["text"], "axes.labelcolor": LIGHT["text"],
    "axes.titlecolor": LIGHT["text"], "axes.edgecolor": LIGHT["muted"],
    "xtick.color": LIGHT["muted"], "ytick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["text"], "ytick.labelcolor": LIGHT["text"],
    "grid.color": LIGHT["grid"], "grid.linewidth": 0.6, "axes.grid": True,
    "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False, "lines.linewidth": 1.5,
    "svg.fonttype": "none", "pdf.fonttype": 42, "path.simplify": True,
    "text.parse_math": False,  # a name with two dollar signs is a name
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none", "figure.facecolor": BACKGROUND["light"],
}


PRINT = dict.fromkeys((
    "font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize",
    "xtick.labelsize", "ytick.labelsize"), 8)  # pt
_printed = None  # inches, while figures are printed()


@contextlib.contextmanager
def printed(inches):
    """Figures that are drawn in this block have that width, and text of 8
    points, as papers ask for; what has no place side by side stands below each
    other. None: as on a page."""
    global _printed
    before, _printed = _printed, inches
    try:
        yield
    finally:
        _printed = before


def across(most, least):
    """How many axes stand side by side, each of so many inches at least."""
    return max(min(most, int((_printed or WIDTH) / least)), 1)


def row_text():
    """Points of the text of narrow rows."""
    return PRINT["font.size"] if _printed else 6.5


@contextlib.contextmanager
def settings(**more):
    """Matplotlib as above, whatever a user's matplotlibrc says."""
    import matplotlib
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({
            **SETTINGS, **(PRINT if _printed else {}), **more})
        yield


@contextlib.contextmanager
def figure(height, **more):
    """with figure(height in inches) as f: an empty matplotlib Figure, drawn
    to with the settings above and more of them. When the block ends it is laid out, for good:
    laid out with each file it would not be the same in all of them."""
    from matplotlib.figure import Figure
    with settings(**more):
        fig = Figure(figsize=(_printed or WIDTH, height))
        yield fig
        fig.draw_without_rendering()
        fig.set_layout_engine("none")


@dataclass(frozen=True)
class Look:
    """Of a scheduler. name: of its colour, as in LIGHT; line: matplotlib's
    line style; mark: its marker."""
    name: str
    line: object = LINES[0]
    mark: str = MARKERS[0]

    @property
    def colour(self):
        """As figures are drawn in."""
        return LIGHT[self.name]

    def stroke(self):
        """Colour and line style, as matplotlib takes them."""
        return {"color": self.colour, "linestyle": self.line}


def place(scheduler):
    """The number of a scheduler's colour in SERIES."""
    at = NAMES.index(scheduler) if scheduler in NAMES else \
        zlib.crc32(scheduler.encode())
    return at % len(SERIES)


def looks(schedulers):
    """A Look for each: the colour is the scheduler's; of one colour, each has
    another line style and marker."""
    seen, out = {}, []
    for at in map(place, schedulers):
        turn = seen[at] = seen.get(at, -1) + 1
        out.append(Look(SERIES[at], LINES[turn % len(LINES)],
                        MARKERS[(at + turn) % len(MARKERS)]))
    return out


def colour(i):
    """The colour of series number i, of what goes by no scheduler's name."""
    return LIGHT[SERIES[i % len(SERIES)]]


def marker(i):
    """Marker of series number i."""
    return MARKERS[i % len(MARKERS)]


def part(i):
    """The colour of part number i."""
    return LIGHT[PARTS[i % len(PARTS)]]


def name_in_colour(texts, looks):
    """Tick labels, or titles, each in the colour of its Look."""
    for text, look in zip(texts, looks):
        text.set_color(look.colour)
        text.set_fontweight("bold")


def bars(axes, places, labels, looks=()):
    """Name the rows of a chart of bars, in the colours of looks."""
    axes.set_yticks(places, labels)
    name_in_colour(axes.get_yticklabels(), looks)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _fitting(place, columns, room, **where):
    """The columns of a legend of a figure or of axes, of room inches."""
    while True:
        made = place.legend(ncol=columns, borderaxespad=0.1, **where)
        if columns == 1 or \
                made.get_window_extent().width <= room * made.figure.dpi:
            return columns
        made.remove()
        columns -= 1


def legend(fig, handles, labels, columns=4):
    """One legend for the whole figure, above the axes."""
    columns = _fitting(fig, min(len(labels), columns), fig.get_figwidth(),
                       handles=handles, labels=labels, loc="upper center")
    inches = 0.2 * math.ceil(len(labels) / columns)
    if _printed:  # else a figure has room for it
        fig.set_figheight(fig.get_figheight() + inches)
    fig.get_layout_engine().set(
        rect=(0, 0, 1, 1 - inches / fig.get_figheight()))


def groups(columns):
    """Columns in groups that one chart can have lines for, of about the same
    size."""
    count = max(math.ceil(len(columns) / TOGETHER), 1)
    size = math.ceil(len(columns) / count)
    return [columns[i:i + size] for i in range(0, len(columns), size)]


@contextlib.contextmanager
def lines(height, columns, ratios=(1,)):
    """with lines(inches of one chart, columns) as (figure, charts()): all lines
    are drawn in the block; then come scales from 0, and the legend, one for
    all or one above each group."""
    with figure(_lines_height(height, columns)) as fig:
        drawn = charts(fig, columns, ratios)
        yield fig, drawn
        for axes in drawn[0][0]:
            axes.set_ylim(bottom=0)
        for axes, _ in drawn:
            handles, labels = axes[0].get_legend_handles_labels()
            if len(drawn) == 1:
                legend(fig, handles, labels)
            else:
                _fitting(axes[0], 2, fig.get_figwidth(), handles=handles,
                         labels=labels, loc="lower left",
                         bbox_to_anchor=(0, 1))


def _lines_height(height, columns):
    """Inches of a figure of charts(), of which one is so high."""
    parts = groups(columns)
    wide = across(2, BESIDE)
    if wide == 1:  # as high as such a column of a paper likes it
        height *= 0.62
    rows = math.ceil(len(parts) / wide)
    return height if len(parts) < 2 else \
        rows * (0.75 * height + 0.2 * math.ceil(len(parts[0]) / 2))


def charts(fig, columns, ratios=(1,)):
    """[(axes below each other, group of columns)]: charts for lines, with the
    same scales everywhere; ratios: of the heights of a group's axes."""
    parts, rows = groups(columns), len(ratios)
    beside = min(across(2, BESIDE), len(parts))
    down = math.ceil(len(parts) / beside)
    every = fig.subplots(rows * down, beside, sharex=True, squeeze=False,
                         gridspec_kw={"height_ratios": ratios * down})
    out = []
    for i, part in enumerate(parts):
        top, side = i // beside * rows, i % beside
        out.append((list(every[top:top + rows, side]), part))
        out[-1][0][-1].tick_params(labelbottom=True)
        for axes, first in zip(out[-1][0], out[0][0] if i else ()):
            axes.sharey(first)
    for axes in every[rows * (down - 1):, beside - 1] \
            if len(parts) % beside else ():
        axes.remove()
    return out


def pair(fig):
    """Two axes with the same y, side by side, or below each other."""
    wide = across(2, BESIDE)
    return fig.subplots(3 - wide, wide, sharey=True)


def pair_height(height):
    """Inches of a figure of a pair(), of which one is so high."""
    return height * (3 - across(2, BESIDE))


def grid(fig, count, beside, **how):
    """count axes, so many side by side; a list, row by row. how: of
    matplotlib's subplots()."""
    every = fig.subplots(-(-count // beside), beside, squeeze=False,
                         **how).ravel()
    for axes in every[count:]:
        axes.remove()
    return list(every[:count])


def panels(fig, count):
    """A grid of count axes with common x and y; a list, row by row."""
    beside = min(across(*PANELS), count)
    every = grid(fig, count, beside, sharex=True, sharey=True)
    for axes in every[-beside:]:
        axes.tick_params(labelbottom=True)
    return every


def _plain(value, _=None):
    return f"{value:,.6g}"


def log_scale(axes, name):
    """Make the axis "x" or "y" of axes logarithmic, with plain numbers; where
    it is short, 2 and 5 have theirs too."""
    axes.set(**{f"{name}scale": "log"})
    axis = getattr(axes, f"{name}axis")

    def between(value, _=None):
        low, high = axis.get_view_interval()
        digit = round(value / 10.0 ** math.floor(math.log10(value)))
        return _plain(value) if high < 30 * low and digit in (2, 5) else ""
    axis.set_major_formatter(_plain)
    axis.set_minor_formatter(between)


def nice(least):
    """The smallest of 1, 2, 5, 10, 20, ... (and 0.5, 0.2, ...) that is not
    below least."""
    if least <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(least))
    return next(scale * step for step in (1, 2, 5, 10)
                if scale * step >= least * (1 - 1e-9))
