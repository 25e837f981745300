from __future__ import annotations

import json

import pytest

from presubmit.results.lint import parse_lines, parse_pre_commit, parse_ruff_json


@pytest.mark.parametrize(
    ("line", "subject", "code", "number"),
    [
        ("a/b.py:3:1: F401 [*] `os` imported", "a/b.py: F401 `os` imported", "F401", 3),
        (
            "./a.py:3:80: E501 line too long (90 > 79)",
            "a.py: E501 line too long (90 > 79)",
            "E501",
            3,
        ),
        ("a.py:3: error: Bad thing  [assignment]", "a.py: assignment Bad thing", "assignment", 3),
        ("a.py:3:4: [C0103] naming", "a.py: C0103 naming", "C0103", 3),
        ("a.c:3:4: warning: narrow [bugprone-x]", "a.c: bugprone-x narrow", "bugprone-x", 3),
        ("a.py:3: teh ==> the", "a.py: teh ==> the", "", 3),
        ("a b.py:3:1: W291 x", "a b.py: W291 x", "W291", 3),
        ("/src/a.py:1:1: F811 `x` from line 10", "a.py: F811 `x` from line …", "F811", 1),
        ("\x1b[1ma.py\x1b[0m:3:1: F401 x", "a.py: F401 x", "F401", 3),
    ],
)
def test_a_line_is_a_finding(line: str, subject: str, code: str, number: int) -> None:
    (found,) = parse_lines(line, "tool", root="/src")
    assert (found.subject, found.code, found.line) == (subject, code, number)
    assert (found.kind, found.tool) == ("lint", "tool")


@pytest.mark.parametrize(
    "line",
    [
        "Found 3 errors.",
        "a.py:3: note: see here",
        "12:30: started",
        "http://example.org:80: refused",
        "-- Docs: x:1: y",
        "would reformat a.py",
        "",
    ],
)
def test_prose_is_no_finding(line: str) -> None:
    assert parse_lines(line, "tool") == ()


def test_ruffs_long_form_is_read() -> None:
    text = "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |        ^^\n"
    (found,) = parse_lines(text, "ruff")
    assert (found.subject, found.line) == ("a.py: F401 `os` imported but unused", 1)


def test_a_subject_stays_when_lines_move() -> None:
    (one,) = parse_lines("a.py:3:1: F811 redefined from line 1", "t")
    (two,) = parse_lines("a.py:9:1: F811 redefined from line 7", "t")
    assert one.subject == two.subject


def test_ruffs_json_is_read_among_other_output() -> None:
    items = [
        {"filename": "/src/a.py", "message": "m", "code": "D100", "location": {"row": 1}},
        {"filename": "/src/b.py", "message": "syntax", "code": None, "location": None},
        {"no": "finding"},
    ]
    text = f"warning: [x]\n{json.dumps(items)}\nafter"
    found = parse_ruff_json(text, kind="docs", root="/src")
    assert [(f.kind, f.subject, f.line) for f in found] == [
        ("docs", "a.py: D100 m", 1),
        ("docs", "b.py: syntax", None),
    ]


@pytest.mark.parametrize("text", ["", "[", "[[", "{}", "[" * 100_000, "[1]", "null"])
def test_what_is_no_json_gives_nothing(text: str) -> None:
    assert parse_ruff_json(text) == ()


PRE_COMMIT = """\
[INFO] Initializing environment for local.
check yaml...........................................(no files to check)Skipped
trim trailing whitespace.................................................Failed
- hook id: trailing-whitespace
- exit code: 1
- files were modified by this hook

Fixing a.txt

ruff.....................................................................Failed
- hook id: ruff
- duration: 0.02s
- exit code: 1

a.py:1:8: F401 [*] `os` imported but unused
Found 1 error.

mypy.....................................................................Passed
odd......................................................................Failed
- hook id: odd-hook
- exit code: 1

something is wrong
"""


def test_pre_commits_output_is_read() -> None:
    report = parse_pre_commit(PRE_COMMIT)
    assert report.passed == ("mypy",)
    assert report.skipped == ("check yaml",)
    assert report.failed == ("trailing-whitespace", "ruff", "odd-hook")
    assert report.modified == ("trailing-whitespace",)
    assert not report.broken
    assert [(f.tool, f.subject) for f in report.findings] == [
        ("trailing-whitespace", "trailing-whitespace: files were modified by this hook"),
        ("ruff", "a.py: F401 `os` imported but unused"),
        ("odd-hook", "odd-hook"),
    ]
    assert report.findings[-1].message == "something is wrong"


@pytest.mark.parametrize(
    "text",
    [
        "[INFO] Installing environment\nAn unexpected error has occurred: CalledProcessError: x",
        "An error has occurred: InvalidConfigError:\n=====> x",
        "==> x\n=====> InvalidConfigError",
        "lint......Failed\n- hook id: shellcheck\n- exit code: 1\n\nExecutable `shellcheck` not found\n",
        "[ERROR] Your pre-commit configuration is unstaged.",
    ],
)
def test_a_hook_that_could_not_work_is_told(text: str) -> None:
    report = parse_pre_commit(text)
    assert report.broken
    assert report.problem
