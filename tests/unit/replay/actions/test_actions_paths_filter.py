"""dorny/paths-filter: what a change touches, by git."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.actions import paths_filter
from presubmit.replay.actions.changed import ChangedPath
from presubmit.replay.job.action import ActionFailedError
from tests.unit.replay.actions.fake import FakeStep

if TYPE_CHECKING:
    from pathlib import Path

FILES = (
    ChangedPath("src/a.py", "modified"),
    ChangedPath("src/b.py", "added"),
    ChangedPath("docs/x y.md", "deleted"),
    ChangedPath(".github/workflows/ci.yml", "modified"),
)


def meant(text: str, quantifier: str = "some") -> dict[str, list[str]]:
    return {
        name: [one.path for one in FILES if paths_filter.is_meant(one, rules, quantifier)]
        for name, rules in paths_filter.parse_filters(text).items()
    }


def test_a_filter_is_a_pattern_or_a_list_of_them() -> None:
    assert meant("src: 'src/**'\ndocs:\n  - 'docs/*'\n  - '*.md'\n") == {
        "src": ["src/a.py", "src/b.py"],
        "docs": ["docs/x y.md"],
    }


def test_wildcards_meet_names_with_a_leading_dot() -> None:
    assert meant("ci: '**/*.yml'") == {"ci": [".github/workflows/ci.yml"]}


def test_a_filter_may_ask_for_a_status() -> None:
    text = "new:\n  - added|Deleted: '**'\nboth:\n  - modified: ['src/**', 'lib/**']\n"
    assert meant(text) == {"new": ["src/b.py", "docs/x y.md"], "both": ["src/a.py"]}


def test_a_filter_may_be_made_of_another_by_an_anchor() -> None:
    text = "shared: &shared\n  - 'docs/**'\nsrc:\n  - *shared\n  - 'src/b.py'\n"
    assert meant(text)["src"] == ["src/b.py", "docs/x y.md"]


def test_by_default_one_pattern_is_enough_so_that_a_negation_lets_nearly_all_in() -> None:
    text = "src:\n  - 'src/**'\n  - '!src/b.py'\n"
    assert meant(text)["src"] == [
        "src/a.py",
        "src/b.py",
        "docs/x y.md",
        ".github/workflows/ci.yml",
    ]
    assert meant(text, "every")["src"] == ["src/a.py"]


def test_names_that_yaml_1_1_takes_for_booleans_are_names() -> None:
    assert list(meant("on: 'src/**'\nno: 'x'\n")) == ["on", "no"]


@pytest.mark.parametrize(
    "text", ["- a\n", "just text", "a: [b", "a:\n  modified:\n    x: y\n", "a: {added: {b: c}}"]
)
def test_filters_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ActionFailedError, match="Invalid filter YAML format"):
        paths_filter.parse_filters(text)


def test_a_bomb_of_anchors_is_refused() -> None:
    lines = ["a0: &a0 ['x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x']"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ActionFailedError, match="too many patterns"):
        paths_filter.parse_filters("\n".join(lines))


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("csv", 'a.py,"b c","d"""'),
        ("json", '["a.py","b c","d\\""]'),
        ("shell", "a.py 'b c' 'd\"'"),
        ("escape", 'a.py b\\ c d\\"'),
        ("none", ""),
    ],
)
def test_paths_are_listed_in_each_format(style: str, expected: str) -> None:
    assert paths_filter.listed(["a.py", "b c", 'd"'], style) == expected


def test_a_shell_list_quotes_what_has_single_quotes() -> None:
    assert paths_filter.listed(["it's a"], "shell") == '"it\'s a"'
    assert paths_filter.listed(["it's $a"], "shell") == "it\\''s $a'"


@pytest.fixture
def change(tmp_path: Path, make_repo: Any) -> FakeStep:
    """A pull request that renames, edits and adds, behind a base that has moved on."""
    repo = make_repo({"src/a.py": "1\n", "src/old.py": "old\n" * 9, "docs/x.md": "x"}, name="work")
    base = repo.git("rev-parse", "HEAD")
    repo.git("mv", "src/old.py", "src/new.py")
    head = repo.commit({"src/a.py": "2\n", "lib/ü.c": ""})
    repo.git("checkout", "-q", "-b", "upstream", base)
    moved = repo.commit({"docs/x.md": "y"})
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "origin.git"))
    pull = {"base": {"sha": moved}, "head": {"sha": head}}
    github = {
        "event_name": "pull_request",
        "sha": head,
        "event": {"pull_request": pull, "repository": {"default_branch": "upstream"}},
    }
    return FakeStep(tmp_path, "dorny/paths-filter@v3", github=github)


def outputs(step: FakeStep, **inputs: str) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    fresh = FakeStep(step.folder, step.wanted.uses, named, github=step.cell.github)
    paths_filter.run(fresh)
    return fresh.outputs


def test_a_pull_request_is_all_that_differs_from_the_merge_base(change: FakeStep) -> None:
    filters = "src: 'src/**'\ndocs: 'docs/**'\ndeleted:\n  - deleted: '**'\nlib: 'lib/*'\n"
    found = outputs(change, filters=filters, list_files="json")
    assert json.loads(found["src_files"]) == ["src/a.py", "src/new.py", "src/old.py"]
    assert json.loads(found["deleted_files"]) == ["src/old.py"]
    assert json.loads(found["lib_files"]) == ["lib/ü.c"]
    assert (found["docs"], found["docs_count"]) == ("false", "0")
    assert found["changes"] == '["src","deleted","lib"]'


def test_the_workspace_need_not_be_checked_out(change: FakeStep) -> None:
    assert not list(change.workspace.iterdir())
    assert outputs(change, filters="src: 'src/**'\n")["src"] == "true"


def test_filters_may_stand_in_a_file(change: FakeStep) -> None:
    change.write({".github/filters.yml": "src: 'src/**'"})
    assert outputs(change, filters=".github/filters.yml")["src_count"] == "3"
    with pytest.raises(ActionFailedError, match=r"'nowhere\.yml' not found"):
        outputs(change, filters="nowhere.yml")


def test_a_filter_called_changes_keeps_its_name(change: FakeStep) -> None:
    assert outputs(change, filters="changes: 'src/**'\n")["changes"] == "true"


def test_a_push_is_compared_with_what_was_pushed_before(change: FakeStep) -> None:
    pull = change.cell.github["event"]["pull_request"]
    event = {"before": pull["base"]["sha"], "repository": {"default_branch": "main"}}
    github = {"event_name": "push", "sha": pull["head"]["sha"], "event": event}
    step = FakeStep(change.folder, change.wanted.uses, github=github)
    assert outputs(step, filters="docs: 'docs/**'\n")["docs"] == "true"


def test_a_base_that_git_does_not_know_fails_with_its_words(change: FakeStep) -> None:
    github = {"event_name": "push", "sha": "HEAD", "event": {}}
    step = FakeStep(change.folder, change.wanted.uses, github=github)
    with pytest.raises(ActionFailedError, match=r"git cannot compare nowhere\.\.\.HEAD"):
        outputs(step, filters="a: 'b'\n", base="nowhere")
    with pytest.raises(ActionFailedError, match="requires 'base'"):
        outputs(step, filters="a: 'b'\n")


@pytest.mark.parametrize(
    "inputs", [{"list_files": "xml"}, {"predicate_quantifier": "most"}, {"filters": ""}]
)
def test_inputs_that_the_action_refuses_fail(change: FakeStep, inputs: dict[str, str]) -> None:
    with pytest.raises(ActionFailedError):
        outputs(change, **{"filters": "a: 'b'\n", **inputs})
