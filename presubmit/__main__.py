"""`python -m presubmit`."""

from __future__ import annotations

from presubmit.cli import main

main()
