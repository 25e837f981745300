"""A pytest plugin that writes what a run collected and how each test ended, one JSON line an event."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest


def _write(**event: Any) -> None:  # noqa: ANN401 - a row of JSON
    with Path(os.environ["WATCH_OUT"]).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(event) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Make hypothesis give the same few examples in each run, whatever the project's conftest set."""
    try:
        from hypothesis import settings  # noqa: PLC0415 - not every project has it
    except ImportError:
        return
    # Fewer examples than usual: one suite a mutant is long enough, and all tools see the same tests.
    fixed = settings(derandomize=True, deadline=None, database=None, max_examples=20)
    settings.register_profile("watch", fixed)
    settings.load_profile("watch")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep only the tests that are asked for."""
    if "WATCH_ONLY" in os.environ:
        wanted = set(json.loads(Path(os.environ["WATCH_ONLY"]).read_text(encoding="utf-8")))
        items[:] = [item for item in items if item.nodeid in wanted]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say what is left after every plugin has chosen."""
    _write(event="collected", ids=[item.nodeid for item in session.items])


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Say which files could not be collected."""
    if report.failed:
        _write(event="broken", id=report.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say how a phase of a test ended."""
    _write(
        event="phase",
        id=report.nodeid,
        when=report.when,
        outcome=report.outcome,
        seconds=report.duration,
    )


def pytest_sessionfinish(exitstatus: int) -> None:
    """Say where the project was imported from: a second copy would make the trial worthless."""
    module = sys.modules.get(os.environ.get("WATCH_MODULE", ""))
    _write(event="finish", code=int(exitstatus), module=getattr(module, "__file__", None) or "")
