# SPDX-License-Identifier: Apache-2.0
"""A matplotlib Figure as a file (SVG, PNG, PDF), or as SVG inside a web page.

The same figure gives the same bytes: no dates, and ids that come of its name.
Text stays text, so that it can be searched, read aloud and printed well.
"""
import io
import re
from html import escape

from codec_report.figures.style import BACKGROUND, LIGHT, settings

PNG_DPI = 150
PRINT_DPI = 300
FORMATS = ("svg", "png", "pdf")


def text(drawn):
    """The figure as an SVG document, with its ids made unlike those of any
    other figure of a page, and only those that are referred to."""
    out = io.StringIO()
    with settings(**{"svg.hashsalt": drawn.name}):
        drawn.figure.savefig(out, format="svg", metadata={"Date": None})
    whole = out.getvalue()
    whole = whole[whole.index("<svg"):]
    whole = re.sub(r"\s*<metadata>.*?</metadata>", "", whole, flags=re.S)
    whole = re.sub(r"font: ([\w. ]*?[\d.]+px) [^;\"]+", r"font: \1 sans-serif",
                   whole)
    whole = re.sub(r"<!--.*?-->\n?\s*", "", whole, flags=re.S)
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", whole))
    used = {a or b for a, b in used}
    whole = re.sub(r' id="([^"]+)"', lambda m:
                   f' id="{drawn.name}-{m[1]}"' if m[1] in used else "", whole)
    return re.sub(r'(url\(#|href="#)', rf"\1{drawn.name}-", whole)


def inline(drawn):
    """SVG for a page: its colours are the page's variables, --text, --c0 and
    so on; it is as wide as its place, and says to a screen reader what it
    shows."""
    picture = text(drawn)
    for name, colour in LIGHT.items():
        picture = picture.replace(colour, f"var(--{name})")
    picture = picture.replace(BACKGROUND["light"], "none")
    # would hold for the whole page; page.py says it of its figures
    picture = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "",
                     picture, flags=re.S)
    head, rest = picture.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = escape(f"{drawn.title}. {drawn.alt}", quote=True)
    return f'{head} role="img" aria-label="{label}">{rest}'


def save(drawn, path, formats=FORMATS[:2], dpi=PNG_DPI):
    """path.svg, path.png and so on, of FORMATS: for paper, so in the light
    colours, opaque. A PDF has its fonts inside, as TrueType. OSError when they
    cannot be written."""
    if "svg" in formats:
        with open(f"{path}.svg", "w", encoding="utf-8") as f:
            f.write(text(drawn))
    with settings():
        if "png" in formats:
            drawn.figure.savefig(f"{path}.png", dpi=dpi,
                                 metadata={"Software": None})
        if "pdf" in formats:
            drawn.figure.savefig(f"{path}.pdf",
                                 metadata={"CreationDate": None})
