"""Chooses the test files that a change can affect: everything that is not certain widens the choice."""

from __future__ import annotations

from presubmit.selector.cache import ImportCache, MemoryCache, SqliteCache
from presubmit.selector.choose import Tests, select
from presubmit.selector.imports import Imports, read_imports
from presubmit.selector.layout import Layout, make_layout
from presubmit.selector.rules import RULES, Effect, Reach, Rule
from presubmit.selector.tree import Tree, imports_of, read_tree

__all__ = [
    "RULES",
    "Effect",
    "ImportCache",
    "Imports",
    "Layout",
    "MemoryCache",
    "Reach",
    "Rule",
    "SqliteCache",
    "Tests",
    "Tree",
    "imports_of",
    "make_layout",
    "read_imports",
    "read_tree",
    "select",
]
