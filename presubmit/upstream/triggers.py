"""Decides whether a workflow starts for an event, and says which filter of `on` decided."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.expressions.values import to_string
from presubmit.upstream.nodes import Scalar
from presubmit.upstream.patterns import (
    compile_pattern,
    deciding,
    first_kept,
    first_match,
    match_filters,
)
from presubmit.values import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.upstream.event import EventFacts
    from presubmit.upstream.model import Trigger, Workflow
    from presubmit.upstream.nodes import Mark, Node
    from presubmit.upstream.patterns import Pattern

TYPES: Final = ("opened", "synchronize", "reopened")
"""What starts a pull_request workflow that names no types (docs: "Events that trigger workflows")."""
_ACTIONS: Final = ("synchronize", "opened", "reopened")
_FILES: Final = 3000
"""Changed files that GitHub looks at (docs: "Workflow syntax", Git diff comparisons); 300 until 2026."""
_SHOWN: Final = 3
_BRANCHES: Final = ("branches", "branches-ignore")
_TARGET: Final = "pull_request_target"


class Word(StrEnum):
    """What becomes of a workflow."""

    STARTS = "starts"
    FILTERED = "filtered"
    """One of its filters keeps it from starting."""
    NOT_STARTED = "not started"
    """The event is not among those of its `on`."""
    NOT_REPLAYED = "not replayed"
    """It starts upstream for this change, but never here."""
    INVALID = "invalid"
    """GitHub refuses the file."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a workflow starts, and why."""

    word: Word
    reason: str
    """`paths: src/** matches src/a.c`."""
    mark: Mark | None = None
    """Where the key or the pattern stands that decided."""
    action: str = "synchronize"
    """The activity type that starts it: `github.event.action`."""
    notes: tuple[str, ...] = ()
    """Where GitHub may see it otherwise."""

    @property
    def starts(self) -> bool:
        """Whether its jobs are looked at."""
        return self.word is Word.STARTS


class _Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one filter says."""

    word: Word = Word.STARTS
    reason: str = ""
    mark: Mark | None = None
    notes: tuple[str, ...] = ()


_SKIPS: Final = ("[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]")


def skip_note(facts: EventFacts) -> str:
    """Say that the head commit asks GitHub to start nothing (docs: "Skipping workflow runs"); empty where it does not."""
    message = f"{facts.title}\n{facts.body}".lower()
    found = next((words for words in _SKIPS if words in message), "")
    trailer = "\nskip-checks: true" in message.replace("skip-checks:true", "skip-checks: true")
    if not found and not trailer:
        return ""
    return (
        f"the head commit says {found or 'skip-checks: true'}: upstream would start nothing for it"
    )


def decide(workflow: Workflow, event: str, facts: EventFacts) -> Decision:
    """Decide whether `event` (`pull_request` or `push`) starts a workflow."""
    triggers = {trigger.event: trigger for trigger in workflow.triggers}
    if event in triggers and event != _TARGET:
        decision = _filtered(triggers[event], facts)
        if _TARGET in triggers and event == "pull_request":
            note = f"{_TARGET} starts it as well, which is not replayed"
            decision = msgspec.structs.replace(decision, notes=(*decision.notes, note))
        return decision
    if _TARGET in triggers and event in {"pull_request", _TARGET}:
        decision = _filtered(triggers[_TARGET], facts)
        if not decision.starts:
            return decision
        return msgspec.structs.replace(
            decision,
            word=Word.NOT_REPLAYED,
            reason=f"{_TARGET} runs the base's workflow with the base's rights",
            mark=triggers[_TARGET].mark,
        )
    names = ", ".join(triggers) or "nothing"
    first = workflow.triggers[0].mark if workflow.triggers else None
    return Decision(word=Word.NOT_STARTED, reason=f"on: {names} only", mark=first)


def _filtered(trigger: Trigger, facts: EventFacts) -> Decision:
    """Apply the filters of one event, which must all let it pass."""
    pushed = trigger.event == "push"
    verdicts = [
        _Verdict(reason=f"on: {trigger.event}", mark=trigger.mark),
        _malformed(trigger),
        _tags(trigger),
        _Verdict() if pushed else _types(trigger),
        _branches(trigger, facts.head_ref if pushed else facts.base_ref),
        _paths(trigger, facts),
    ]
    # The first that refuses decides; where none does, the most particular reason is given.
    refused = [verdict for verdict in verdicts if verdict.word is not Word.STARTS]
    last = refused[0] if refused else [verdict for verdict in verdicts if verdict.reason][-1]
    return Decision(
        word=last.word,
        reason=last.reason,
        mark=last.mark,
        action=_action(trigger),
        notes=tuple(note for verdict in verdicts for note in verdict.notes),
    )


def _malformed(trigger: Trigger) -> _Verdict:
    """Refuse what GitHub refuses: bad patterns, and a filter together with its `-ignore`."""
    for key in ("branches", "tags", "paths"):
        names = (key, f"{key}-ignore")
        if all(name in trigger.filters for name in names):
            return _Verdict(
                word=Word.INVALID,
                reason=f"{trigger.event} has both {names[0]} and {names[1]}",
                mark=trigger.filters[names[1]].mark,
            )
        for name in names:
            for item in trigger.filters[name].items if name in trigger.filters else ():
                text = _text(item)
                problem = compile_pattern(text).problem
                if problem:
                    return _Verdict(
                        word=Word.INVALID,
                        reason=f"{name}: {text!r} is no pattern: {problem}",
                        mark=item.mark,
                    )
    return _Verdict()


def _types(trigger: Trigger) -> _Verdict:
    """Look for one of the activity types that a change goes through."""
    types = _patterns(trigger, "types")
    if not types:
        return _Verdict()
    mark = trigger.filters["types"].mark
    wanted = {name.casefold() for name in types}
    if not wanted & set(TYPES):
        return _Verdict(
            word=Word.FILTERED,
            reason=f"types: {_few(types)} {'does' if len(types) == 1 else 'do'} not include {', '.join(TYPES)}",
            mark=mark,
        )
    if "synchronize" in wanted:
        return _Verdict()
    note = f"types: {_few(types)} starts it when the pull request is {_action(trigger)}, not at each push"
    return _Verdict(notes=(note,))


def _action(trigger: Trigger) -> str:
    wanted = {name.casefold() for name in _patterns(trigger, "types")}
    return next((action for action in _ACTIONS if action in wanted), _ACTIONS[0])


def _tags(trigger: Trigger) -> _Verdict:
    """Refuse a push of a branch where only tags are named (docs: `on.push.<branches|tags|…>`)."""
    named = [name for name in ("tags", "tags-ignore") if name in trigger.filters]
    if not named or (trigger.event == "push" and trigger.filters.keys() & set(_BRANCHES)):
        return _Verdict()
    if trigger.event != "push":
        return _Verdict(notes=(f"{named[0]} means nothing for {trigger.event}",))
    mark = trigger.filters[named[0]].mark
    return _Verdict(word=Word.FILTERED, reason="event push tags only", mark=mark)


def _branches(trigger: Trigger, branch: str) -> _Verdict:
    """Match a branch: the base's for a pull request, the pushed one for a push."""
    for key in _BRANCHES:
        patterns = _patterns(trigger, key)
        if patterns:
            last = deciding(patterns, branch)
            inside = last is not None and not last.negative
            return _Verdict(
                word=Word.STARTS if inside is (key == "branches") else Word.FILTERED,
                reason=f"{key}: {_said(patterns, last, branch)}",
                mark=_mark(trigger, key, last),
                notes=_doubts(key, last),
            )
    return _Verdict()


def _paths(trigger: Trigger, facts: EventFacts) -> _Verdict:
    """Match the changed files; `paths` wants one that is in, `paths-ignore` one that is not."""
    for key, decide_paths in (("paths", _included), ("paths-ignore", _kept)):
        patterns = _patterns(trigger, key)
        if patterns and not facts.files:
            reason = f"{key}: no file is changed"
            return _Verdict(word=Word.FILTERED, reason=reason, mark=_mark(trigger, key, None))
        if patterns:
            return decide_paths(trigger, patterns, facts)
    return _Verdict()


def _included(trigger: Trigger, patterns: Sequence[str], facts: EventFacts) -> _Verdict:
    """Decide `paths`."""
    match = first_match(patterns, _new_names_first(facts))
    if match is not None:
        last = deciding(patterns, match.path)
        return _Verdict(
            reason=f"paths: {_said(patterns, last, match.path)}",
            mark=_mark(trigger, "paths", last),
            notes=_path_notes(facts, match.path),
        )
    files = counted(len(facts.files), "changed file")
    excluded = next((path for path in facts.paths if deciding(patterns, path)), "")
    if all(map(_is_negative, patterns)):
        last, said = None, _said(patterns, None, files)
    elif excluded:
        last = deciding(patterns, excluded)
        said = f"{_said(patterns, last, excluded)}, and no other of {files} matches"
    else:
        last = None
        said = f"{_few(patterns)} {'matches' if len(patterns) == 1 else 'match'} none of {files}"
    return _Verdict(
        word=Word.FILTERED, reason=f"paths: {said}", mark=_mark(trigger, "paths", last)
    )


def _kept(trigger: Trigger, patterns: Sequence[str], facts: EventFacts) -> _Verdict:
    """Decide `paths-ignore`."""
    key = "paths-ignore"
    path = first_kept(patterns, _new_names_first(facts))
    last = deciding(patterns, facts.paths[0] if path is None else path)
    if path is None:
        example = f"{facts.paths[0]} by {match_filters(patterns, facts.paths[0])}"
        return _Verdict(
            word=Word.FILTERED,
            reason=f"{key}: every changed file matches, e.g. {example}",
            mark=_mark(trigger, key, last),
        )
    return _Verdict(
        reason=f"{key}: {_said(patterns, last, path)}",
        mark=_mark(trigger, key, last),
        notes=(*_doubts(key, last), *_path_notes(facts, path)),
    )


def _new_names_first(facts: EventFacts) -> tuple[str, ...]:
    new = {file.path for file in facts.files}
    return tuple(sorted(facts.paths, key=lambda path: path not in new))


def _path_notes(facts: EventFacts, path: str) -> tuple[str, ...]:
    """Say where GitHub may decide otherwise than the path that decided here."""
    notes = []
    if path not in {file.path for file in facts.files}:
        notes.append(f"only the old name of a renamed file decides: {path}")
    if facts.paths.index(path) >= _FILES:
        notes.append(f"GitHub looks at the first {_FILES} changed files, and {path} comes later")
    return tuple(notes)


def _doubts(key: str, last: Pattern | None) -> tuple[str, ...]:
    if key.endswith("-ignore") and last is not None and last.negative:
        return (f"{key} has {last.text}, and `!` is documented for {key[: -len('-ignore')]} only",)
    return ()


# --- words ----------------------------------------------------------------------------------------------------------


def _said(patterns: Sequence[str], last: Pattern | None, value: str) -> str:
    """Say what patterns do with a value."""
    if last is not None:
        return f"{last.text} {'excludes' if last.negative else 'matches'} {value}"
    if all(map(_is_negative, patterns)):
        return f"{_few(patterns)} lets nothing in without a pattern that has no `!`"
    return f"{_few(patterns)} {'does' if len(patterns) == 1 else 'do'} not match {value}"


def _is_negative(pattern: str) -> bool:
    return pattern.startswith("!")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", … ({len(names)})" if len(names) > _SHOWN else "")


def _patterns(trigger: Trigger, key: str) -> tuple[str, ...]:
    """Give the texts of a filter; none where it is not there."""
    items = trigger.filters[key].items if key in trigger.filters else ()
    return tuple(_text(item) for item in items)


def _text(item: Node) -> str:
    """Give a pattern as GitHub reads it: an unquoted 3.10 is the number 3.1."""
    return to_string(item.value) if isinstance(item, Scalar) else ""


def _mark(trigger: Trigger, key: str, pattern: Pattern | None) -> Mark:
    """Give the place of a pattern, or else of its filter."""
    filter_ = trigger.filters[key]
    marks = [i.mark for i in filter_.items if pattern is not None and _text(i) == pattern.text]
    return marks[-1] if marks else filter_.mark
