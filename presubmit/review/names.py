"""The names of the rules, for whoever plans a review and does not do it: the rules themselves take a while to import."""

from __future__ import annotations

from typing import Final

NAMES: Final = ("files", "api", "documentation", "dockerfile", "pins", "packaging", "symbols")
