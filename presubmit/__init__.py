"""A local mirror of a project's upstream CI, for the people who contribute to it."""

from __future__ import annotations

__version__ = "0.1.0"
