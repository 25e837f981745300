"""Between the history and recordings: keeps what a step recorded, and gives back the runs that a choice may rest on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.history import RecordedRun
from presubmit.selector.recorded_index import (
    COLLECT,
    TEST,
    DamagedRecordingError,
    Index,
    merge,
    pack,
    plain,
)
from presubmit.selector.recorded_setting import changed_facts, say_changed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from presubmit.history import History
    from presubmit.selector.recording import Ran, Recording

CORES: Final = frozenset(["ctrace", "monitoring"])
"""coverage's C tracer, the only one of its cores that keeps contexts apart (coveragepy #2200), and the recorder's own."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A recorded run as the history has it; a newer one has a higher number."""

    number: int
    run: RecordedRun
    index: Index


def setting_of(command: Sequence[str], env: Sequence[str]) -> str:
    """Digest how tests are started: another command may run other tests, or run them otherwise."""
    text = "\0".join((*command, "", *env))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def whole_files(recording: Recording, ran: Iterable[str], within: Iterable[str]) -> frozenset[str]:
    """Give the test files of which every test is in a recording.

    `ran` are the ids of all tests that the step ran (its JUnit report says so, not the recorder), `within` those that
    some of its files were narrowed by. Only for a step that ran all that it chose.
    """
    recorded = {plain(one.context) for one in recording.contexts if _is_whole(one)}
    files = {name.removeprefix(COLLECT) for name in recorded if name.startswith(COLLECT)}
    files -= {plain(one.partition("::")[0]) for one in within}
    for one in ran:
        path, _, name = plain(one).partition("::")
        if name and f"{TEST}{path}::{without_parameters(name)}" not in recorded:
            files.discard(path)
    return frozenset(files)


def _is_whole(ran: Ran) -> bool:
    """Whether a context came to its end; a module whose import failed holds tests that nobody has seen."""
    return not ran.context.startswith(COLLECT) or ran.outcome != "failed"


def without_parameters(name: str) -> str:
    """Leave out what stands in brackets at the end of a test's id."""
    return name.partition("[")[0] if name.endswith("]") else name


def store_recording(
    history: History,
    recording: Recording,
    *,
    tree: str,
    commit: str,
    files: Mapping[str, str],
    setting: str,
    whole: Iterable[str],
    known: Collection[str],
    at: str,
    origin: str = "",
    place: Mapping[str, str] | None = None,
) -> bool:
    """Keep a recording; one of the same tree in the same environment and place grows by it. Whether it was kept.

    `whole` are the test files of which every test is in it, `known` all that the project has.
    An empty one (`--collect-only`) and one of a core that loses contexts are not kept.
    """
    tested = any(one.context.startswith(TEST) for one in recording.contexts)
    if recording.core not in CORES or not tested:
        return False
    run = RecordedRun(
        tree=tree,
        environment=recording.environment,
        setting=setting,
        python=recording.python,
        core=recording.core,
        commit=commit,
        at=at,
        files={plain(path): blob for path, blob in files.items()},
        origin=origin,
        place=dict(place or {}),
    )
    contexts = recording.contexts
    whole = {*map(plain, whole)}
    number = history.recorded_number(run)
    before = None if number is None else read_run(history, number)
    if before is not None and not changed_facts(before[0].place, run.place):
        old, index = before
        contexts = merge(index.all_contexts(), contexts)
        whole |= {*old.whole}
    suite = {*map(plain, known)} <= whole
    run = msgspec.structs.replace(run, whole=tuple(sorted(whole)), suite=suite)
    return history.write_recorded(run, pack(contexts))


def read_stored(history: History, setting: str | None) -> tuple[Stored, ...]:
    """Give the runs of this setting (None: of the last one) in the environment that was recorded last."""
    return tuple(
        Stored(number=number, run=run, index=index)
        for number, run in history.recorded_runs(setting)
        if run.core in CORES and (index := read_index(history, number)) is not None
    )


def of_place(
    runs: Iterable[Stored], place: Mapping[str, str]
) -> tuple[tuple[Stored, ...], tuple[str, ...]]:
    """Give the runs that were made in this place, and what is to be said where none was. Pure."""
    runs = tuple(runs)
    changes = [changed_facts(stored.run.place, place) for stored in runs]
    fit = tuple(stored for stored, changed in zip(runs, changes, strict=True) if not changed)
    return fit, () if fit or not runs else (say_changed(changes),)


def read_run(history: History, number: int) -> tuple[RecordedRun, Index] | None:
    """Give one run; None where it cannot be read."""
    run = history.recorded_about(number)
    index = None if run is None else read_index(history, number)
    return None if run is None or index is None else (run, index)


def read_index(history: History, number: int) -> Index | None:
    """Give what a run holds; None where it cannot be read."""
    try:
        return Index(lambda keys: history.recorded_rows(number, keys))
    except DamagedRecordingError:
        return None
