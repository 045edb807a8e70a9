# SPDX-License-Identifier: Apache-2.0
"""What phones with AMR say and hear behind a SIP program that has none."""
import subprocess

import numpy as np

import libraries
from conftest import PATIENCE
from phones import Answering, Phone, Phones  # noqa: F401
from speech import law_encode, speech  # noqa: F401

NO_REQUEST = b"\xf0"  # the octet before the contents (RFC 4867, 4.4.1)


def law_decode(name, octets):
    """The samples, by ffmpeg. @name: alaw or mulaw"""
    return np.frombuffer(subprocess.run(
        ["ffmpeg", "-v", "error", "-f", name, "-ar", "8000", "-ac", "1", "-i",
         "-", "-f", "s16le", "-"], input=octets, capture_output=True,
        timeout=PATIENCE, check=True).stdout, np.int16)


def amr_said(pcm):
    """RTP payloads, octet-aligned, of 12.2 kbit/s."""
    return [NO_REQUEST + bytes((f[0] & 0x7c,)) + f[1:]
            for f in libraries.amr_encode(pcm, dtx=False)]


def amr_heard(data):
    """The samples of payloads of one frame each."""
    return libraries.amr_decode([p[1:] for p in data])
