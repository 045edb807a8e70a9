# SPDX-License-Identifier: Apache-2.0
"""A verdict out of traces: which scheduler is better, and by how much.

codec_report.trace    reads trace files (include/cr/trace.h)
codec_report.run      puts a run together: trace, feeder's files
codec_report.metrics  what is computed, and its definitions
codec_report.delay    where the time of a frame goes
codec_report.recovery how long an overload is felt when it is over
codec_report.listing  a line per job or stream; perfetto: a trace to look at
codec_report.emodel   what calls would sound like, by g107 (ITU-T G.107)
codec_report.quality  PESQ of dumped speech
codec_report.heard    one call through the overload, to hear
codec_report.repeats  medians of repeated runs, and what noise explains
codec_report.phases   calm, overload, after: by the load
codec_report.offered  what became of the frames offered in a phase
codec_report.contenders columns that are compared with each other
codec_report.differ   which differences are worth a word
codec_report.verdict  the sentences, with words; brief: the short table
codec_report.labels   what columns are called
codec_report.comparison all of that, of the runs that are reported
codec_report.table    text, CSV and JSON
codec_report.figures  figures, a module each
codec_report.page     the web page
codec_report.pictures from runs to figures, pages and files
codec_report.cli      the program codec-report
"""
import contextlib
import json


class ReportError(Exception):
    """Input that cannot be reported on; the text says what, where and why."""


@contextlib.contextmanager
def access(path):
    """ReportError with the path in place of an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None


def read_text(path):
    with access(path), open(path, encoding="utf-8", errors="replace",
                            newline="") as f:
        return f.read()


def write_file(path, data):
    """Write text or bytes."""
    with access(path), open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def parse_json(text, what, **options):
    """The value of a JSON text. what: the file, or its part."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        return json.loads(text, **options)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{what} not JSON: {error}") from None
