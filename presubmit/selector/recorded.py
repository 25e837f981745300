"""Narrows a selection by recorded runs: to the single tests that ran, read or are served by what changed. Pure.

A test is left out only where a run holds a sound record of it and nothing that the record rests on differs between
the change's base, the recorded tree and head: then it does on head what it did in that run, where it passed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.recorded_index import plain
from presubmit.selector.recorded_sound import unknown, unread
from presubmit.selector.recorded_spread import Changed, Hits, spread
from presubmit.values import ChosenTest, LeftOut, Mode, Reason, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from presubmit.selector.graph import Graph
    from presubmit.selector.recorded_index import Index
    from presubmit.selector.recorded_spread import Chain, Names
    from presubmit.values import Selection

_MOST_REASONS: Final = 3
_WHOLE: Final = frozenset(
    {"always", "unparsed", "configured", "docstrings", "source-text", "document"}
)
"""Rules of static reasons that no recording can weaken."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """A recorded run, as seen from head."""

    index: Index
    number: int
    """A newer run has a higher one."""
    whole: frozenset[str]
    """Test files of which every test is in the run."""
    since: Changed
    """What differs between the recorded tree and head."""
    stale: frozenset[str]
    """Test files for which the run says nothing: what else differs reaches them."""
    folders: frozenset[str]
    """Folders that base, recorded tree and head have."""
    about: str
    """For the user: `recorded 2 days ago at 3f2a91c, 14 files differ since`."""


# --- the choice ---------------------------------------------------------------------------------------------------------


def with_recordings(
    selection: Selection,
    rest: Selection,
    changed: Changed,
    pasts: Sequence[Past],
    *,
    names: Names,
    graph: Graph,
) -> Selection:
    """Narrow a static selection to single tests, and add what only a recording knows.

    `rest` is the static selection for `changed.rest` alone: what it holds stays whole. `pasts` are the nearest first.
    """
    if selection.unsure or rest.mode is Mode.ALL or not pasts:
        return selection
    seen = [_Past(past, changed, names, graph) for past in pasts]
    for past in seen:
        if past.now.everything_reads:
            return _everything(selection, past.now.everything_reads, graph)
    fixed = {test.path for test in rest.tests}
    kept: list[ChosenTest] = []
    left: list[LeftOut] = []
    ran = known = 0
    for test in selection.tests:
        if test.path in fixed or any(reason.rule in _WHOLE for reason in test.reasons):
            kept.append(test)
            continue
        answer = _narrowed(test, seen)
        if answer is None:
            kept.append(test)
            continue
        narrowed, all_of_it = answer
        known += all_of_it
        if narrowed is None:
            left.append(_left_out(test, pasts[0].about))
        else:
            ran += len(narrowed.ids) or all_of_it
            kept.append(narrowed)
    there = set(map(plain, graph.tests)) - {plain(test.path) for test in selection.tests}
    kept += _added(there, seen, kept)
    if tuple(kept) == selection.tests:
        return selection
    said = f"{ran} of {counted(known, 'recorded test')} may see what changed; {pasts[0].about}"
    added = {test.path for test in kept}
    narrow = msgspec.structs.replace(
        selection,
        mode=Mode.SCOPED if kept else Mode.NONE,
        tests=tuple(kept),
        left_out=(*(it for it in selection.left_out if it.path not in added), *left),
    )
    files = f"{len(kept)} of {selection.known} test files"
    why = (
        f"{files}: {said}" if kept else f"no recorded test can see what changed; {pasts[0].about}"
    )
    return msgspec.structs.replace(narrow, why=why)


def _left_out(test: ChosenTest, about: str) -> LeftOut:
    static = next((reason.chain for reason in test.reasons if reason.chain), ())
    text = f"none of its tests ran or read what changed: {about}"
    return LeftOut(
        path=test.path, reasons=(Reason(rule="recorded", text=text, chain=static), *test.reasons)
    )


class _Past:
    """A run with what of it saw the change, and what saw any difference at all."""

    def __init__(self, past: Past, changed: Changed, names: Names, graph: Graph) -> None:
        self.past = past
        self.contexts = past.index.contexts
        self.changed = changed
        alone = Changed(bodies=changed.bodies, paths=changed.paths, moved=changed.moved)
        both = changed.joined(past.since)
        self.now = spread(past.index, alone, names=names, graph=graph, folders=past.folders)
        self.ever = (
            self.now
            if (both.bodies, both.paths, both.moved) == (alone.bodies, alone.paths, alone.moved)
            else spread(past.index, both, names=names, graph=graph, folders=past.folders)
        )
        self.tests: dict[str, list[int]] = {}
        for number, one in enumerate(self.contexts):
            if one.id:
                self.tests.setdefault(one.file, []).append(number)
        self.by_id = {self.contexts[n].id: n for of in self.tests.values() for n in of}
        self.open = unknown(past.index)
        # A program that no record knows the files of may have read any that is not a source.
        data = any(not path.endswith(".py") for path in both.paths | both.moved)
        self.unread = unread(past.index) if data else frozenset()

    def may_leave_out(self, number: int, path: str) -> bool:
        """Whether this run proves that a test does on head what it did then, and that it passed."""
        return (
            number not in self.open
            and number not in self.unread
            and self.contexts[number].outcome == "passed"
            and path not in self.past.stale
            and not self.ever.everything
            and not self.ever.everything_reads
            and path not in self.ever.files
            and number not in self.ever.contexts
        )

    def why(self, number: int, path: str, hits: Hits) -> Chain:
        """Give the chain from a difference to a test."""
        found = hits.contexts.get(number) or hits.files.get(path) or hits.everything
        return _ending(found, self.contexts[number].id) if found else ()


def _narrowed(test: ChosenTest, pasts: Sequence[_Past]) -> tuple[ChosenTest | None, int] | None:
    """Narrow one file to the tests that stay (None: not one), with the number that it has; None: runs do not say."""
    first = next(
        (it for it in pasts if test.path in it.past.whole and test.path not in it.past.stale), None
    )
    if first is None:
        return None
    numbers = first.tests.get(plain(test.path), [])
    ids = sorted(first.contexts[number].id for number in numbers)
    stays = [one for one in ids if _stays(one, test.path, pasts)]
    if not stays:
        return None, len(ids)
    reasons = tuple(dict.fromkeys(_why(one, test.path, pasts) for one in stays))[:_MOST_REASONS]
    narrowed = msgspec.structs.replace(
        test,
        reasons=(*reasons, *test.reasons),
        ids=() if len(stays) == len(ids) else tuple(stays),
    )
    return narrowed, len(ids)


def _stays(test: str, path: str, pasts: Sequence[_Past]) -> bool:
    """Whether no run proves that the test may be left out; the newest failure outweighs an older pass."""
    numbers = [(past, past.by_id[test]) for past in pasts if test in past.by_id]
    newest, number = max(numbers, key=lambda it: it[0].past.number)
    if newest.contexts[number].outcome != "passed":
        return True
    return not any(past.may_leave_out(number, path) for past, number in numbers)


def _why(test: str, path: str, pasts: Sequence[_Past]) -> Reason:
    for hits in ("now", "ever"):
        for past in pasts:
            number = past.by_id.get(test)
            chain = () if number is None else past.why(number, path, getattr(past, hits))
            if chain:
                return Reason(rule="recorded", text=_text(chain, hits), chain=chain)
    having = [(past, past.by_id[test]) for past in pasts if test in past.by_id]
    past, number = max(having, key=lambda it: it[0].past.number)
    one = past.contexts[number]
    if one.outcome != "passed":
        verb = "failed" if one.outcome == "failed" else "was skipped"
        text = f"{verb} when it was recorded last"
    else:
        text = f"its record is not all of it: {one.open or 'what it rests on'}"
    return Reason(rule="recorded", text=text, chain=(test,))


def _ending(chain: Chain, test: str) -> Chain:
    """Give a chain that ends with a test, once: the test may be the element that saw the change."""
    path, _, name = test.partition("::")
    own = {test, f"{path}::{name.replace('::', '.')}"}
    return (*chain[:-1], test) if chain[-1] in own else (*chain, test)


def _text(chain: Chain, hits: str) -> str:
    verb = "ran" if "::" in chain[0] else "read"
    if len(chain) > 2:  # noqa: PLR2004 - there is something between the change and the test
        verb = "depends on"
    return f"{verb} {chain[0]}" + (
        "" if hits == "now" else ", which differs since it was recorded"
    )


def _added(
    there: Collection[str], pasts: Sequence[_Past], kept: Iterable[ChosenTest]
) -> list[ChosenTest]:
    """Give tests that no static rule chose, but that ran or read what changed when they were recorded.

    `there` are the other test files that head has: what was recorded may have been deleted since.
    """
    found: dict[str, dict[str, Reason]] = {}
    whole: set[str] = set()
    for past in pasts:
        for number in sorted(past.now.near):
            one = past.contexts[number]
            if one.file in there:
                chain = _ending(past.now.contexts[number], one.id or one.file)
                reason = Reason(rule="recorded", text=_text(chain, "now"), chain=chain)
                found.setdefault(one.file, {}).setdefault(one.id, reason)
                whole |= set() if one.id else {one.file}
    rank = max((test.rank for test in kept), default=-1) + 1
    return [
        ChosenTest(
            path=path,
            reasons=tuple(dict.fromkeys(reasons.values()))[:_MOST_REASONS],
            rank=rank,
            ids=() if path in whole else tuple(sorted(reasons)),
        )
        for path, reasons in sorted(found.items())
    ]


def _everything(selection: Selection, chain: Chain, graph: Graph) -> Selection:
    """Choose all: what is read once for the whole session changed."""
    why = f"all tests: {chain[0]} is read once for the whole session"
    reason = Reason(rule="recorded", text=f"the session read {chain[0]}", chain=chain)
    known = {test.path: test for test in selection.tests}
    rank = max((test.rank for test in selection.tests), default=-1) + 1
    others = [
        ChosenTest(path=path, reasons=(reason,), rank=rank)
        for path in sorted(graph.tests - set(known))
    ]
    return msgspec.structs.replace(
        selection, mode=Mode.ALL, tests=(*selection.tests, *others), why=why
    )


# --- telling ------------------------------------------------------------------------------------------------------------


def folders_of(*trees: Collection[str]) -> frozenset[str]:
    """Give the folders that every one of these trees has."""
    found: list[set[str]] = []
    for paths in trees:
        folders: set[str] = set()
        for path in paths:
            folder = posixpath.dirname(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = posixpath.dirname(folder)
        found.append(folders)
    return frozenset(set.intersection(*found)) if found else frozenset()


def about(*, at: datetime, now: datetime, commit: str, differ: int, origin: str = "") -> str:
    """Say how old a run is and how far from head: `recorded 2 days ago at 3f2a91c, 14 files differ since`."""
    minutes = max(0, int((now - at).total_seconds())) // 60
    if minutes < 1:
        age = "just now"
    elif minutes < 60:  # noqa: PLR2004
        age = f"{counted(minutes, 'minute')} ago"
    elif minutes < 60 * 24:
        age = f"{counted(minutes // 60, 'hour')} ago"
    else:
        age = f"{counted(minutes // (60 * 24), 'day')} ago"
    where = f" at {commit[:7]}" if commit else ""
    foreign = f", imported from {origin}" if origin else ""
    files = f", {counted(differ, 'file')} {'differs' if differ == 1 else 'differ'} since"
    return f"recorded {age}{where}{foreign}{files if differ else ''}"
