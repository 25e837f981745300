"""One Nox session a file: each reads its assignment, does its steps and writes their results."""

from __future__ import annotations

from sessions.build import build
from sessions.docs import docs
from sessions.lint import lint
from sessions.tests import tests

__all__ = ["build", "docs", "lint", "tests"]
