"""Chooses the test files that a change can affect: everything that is not certain widens the choice."""

from __future__ import annotations

from presubmit.selector.cache import Cache, MemoryCache, SqliteCache
from presubmit.selector.choose import Tests, choose, select
from presubmit.selector.difference import Difference, compare
from presubmit.selector.imports import Imports, read_imports
from presubmit.selector.layout import Layout, make_layout
from presubmit.selector.left_out import why_not
from presubmit.selector.parsed import imports_of
from presubmit.selector.rules import RULES, Effect, Reach, Rule
from presubmit.selector.scene import Scene, make_scene
from presubmit.selector.tree import Source, Tree, read_tree

__all__ = [
    "RULES",
    "Cache",
    "Difference",
    "Effect",
    "Imports",
    "Layout",
    "MemoryCache",
    "Reach",
    "Rule",
    "Scene",
    "Source",
    "SqliteCache",
    "Tests",
    "Tree",
    "choose",
    "compare",
    "imports_of",
    "make_layout",
    "make_scene",
    "read_imports",
    "read_tree",
    "select",
    "why_not",
]
