# SPDX-License-Identifier: Apache-2.0
"""The list of rounds."""
import spray
from play import Round

ROUNDS = {of.name: of for of in (
    Round("spray", spray.attack, floods=True),
)}
