"""Workflows of a tree."""

from __future__ import annotations

import pytest

from presubmit.upstream.files import is_action, is_workflow
from presubmit.upstream.folder import check_file, read_workflows

GOOD = b"on: push\njobs: {a: {runs-on: x}}\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".github/workflows/ci.yml", True),
        (".github/workflows/ci.yaml", True),
        (".github/workflows/deep/ci.yml", False),
        (".github/workflows/ci.yml.txt", False),
        ("sub/.github/workflows/ci.yml", False),
        (".github/actions/a/action.yml", False),
    ],
)
def test_a_workflow_lies_directly_in_its_folder(path: str, *, expected: bool) -> None:
    assert is_workflow(path) is expected


def test_an_action_of_the_repository_lies_in_a_folder_of_its_own() -> None:
    paths = [
        ".github/actions/a/action.yml",
        ".github/actions/a/b/action.yaml",
        ".github/actions/action.yml",
    ]
    assert [is_action(path) for path in paths] == [True, True, False]


def test_a_tree_gives_its_workflows_and_the_problems_of_the_others() -> None:
    files = {
        ".github/workflows/b.yml": GOOD,
        ".github/workflows/a.yaml": b"on: push\n",
        ".github/workflows/gone.yml": None,
        "setup.py": b"",
    }
    workflows, problems = read_workflows(lambda path: files[path], files)
    assert [workflow.file for workflow in workflows] == ["b.yml"]
    assert [str(problem) for problem in problems] == [
        ".github/workflows/a.yaml:1:1: the key 'jobs' is missing"
    ]


@pytest.mark.parametrize("start", [".", "$"])
def test_a_call_inside_the_repository_is_checked_against_the_called_file(start: str) -> None:
    caller = f"on: push\njobs: {{a: {{uses: {start}/.github/workflows/b.yml}}}}\n".encode()
    files = {"x/.github/workflows/a.yml": caller, "x/.github/workflows/b.yml": GOOD}
    assert [str(p) for p in check_file(files.get, "x/.github/workflows/a.yml")] == [
        "x/.github/workflows/a.yml:2:18: x/.github/workflows/b.yml has no `workflow_call` in its `on`"
    ]


@pytest.mark.parametrize(
    ("called", "message"),
    [
        (None, "there is no .github/workflows/b.yml"),
        (b"on: [", ".github/workflows/b.yml has errors of its own"),
    ],
)
def test_a_call_of_an_absent_or_broken_file_is_an_error(
    called: bytes | None, message: str
) -> None:
    files = {
        ".github/workflows/a.yml": b"on: push\njobs: {a: {uses: ./.github/workflows/b.yml}}\n",
        ".github/workflows/b.yml": called,
    }
    assert [p.message for p in check_file(files.get, ".github/workflows/a.yml")] == [message]


def test_a_called_file_that_cannot_be_read_is_left_alone() -> None:
    def read(path: str) -> bytes:
        if path.endswith("b.yml"):
            raise PermissionError(13, "Permission denied", path)
        return b"on: push\njobs: {a: {uses: ./.github/workflows/b.yml}}\n"

    assert check_file(read, ".github/workflows/a.yml") == ()


def test_nothing_outside_of_the_workflows_folder_is_read_for_a_call() -> None:
    asked = []

    def read(path: str) -> bytes:
        asked.append(path)
        return b"on: push\njobs: {a: {uses: ./../../etc/passwd}}\n"

    check_file(read, ".github/workflows/a.yml")
    assert asked == [".github/workflows/a.yml"]


def test_a_file_that_cannot_be_read_is_a_problem() -> None:
    def read(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    assert [str(p) for p in check_file(read, "a.yml")] == [
        "a.yml: cannot be read: Permission denied"
    ]
    assert [str(p) for p in check_file(lambda _path: None, "a.yml")] == [
        "a.yml: there is no such file"
    ]


def test_a_workflow_that_is_called_action_yml_is_a_workflow() -> None:
    assert check_file(lambda _path: GOOD, ".github/workflows/action.yml") == ()
    assert check_file(lambda _path: GOOD, "some/action.yml") != ()
