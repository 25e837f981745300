from __future__ import annotations

from typing import Any

import pytest

from presubmit.upstream.event import EventFacts
from presubmit.upstream.model import Trigger, Workflow
from presubmit.upstream.nodes import Mapping, Mark, Scalar, Sequence
from presubmit.upstream.triggers import Decision, Word, decide, skip_note
from presubmit.values import ChangedFile, FileStatus

TRIGGER, FILTER = Mark(3, 3), Mark(4, 5)


def facts(*paths: str, **given: Any) -> EventFacts:
    files = tuple(ChangedFile(path=path, status=FileStatus.MODIFIED) for path in paths)
    plain: dict[str, Any] = {
        "repository": "o/n",
        "base_ref": "main",
        "base_sha": "b" * 40,
        "head_ref": "topic",
        "head_sha": "a" * 40,
        "merge_sha": "c" * 40,
        "title": "t",
        "time": 0,
        "actor": "octocat",
        "files": files,
    }
    return EventFacts(**{**plain, **given})


def sequence(values: list[Any]) -> Sequence:
    """Give a list whose items stand on the lines 5, 6, …."""
    items = tuple(
        Scalar(value, Mark(5 + index, 9), str(value)) for index, value in enumerate(values)
    )
    return Sequence(items, FILTER)


def trigger(event: str = "pull_request", **filters: list[Any]) -> Trigger:
    named = {key.replace("_", "-"): sequence(values) for key, values in filters.items()}
    return Trigger(mark=TRIGGER, event=event, filters=named)


def workflow(*triggers: Trigger) -> Workflow:
    return Workflow(path=".github/workflows/ci.yml", triggers=triggers)


def decided(
    given: EventFacts | None = None, event: str = "pull_request", **filters: list[Any]
) -> Decision:
    return decide(workflow(trigger(event, **filters)), event, given or facts("src/a.c"))


def told(decision: Decision) -> tuple[Word, str]:
    return decision.word, decision.reason


# --- which event ---


def test_a_pull_request_starts_a_workflow_that_names_it() -> None:
    decision = decided()
    assert decision == Decision(
        word=Word.STARTS, reason="on: pull_request", mark=TRIGGER, action="synchronize"
    )
    assert decision.starts


def test_an_empty_change_starts_a_workflow_without_path_filters() -> None:
    assert decided(facts()).starts


def test_a_workflow_with_push_and_pull_request_starts_by_the_pull_request() -> None:
    both = workflow(trigger("push", branches=["main"]), trigger("pull_request"))
    assert told(decide(both, "pull_request", facts("a"))) == (Word.STARTS, "on: pull_request")


@pytest.mark.parametrize(
    "events",
    [
        ("workflow_call",),
        ("push",),
        ("schedule", "workflow_dispatch"),
        ("merge_group",),
        ("workflow_run",),
        ("release", "push"),
    ],
)
def test_other_events_do_not_start_by_a_pull_request(events: tuple[str, ...]) -> None:
    made = workflow(*(trigger(event) for event in events))
    decision = decide(made, "pull_request", facts("a"))
    assert told(decision) == (Word.NOT_STARTED, f"on: {', '.join(events)} only")
    assert decision.mark == TRIGGER
    assert not decision.starts


def test_a_workflow_without_events_does_not_start() -> None:
    decision = decide(workflow(), "pull_request", facts("a"))
    assert told(decision) == (Word.NOT_STARTED, "on: nothing only")
    assert decision.mark is None


def test_pull_request_target_starts_upstream_and_is_never_replayed() -> None:
    made = workflow(trigger("pull_request_target"))
    for event in ("pull_request", "pull_request_target"):
        decision = decide(made, event, facts("a"))
        assert told(decision) == (
            Word.NOT_REPLAYED,
            "pull_request_target runs the base's workflow with the base's rights",
        )
        assert not decision.starts


def test_pull_request_target_is_filtered_like_a_pull_request() -> None:
    made = workflow(trigger("pull_request_target", paths=["docs/**"]))
    decision = decide(made, "pull_request", facts("src/a.c"))
    assert decision.word is Word.FILTERED


def test_pull_request_target_beside_pull_request_is_noted() -> None:
    made = workflow(trigger("pull_request_target"), trigger("pull_request"))
    decision = decide(made, "pull_request", facts("a"))
    assert decision.starts
    assert decision.notes == ("pull_request_target starts it as well, which is not replayed",)


def test_pull_request_target_is_no_event_of_a_push() -> None:
    made = workflow(trigger("pull_request_target"), trigger("push"))
    assert decide(made, "push", facts("a")).notes == ()
    only = workflow(trigger("pull_request_target"))
    assert decide(only, "push", facts("a")).word is Word.NOT_STARTED


# --- types ---


@pytest.mark.parametrize(
    ("types", "action"),
    [
        (["opened", "synchronize", "reopened"], "synchronize"),
        (["labeled", "synchronize"], "synchronize"),
        ([], "synchronize"),
    ],
)
def test_types_that_a_push_to_a_pull_request_has_start(types: list[str], action: str) -> None:
    decision = decided(types=types)
    assert (decision.starts, decision.action, decision.notes) == (True, action, ())


def test_types_without_synchronize_start_at_the_opening_and_that_is_said() -> None:
    decision = decided(types=["opened", "closed"])
    assert (decision.starts, decision.action) == (True, "opened")
    assert decision.notes == (
        "types: opened, closed starts it when the pull request is opened, not at each push",
    )


def test_other_types_do_not_start() -> None:  # trap 44: the default types
    decision = decided(types=["labeled"])
    assert told(decision) == (
        Word.FILTERED,
        "types: labeled does not include opened, synchronize, reopened",
    )
    assert decision.mark == FILTER
    assert "types: labeled, closed do not include" in decided(types=["labeled", "closed"]).reason


# --- branches ---


def test_branches_are_those_of_the_base() -> None:  # trap 42
    decision = decided(branches=["dev", "main"])
    assert told(decision) == (Word.STARTS, "branches: main matches main")
    assert decision.mark == Mark(6, 9)
    away = decided(facts("a", base_ref="develop", head_ref="main"), branches=["main"])
    assert told(away) == (Word.FILTERED, "branches: main does not match develop")
    assert away.mark == FILTER


def test_a_branch_may_be_taken_out_again() -> None:
    given = facts("a", base_ref="releases/1-alpha")
    decision = decided(given, branches=["releases/**", "!releases/**-alpha"])
    assert told(decision) == (
        Word.FILTERED,
        "branches: !releases/**-alpha excludes releases/1-alpha",
    )
    assert decision.mark == Mark(6, 9)


def test_many_branches_are_not_all_named() -> None:
    decision = decided(branches=["a", "b", "c", "d"])
    assert decision.reason == "branches: a, b, c, … (4) do not match main"


def test_only_negative_branches_let_nothing_in() -> None:
    decision = decided(branches=["!dev"])
    assert told(decision) == (
        Word.FILTERED,
        "branches: !dev lets nothing in without a pattern that has no `!`",
    )


def test_branches_ignore_keeps_a_branch_out() -> None:
    decision = decided(branches_ignore=["ma*"])
    assert told(decision) == (Word.FILTERED, "branches-ignore: ma* matches main")
    assert decision.mark == Mark(5, 9)
    assert told(decided(branches_ignore=["dev"])) == (
        Word.STARTS,
        "branches-ignore: dev does not match main",
    )


def test_a_negative_pattern_in_an_ignore_list_is_doubtful() -> None:
    decision = decided(branches_ignore=["**", "!main"])
    assert told(decision) == (Word.STARTS, "branches-ignore: !main excludes main")
    assert decision.notes == (
        "branches-ignore has !main, and `!` is documented for branches only",
    )


def test_an_empty_filter_is_none() -> None:
    assert decided(branches=[], paths=[]).starts


def test_an_unquoted_number_is_read_as_github_does() -> None:  # trap 34
    assert decided(facts("a", base_ref="3.1"), branches=[3.1]).starts


# --- paths ---


def test_paths_start_if_any_file_matches() -> None:  # trap 40
    given = facts("docs/a.md", "src/markupsafe/_speedups.c")
    decision = decided(given, paths=["tests/**", "src/**"])
    assert told(decision) == (
        Word.STARTS,
        "paths: src/** matches src/markupsafe/_speedups.c",
    )
    assert decision.mark == Mark(6, 9)
    assert decision.notes == ()


def test_paths_filter_if_no_file_matches() -> None:
    decision = decided(facts("src/a.c", "src/b.c"), paths=["docs/**"])
    assert told(decision) == (Word.FILTERED, "paths: docs/** matches none of 2 changed files")
    assert decision.mark == FILTER
    several = decided(facts("src/a.c"), paths=["docs/**", "*.md"])
    assert several.reason == "paths: docs/**, *.md match none of 1 changed file"


def test_paths_say_what_took_a_file_out() -> None:
    given = facts("a.txt", "sub/docs/readme.md")
    decision = decided(given, paths=["sub/**", "!sub/docs/**"])
    assert told(decision) == (
        Word.FILTERED,
        "paths: !sub/docs/** excludes sub/docs/readme.md, and no other of 2 changed files matches",
    )
    assert decision.mark == Mark(6, 9)


def test_only_negative_paths_let_nothing_in() -> None:
    for path in ("docs/a.md", "src/a.c"):
        assert told(decided(facts(path), paths=["!docs/**"])) == (
            Word.FILTERED,
            "paths: !docs/** lets nothing in without a pattern that has no `!`",
        )


def test_paths_ignore_starts_if_one_file_is_not_ignored() -> None:  # trap 40
    decision = decided(facts("docs/a.md", "src/a.c"), paths_ignore=["docs/**"])
    assert told(decision) == (Word.STARTS, "paths-ignore: docs/** does not match src/a.c")


def test_paths_ignore_filters_if_every_file_is_ignored() -> None:
    decision = decided(facts("docs/index.md", "a.md"), paths_ignore=["docs/**", "*.md"])
    assert told(decision) == (
        Word.FILTERED,
        "paths-ignore: every changed file matches, e.g. a.md by *.md",
    )
    assert decision.mark == Mark(6, 9)


def test_a_negative_path_in_an_ignore_list_is_doubtful() -> None:
    decision = decided(facts("docs/keep.md"), paths_ignore=["docs/**", "!docs/keep.md"])
    assert decision.starts
    assert decision.notes == (
        "paths-ignore has !docs/keep.md, and `!` is documented for paths only",
    )


@pytest.mark.parametrize("key", ["paths", "paths_ignore"])
def test_an_empty_change_passes_no_path_filter(key: str) -> None:
    filters: dict[str, Any] = {key: ["docs/**"]}
    decision = decided(facts(), **filters)
    assert told(decision) == (
        Word.FILTERED,
        f"{key.replace('_', '-')}: no file is changed",
    )


def test_deleted_files_count() -> None:  # trap 45
    gone = ChangedFile(path="src/gone.c", status=FileStatus.DELETED)
    assert decided(facts(files=(gone,)), paths=["src/**"]).starts


def test_the_old_name_of_a_renamed_file_counts_and_is_doubtful() -> None:  # trap 45
    moved = ChangedFile(path="lib/a.c", status=FileStatus.RENAMED, old_path="src/a.c")
    decision = decided(facts(files=(moved,)), paths=["src/**"])
    assert told(decision) == (Word.STARTS, "paths: src/** matches src/a.c")
    assert decision.notes == ("only the old name of a renamed file decides: src/a.c",)
    kept = decided(facts(files=(moved,)), paths_ignore=["lib/**"])
    assert kept.starts
    assert kept.notes == decision.notes
    assert decided(facts(files=(moved,)), paths=["lib/**", "src/**"]).notes == ()


def test_a_file_beyond_what_github_looks_at_is_noted() -> None:
    given = facts(*(f"a/{number:05}" for number in range(3000)), "z/last")
    decision = decided(given, paths=["z/**"])
    assert decision.starts
    assert decision.notes == (
        "GitHub looks at the first 3000 changed files, and z/last comes later",
    )
    assert decided(given, paths=["a/**"]).notes == ()
    assert len(decided(given, paths_ignore=["a/**"]).notes) == 1


def test_both_paths_and_branches_must_hold() -> None:  # trap 43
    given = facts("src/a.c")
    assert decided(given, branches=["main"], paths=["src/**"]).starts
    assert not decided(given, branches=["dev"], paths=["src/**"]).starts
    assert not decided(given, branches=["main"], paths=["docs/**"]).starts


# --- push ---


def test_a_push_matches_the_pushed_branch() -> None:
    assert told(decided(event="push", branches=["main"])) == (
        Word.FILTERED,
        "branches: main does not match topic",
    )
    assert decided(event="push", branches=["top*"], types=["ignored"]).starts


def test_a_push_of_a_branch_does_not_start_what_waits_for_tags() -> None:
    for key in ("tags", "tags_ignore"):
        filters: dict[str, Any] = {key: ["v*"]}
        decision = decided(event="push", **filters)
        assert told(decision) == (Word.FILTERED, "event push tags only")
        assert decision.mark == FILTER


def test_a_push_with_branches_and_tags_starts_by_its_branch() -> None:
    assert decided(event="push", branches=["topic"], tags=["v*"]).starts
    assert decided(event="push", branches_ignore=["main"], tags=["v*"]).starts


def test_tags_mean_nothing_for_a_pull_request() -> None:
    decision = decided(tags=["v*"])
    assert decision.starts
    assert decision.notes == ("tags means nothing for pull_request",)


# --- what GitHub refuses ---


def test_a_malformed_pattern_is_an_error_with_its_place() -> None:
    decision = decided(paths=["src/**", "docs/[a"])
    assert told(decision) == (
        Word.INVALID,
        "paths: 'docs/[a' is no pattern: `[` at character 6 is never closed",
    )
    assert decision.mark == Mark(6, 9)
    assert not decision.starts


def test_an_empty_pattern_is_an_error() -> None:
    assert decided(branches=[None]).reason == "branches: '' is no pattern: the pattern is empty"


def test_a_pattern_that_is_no_scalar_is_an_error() -> None:
    odd = Trigger(
        mark=TRIGGER,
        event="pull_request",
        filters={"paths": Sequence((Mapping((), Mark(9, 9)),), FILTER)},
    )
    decision = decide(workflow(odd), "pull_request", facts("a"))
    assert (decision.word, decision.mark) == (Word.INVALID, Mark(9, 9))


@pytest.mark.parametrize("key", ["branches", "paths", "tags"])
def test_a_filter_and_its_ignore_together_are_an_error(key: str) -> None:
    filters: dict[str, Any] = {key: ["a"], f"{key}_ignore": ["b"]}
    decision = decided(event="push", **filters)
    assert told(decision) == (Word.INVALID, f"push has both {key} and {key}-ignore")


@pytest.mark.parametrize(
    "words", ["[skip ci]", "[ci skip]", "[no ci]", "[SKIP ACTIONS]", "[actions skip]"]
)
def test_a_commit_that_asks_for_no_ci_is_said(words: str) -> None:
    assert skip_note(facts("a.py", title=f"Mend a typo {words}")) == (
        f"the head commit says {words.lower()}: upstream would start nothing for it"
    )


def test_a_trailer_that_asks_for_no_checks_is_said() -> None:
    assert skip_note(facts("a.py", body="why\n\nskip-checks:true"))


def test_any_other_commit_is_nothing_to_say() -> None:
    assert skip_note(facts("a.py", title="Skip ci tests", body="skip-checks are bad")) == ""
