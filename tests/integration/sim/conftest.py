# SPDX-License-Identifier: Apache-2.0
"""What the tests of codec-sim share."""

PATIENCE = 600  # seconds until a step counts as hung, sanitizers included
