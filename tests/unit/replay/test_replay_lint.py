"""Lint steps against a box that only pretends: what a tool prints and how it ends is given."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.replay.assignment import Assignment, Lane
from presubmit.replay.lint import (
    check_syntax,
    provide_tools,
    read_source,
    run_lint_command,
    run_syntax,
    split_hooks,
)
from presubmit.replay.steps import Bench, trouble
from presubmit.values import LintCommand, Outcome, PlanStep, Role, StepResult, Syntax, Work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MINOR = sys.version_info.minor


# --- syntax ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "floor"),
    [
        (b"x = 1\n", ""),
        (b"x = 1\n", "3.8"),
        (b"match x:\n    case 1: pass\n", "3.10"),
        (b"with (open(a) as f, open(b) as g): pass\n", "3.9"),
        (b"# -*- coding: latin-1 -*-\nx = '\xff'\n", "3.8"),
        (b"\xef\xbb\xbfx = 1\n", ""),
        (b"x = '\\d'\n", ""),
        (b"", "3.6"),
    ],
)
def test_a_file_that_parses_has_no_finding(source: bytes, floor: str) -> None:
    assert check_syntax("a.py", source, floor) == ([], [])


@pytest.mark.parametrize(
    ("source", "floor", "line"),
    [
        (b"x = \n", "", 1),
        (b"x = 1\n\ndef f(:\n", "3.9", 3),
        (b"match x:\n    case 1: pass\n", "3.9", 2),
        (b"try: pass\nexcept* E: pass\n", "3.10", 2),
        (b"(x := 1)\n", "3.7", 1),
        (b"print 'x'\n", "3.8", 1),
    ],
)
def test_a_file_that_does_not_parse_is_a_finding_on_its_line(
    source: bytes, floor: str, line: int
) -> None:
    (finding,), notes = check_syntax("a.py", source, floor)
    assert (finding.file, finding.line, notes) == ("a.py", line, [])
    assert finding.message.startswith(f"does not parse{f' at Python {floor}' if floor else ''}: ")


@pytest.mark.parametrize("source", [b"x = '\xff'\n", b"x = 1\x00\n"])
def test_a_file_that_is_no_text_is_a_finding(source: bytes) -> None:
    assert len(check_syntax("a.py", source, "")[0]) == 1


def test_a_file_for_a_newer_python_than_this_is_noted_where_it_does_not_parse() -> None:
    floor = f"3.{MINOR + 1}"
    assert check_syntax("a.py", b"type new syntax\n", floor) == (
        [],
        [f"a.py: not parsed, needs Python {floor} and this is 3.{MINOR}"],
    )


def test_a_file_for_a_newer_python_is_fine_where_it_parses() -> None:
    assert check_syntax("a.py", b"x = 1\n", f"3.{MINOR + 1}") == ([], [])


def test_a_file_that_is_nested_too_deeply_is_noted() -> None:
    findings, notes = check_syntax("a.py", b"x = " + b"-" * 200_000 + b"1\n", "")
    assert (findings, notes) == ([], ["a.py: nested too deeply to be parsed here"])


def test_a_source_is_read_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(b"x")
    (tmp_path / "link.py").symlink_to("real.py")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    with (tmp_path / "large.py").open("wb") as stream:
        stream.truncate((8 << 20) + 1)
    names = ("real.py", "link.py", "folder.py", "pipe.py", "large.py", "gone.py")
    assert [read_source(tmp_path, name) for name in names] == [
        (b"x", ""),
        (None, ""),
        (None, "not a plain file"),
        (None, "not a plain file"),
        (None, "not parsed: larger than 8 MiB"),
        (None, "No such file or directory"),
    ]


# --- hooks ----------------------------------------------------------------------------------------------------------


def test_each_hook_becomes_a_configuration_of_its_own() -> None:
    config = {
        "minimum_pre_commit_version": "3",
        "default_language_version": {"python": "python3"},
        "repos": [
            {"repo": "https://a", "rev": "1", "hooks": [{"id": "x"}, {"id": "y", "args": ["z"]}]},
            {"repo": "local", "hooks": [{"id": "mine"}]},
        ],
    }
    shared = {"default_language_version": {"python": "python3"}}
    assert split_hooks(config) == [
        ("x", {**shared, "repos": [{"repo": "https://a", "rev": "1", "hooks": [{"id": "x"}]}]}),
        (
            "y",
            {
                **shared,
                "repos": [
                    {"repo": "https://a", "rev": "1", "hooks": [{"id": "y", "args": ["z"]}]}
                ],
            },
        ),
        ("mine", {**shared, "repos": [{"repo": "local", "hooks": [{"id": "mine"}]}]}),
    ]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"repos": None},
        {"repos": ["x"]},
        {"repos": [{"repo": "a"}]},
        {"repos": [{"hooks": None}]},
        {"repos": [{"hooks": ["x", {"name": "no id"}]}]},
    ],
)
def test_a_configuration_without_hooks_gives_none(config: dict[str, Any]) -> None:
    assert split_hooks(config) == []


# --- a pretended box ------------------------------------------------------------------------------------------------


class Told:
    """What a command prints, and how it ends."""

    def __init__(
        self,
        printed: str = "",
        exit_code: int = 0,
        outcome: ExecOutcome = ExecOutcome.EXITED,
        reason: str = "",
    ) -> None:
        self.printed = printed
        self.exit_code = exit_code
        self.outcome = outcome
        self.reason = reason


class PretendedBox:
    """Our own Box protocol: commands do nothing but print what is given, in turn."""

    def __init__(self, *told: Told) -> None:
        self.told = list(told)
        self.commands: list[tuple[str, ...]] = []
        self.environments: list[dict[str, str]] = []

    @property
    def id(self) -> str:
        return "pretended:"

    def exec(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        **_: Any,
    ) -> ExecResult:
        self.commands.append(tuple(argv[4:]))
        self.environments.append(dict(env or {}))
        told = self.told.pop(0) if self.told else Told()
        with log.open("a") as stream:
            stream.write(told.printed)
        return ExecResult(
            argv=tuple(argv),
            outcome=told.outcome,
            exit_code=told.exit_code if told.outcome is ExecOutcome.EXITED else None,
            seconds=0.1,
            reason=told.reason,
            tail=told.printed[-4000:],
        )

    def cut_network(self) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


def make_bench(tmp_path: Path, work: Work, *told: Told) -> tuple[Bench, PretendedBox]:
    for name in ("source", "environment", "output", "tools"):
        (tmp_path / name).mkdir(exist_ok=True)
    lane = Lane(
        name="lint",
        box="pretended:",
        source="/src",
        environment="/env",
        output="/out",
        plugin="/plugin",
        tools="/tools",
        python="python3",
        host_source=str(tmp_path / "source"),
        host_environment=str(tmp_path / "environment"),
        host_output=str(tmp_path / "output"),
        host_tools=str(tmp_path / "tools"),
        env={},
    )
    step = PlanStep(id="lint.1", role=Role.LINT, title="lint", work=work, origin="o", why="w")
    assignment = Assignment(
        lane=lane,
        steps=(step,),
        folder=str(tmp_path / "run"),
        events=str(tmp_path / "events.jsonl"),
    )
    box = PretendedBox(*told)
    return Bench(assignment, step, box), box


def lint(tmp_path: Path, *told: Told, **given: Any) -> tuple[StepResult, PretendedBox]:
    plain: dict[str, Any] = {
        "command": ("ruff", "check"),
        "tool": "ruff",
        "files": ("a.py", "b c.py"),
    }
    work = LintCommand(**{**plain, **given})
    bench, box = make_bench(tmp_path, work, *told)
    return run_lint_command(bench, work), box


def test_a_syntax_step_reads_the_files_on_the_host(tmp_path: Path) -> None:
    work = Syntax(files=("good.py", "bad.py", "gone.py", "link.py"), floor="3.9")
    bench, box = make_bench(tmp_path, work)
    source = tmp_path / "source"
    (source / "good.py").write_text("x = 1\n")
    (source / "bad.py").write_text("x = \n")
    (source / "link.py").symlink_to("bad.py")
    result = run_syntax(bench, work)
    assert (result.outcome, [f.file for f in result.findings], result.notes, box.commands) == (
        Outcome.FAILED,
        ["bad.py"],
        ("gone.py: No such file or directory",),
        [],
    )


def test_files_that_all_parse_pass(tmp_path: Path) -> None:
    work = Syntax(files=("good.py",), floor="")
    bench, _ = make_bench(tmp_path, work)
    (tmp_path / "source/good.py").write_text("x = 1\n")
    assert run_syntax(bench, work).outcome is Outcome.PASSED


def test_a_tool_that_ends_well_passes(tmp_path: Path) -> None:
    result, box = lint(tmp_path, Told())
    assert (result.outcome, box.commands) == (
        Outcome.PASSED,
        [("ruff", "check", "a.py", "b c.py")],
    )


def test_a_tools_lines_are_findings(tmp_path: Path) -> None:
    result, _ = lint(tmp_path, Told("a.py:3:1: F401 unused\n", 1))
    assert [(f.file, f.line, f.code) for f in result.findings] == [("a.py", 3, "F401")]
    assert (result.outcome, result.reason) == (Outcome.FAILED, "1 finding")


def test_a_tool_that_fails_without_a_line_is_a_finding_itself(tmp_path: Path) -> None:
    result, _ = lint(tmp_path, Told("it is bad\n", 2))
    assert [(f.subject, f.message) for f in result.findings] == [
        ("lint", "lint: exit 2: it is bad")
    ]


@pytest.mark.parametrize("exit_code", [126, 127])
def test_a_tool_that_could_not_be_started_is_an_error(tmp_path: Path, exit_code: int) -> None:
    result, _ = lint(tmp_path, Told("sh: ruff: not found\n", exit_code))
    assert (result.outcome, result.findings) == (Outcome.ERROR, ())
    assert "could not be started" in result.reason


@pytest.mark.parametrize(
    ("outcome", "reason", "said"),
    [
        (ExecOutcome.TIMEOUT, "took longer than 5 s", "took longer than 5 s"),
        (ExecOutcome.OOM, "", "oom"),
        (ExecOutcome.START_FAILED, "", "start failed"),
    ],
)
def test_trouble_with_the_machine_is_an_error(
    tmp_path: Path, outcome: ExecOutcome, reason: str, said: str
) -> None:
    result, _ = lint(tmp_path, Told("a.py:1:1: E1 x\n", 1, outcome, reason))
    assert (result.outcome, result.reason, result.findings) == (Outcome.ERROR, said, ())


def test_a_configured_command_gets_the_files_as_arguments_never_as_text(tmp_path: Path) -> None:
    _, box = lint(
        tmp_path, command=("sh", "-c", "flake8 {files} | cat"), tool="command", files=("$(x).py",)
    )
    assert box.commands == [("sh", "-c", 'flake8 "$@" | cat', "sh", "$(x).py")]


def test_a_configured_command_without_files_is_run_as_it_is(tmp_path: Path) -> None:
    _, box = lint(tmp_path, command=("sh", "-c", "make lint"), tool="command")
    assert box.commands == [("sh", "-c", "make lint")]


def test_a_file_whose_name_is_not_utf_8_is_left_out_and_noted(tmp_path: Path) -> None:
    result, box = lint(tmp_path, files=("a.py", "\udcff.py"))
    assert box.commands == [("ruff", "check", "a.py")]
    assert "its name is not UTF-8" in result.notes[0]


def test_without_a_file_that_can_be_named_the_step_is_skipped(tmp_path: Path) -> None:
    result, box = lint(tmp_path, files=("\udcff.py",))
    assert (result.outcome, box.commands) == (Outcome.SKIPPED, [])


# --- tools ----------------------------------------------------------------------------------------------------------


def make_venv(tmp_path: Path) -> None:
    for folder in (tmp_path / "tools").iterdir():
        (folder / "venv").mkdir()


def test_tools_are_installed_in_an_environment_of_their_own(tmp_path: Path) -> None:
    bench, box = make_bench(tmp_path, Syntax(files=(), floor=""), Told(), Told())
    marker = tmp_path / "tools"
    inside = "/tools/"
    name = __import__("hashlib").sha256(b"ruff>=0.12").hexdigest()[:12]
    (marker / name / "venv").mkdir(parents=True)
    assert provide_tools(bench, ("ruff>=0.12",), 60.0) == (f"{inside}{name}", "")
    assert [command[:3] for command in box.commands] == [
        ("python3", "-m", "venv"),
        (f"/tools/{name}/venv/bin/python", "-I", "-m"),
    ]
    assert provide_tools(bench, ("ruff>=0.12",), 60.0) == (f"{inside}{name}", "")
    assert len(box.commands) == 2


def test_tools_that_cannot_be_installed_are_an_error(tmp_path: Path) -> None:
    result, _ = lint(
        tmp_path, Told(), Told("ERROR: no matching distribution\n", 1), requirements=("ruff",)
    )
    assert (result.outcome, result.reason) == (
        Outcome.ERROR,
        "could not install ruff: ERROR: no matching distribution",
    )


def test_a_step_without_tools_uses_the_lanes_environment(tmp_path: Path) -> None:
    bench, _ = make_bench(tmp_path, Syntax(files=(), floor=""))
    assert provide_tools(bench, (), 60.0) == ("/env", "")


# --- pre-commit -----------------------------------------------------------------------------------------------------

FAILED_HOOK = """\
check yaml...............................................................Passed
ruff.....................................................................Failed
- hook id: ruff
- exit code: 1

a.py:3:1: F401 unused

"""
BROKEN = "An unexpected error has occurred: CalledProcessError\n"
ONE_HOOK = "{}.....................................................................{}\n"


def pre_commit(tmp_path: Path, *told: Told, hooks: Sequence[str] = ()) -> StepResult:
    (tmp_path / "source").mkdir()
    config = {"repos": [{"repo": "local", "hooks": [{"id": name} for name in hooks]}]}
    (tmp_path / "source/.pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    return lint(tmp_path, *told, command=("pre-commit",), tool="pre-commit")[0]


def test_hooks_that_all_pass_pass(tmp_path: Path) -> None:
    assert pre_commit(tmp_path, Told("x....Passed\n")).outcome is Outcome.PASSED


def test_a_hook_that_fails_gives_its_lines_as_findings(tmp_path: Path) -> None:
    result = pre_commit(tmp_path, Told(FAILED_HOOK, 1))
    assert (result.outcome, result.reason) == (Outcome.FAILED, "failed: ruff")
    assert [(f.file, f.line, f.tool) for f in result.findings] == [("a.py", 3, "ruff")]


def test_a_failure_without_a_hook_is_a_finding_all_the_same(tmp_path: Path) -> None:
    result = pre_commit(tmp_path, Told("odd\n", 1))
    assert (result.outcome, [f.subject for f in result.findings]) == (
        Outcome.FAILED,
        ["pre-commit"],
    )


def test_where_one_hook_cannot_be_installed_the_others_still_count(tmp_path: Path) -> None:
    result = pre_commit(
        tmp_path,
        Told(BROKEN, 3),
        Told(BROKEN, 3),
        Told(FAILED_HOOK, 1),
        Told(ONE_HOOK.format("c", "Passed")),
        hooks=("lost", "ruff", "c"),
    )
    assert (result.outcome, result.reason) == (Outcome.FAILED, "failed: ruff; not run: lost")
    assert result.notes[0].startswith("pre-commit said: ")


def test_a_hook_that_cannot_be_installed_is_never_green(tmp_path: Path) -> None:
    result = pre_commit(
        tmp_path,
        Told(BROKEN, 3),
        Told(BROKEN, 3),
        Told(ONE_HOOK.format("c", "Passed")),
        hooks=("lost", "c"),
    )
    assert (result.outcome, result.reason) == (
        Outcome.SKIPPED,
        "hooks that could not be installed: lost",
    )


def test_hooks_that_all_pass_one_by_one_pass(tmp_path: Path) -> None:
    result = pre_commit(tmp_path, Told(BROKEN, 3), Told("c....Passed\n"), hooks=("c",))
    assert result.outcome is Outcome.PASSED


@pytest.mark.parametrize("text", ["", "[", "- x"])
def test_a_broken_configuration_is_never_green(tmp_path: Path, text: str) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/.pre-commit-config.yaml").write_text(text)
    result, _ = lint(tmp_path, Told(BROKEN, 1), command=("pre-commit",), tool="pre-commit")
    assert (result.outcome, result.reason) == (
        Outcome.SKIPPED,
        "hooks that could not be installed: all",
    )


def test_trouble_while_hooks_run_is_an_error(tmp_path: Path) -> None:
    result = pre_commit(tmp_path, Told("", 0, ExecOutcome.TIMEOUT, "too slow"))
    assert (result.outcome, result.reason) == (Outcome.ERROR, "too slow")


def test_a_command_that_ended_by_itself_is_no_trouble() -> None:
    done = ExecResult(argv=(), outcome=ExecOutcome.EXITED, exit_code=1, seconds=0.0)
    assert trouble(done) == ""
