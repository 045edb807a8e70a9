# SPDX-License-Identifier: Apache-2.0
"""Places for packets."""
import socket

import pytest


@pytest.fixture
def sink():
    """A port that takes packets and says nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]
