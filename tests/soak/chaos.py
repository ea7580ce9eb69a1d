# SPDX-License-Identifier: Apache-2.0
"""./dev soak chaos [ROUNDS]: the agent with a spool killed at random moments, 1,000 times by default;
tests/integration/spool_test.py runs the same 50 times."""

import os
import sys

os.environ.setdefault("ATALAYA_CHAOS_ROUNDS", "1000")
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import main  # noqa: E402
from spool_test import Chaos  # noqa: E402, F401

if __name__ == "__main__":
    main()
