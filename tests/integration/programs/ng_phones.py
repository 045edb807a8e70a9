# SPDX-License-Identifier: Apache-2.0
"""What phones with AMR say and hear behind a SIP program that has none."""
from libraries import amr_heard, amr_said, law_decode  # noqa: F401
from phones import Answering, Phone, Phones  # noqa: F401
from speech import law_encode, speech  # noqa: F401
