# SPDX-License-Identifier: Apache-2.0
"""What phones with AMR say and hear behind a SIP program that has none."""
import subprocess

import numpy as np

from conftest import PATIENCE
from libraries import amr_heard, amr_said  # noqa: F401
from phones import Answering, Phone, Phones  # noqa: F401
from speech import law_encode, speech  # noqa: F401


def law_decode(name, octets):
    """The samples, by ffmpeg. @name: alaw or mulaw"""
    return np.frombuffer(subprocess.run(
        ["ffmpeg", "-v", "error", "-f", name, "-ar", "8000", "-ac", "1", "-i",
         "-", "-f", "s16le", "-"], input=octets, capture_output=True,
        timeout=PATIENCE, check=True).stdout, np.int16)
