"""Keeps what a step of tests recorded, and what a build was seen to compile, for later selections."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from presubmit.reading import place_of
from presubmit.results.recording import read_recording
from presubmit.selector.builds import build_key, store_built
from presubmit.selector.cache import SqliteCache
from presubmit.selector.recorded_store import setting_of, store_recording, whole_files
from presubmit.values import CaseOutcome, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection

    from presubmit.history import History
    from presubmit.reading import Reading
    from presubmit.selector.native.exact import Built
    from presubmit.selector.recording import Recording
    from presubmit.values import StepResult, Tests


def keep_recording(
    history: History,
    path: Path,
    work: Tests,
    result: StepResult,
    *,
    reading: Reading,
    known: Collection[str],
) -> Recording | None:
    """Keep a step's recording, and give it; None where there is none or it cannot be used.

    `known` are the test files of the project.
    """
    recording = read_recording(path)
    if recording is None:
        return None
    whole: frozenset[str] = frozenset()
    ran = [case.id for case in result.cases if case.phase != "collect"]
    if result.cut or result.outcome is Outcome.ERROR:
        ran = list(recording.chosen)
    if ran and not (work.ids or work.arguments):
        whole = whole_files(recording, ran, (*work.within, *work.without))
        whole -= {
            case.id.partition("::")[0]
            for case in result.cases
            if case.phase == "collect" and case.outcome in {CaseOutcome.FAILED, CaseOutcome.ERROR}
        }
    change = reading.change
    tests = reading.config.config.tests
    kept = store_recording(
        history,
        recording,
        tree=change.target.tree,
        commit=change.target.commit or "",
        files=reading.head_reader.blobs,
        setting=setting_of(tests.command, tests.env),
        whole=whole,
        known=known,
        at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        place=place_of(reading),
    )
    return recording if kept else None


def keep_build(reading: Reading, built: Built) -> None:
    """Keep what a build compiled into what; not of others' code, which could say of itself what it likes."""
    if reading.circle != "own":
        return
    head = reading.head_reader
    path = Path(reading.change.common_dir) / "presubmit" / "selection.db"
    with SqliteCache(path) as cache:
        store_built(cache, build_key(head.blobs, head.data), built)
