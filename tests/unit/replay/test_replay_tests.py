"""Test steps against a box that only pretends to run pytest: it writes the record and the JUnit file it is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit import values
from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.replay.assignment import Assignment, Lane
from presubmit.replay.perform import fallback
from presubmit.replay.reruns import outcomes, rerun
from presubmit.replay.steps import Bench
from presubmit.replay.tests import (
    only_coverage_failed,
    run_command,
    run_tests,
)
from presubmit.results.junit import write_junit
from presubmit.results.pytest_exit import Judged
from presubmit.values import (
    Case,
    CaseOutcome,
    Counts,
    Mode,
    Outcome,
    PlanStep,
    Rerun,
    Role,
    StepResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Pytest:
    """Our own Box protocol: each run of pytest gives each test its outcome, `p` or `f`, by the given table."""

    def __init__(self, *tables: Mapping[str, str], exit_code: int | None = None) -> None:
        self.tables = list(tables)
        self.exit_code = exit_code
        self.selections: list[dict[str, Any]] = []
        self.commands: list[tuple[str, ...]] = []
        self.environments: list[dict[str, str]] = []
        self.silent = False
        self.outcome = ExecOutcome.EXITED
        self.leaked: tuple[str, ...] = ()
        self.modules: dict[str, str | None] = {}

    @property
    def id(self) -> str:
        return "pretended:"

    def exec(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        **_: Any,
    ) -> ExecResult:
        self.commands.append(tuple(argv[4:]))
        self.environments.append(dict(env or {}))
        if "PRESUBMIT_SELECTION" not in (env or {}):
            return ExecResult(
                argv=tuple(argv),
                outcome=ExecOutcome.EXITED,
                exit_code=self.exit_code or 0,
                seconds=0,
            )
        selection = json.loads(Path((env or {})["PRESUBMIT_SELECTION"]).read_text())
        self.selections.append(selection)
        table = self.tables.pop(0)
        if selection["ids"]:
            table = {name: how for name, how in table.items() if name in selection["ids"]}
        code = self._write(selection, table)
        if self.exit_code is not None:
            code = self.exit_code
        return ExecResult(
            argv=tuple(argv),
            outcome=self.outcome,
            exit_code=code if self.outcome is ExecOutcome.EXITED else None,
            seconds=0.1,
            leaked=self.leaked,
        )

    def _write(self, selection: dict[str, Any], table: Mapping[str, str]) -> int:
        code = 5 if not table else int("f" in table.values())
        if self.silent:
            return code
        record = Path(selection["record"])
        if "recording" in selection:
            Path(selection["recording"]["file"]).write_text(
                '{"kind": "note", "p": "1-a", "text": "x"}\n'
            )
        events: list[dict[str, Any]] = [{"event": "session", "narrowed": True}]
        cases = []
        for name, how in table.items():
            outcome = {"p": "passed", "f": "failed", "s": "skipped"}[how]
            events += [
                {"event": "start", "id": name},
                {"event": "phase", "id": name, "when": "call", "outcome": outcome},
                {"event": "finish", "id": name},
            ]
            cases.append(Case(id=name, outcome=CaseOutcome(outcome)))
        missing = [name for name in selection["ids"] if name not in table]
        events.append({"event": "end", "exit": code, "missing": missing, "modules": self.modules})
        record.write_text("".join(json.dumps(event) + "\n" for event in events))
        write_junit(record.with_name("junit.xml"), [("pytest", cases)])
        return code

    def cut_network(self) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


def make_work(**given: Any) -> values.Tests:
    plain: dict[str, Any] = {"command": ("pytest",), "mode": Mode.SCOPED, "files": ("t.py",)}
    return values.Tests(**{**plain, **given})


def make_bench(
    tmp_path: Path,
    work: values.Tests,
    box: Pytest,
    *,
    env: Mapping[str, str] | None = None,
    modules: tuple[str, ...] = (),
) -> Bench:
    output = tmp_path / "output"
    output.mkdir()
    lane = Lane(
        name="head",
        box="pretended:",
        source="/src",
        environment="/env",
        output=str(output),
        plugin="/plugin",
        tools="/tools",
        python="python3",
        host_source=str(tmp_path / "source"),
        host_environment=str(tmp_path / "environment"),
        host_output=str(output),
        host_tools=str(tmp_path / "tools"),
        env=dict(env or {}),
    )
    step = PlanStep(id="tests.1", role=Role.TESTS, title="t", work=work, origin="o", why="w")
    assignment = Assignment(
        lane=lane,
        steps=(step,),
        folder=str(tmp_path / "run"),
        events=str(tmp_path / "events.jsonl"),
        modules=modules,
    )
    return Bench(assignment, step, box)


def run(tmp_path: Path, box: Pytest, **given: Any) -> StepResult:
    work = make_work(**given)
    bench = make_bench(tmp_path, work, box)
    first = run_tests(bench, work)

    def again(narrow: values.Tests, name: str) -> StepResult:
        bench.name = f"{name}.tests.1"
        return run_tests(bench, narrow)

    return msgspec.structs.replace(first, reruns=rerun(work, first, again))


A, B, C = "t.py::a", "t.py::b", "t.py::c[1]"


# --- one run --------------------------------------------------------------------------------------------------------


def test_a_green_shard_passes_and_its_files_are_kept(tmp_path: Path) -> None:
    result = run(tmp_path, Pytest({A: "p", B: "s"}))
    assert (result.outcome, result.counts, result.junit, result.reruns) == (
        Outcome.PASSED,
        Counts(passed=1, skipped=1),
        "junit/tests.1.xml",
        (),
    )
    assert (tmp_path / "run/records/tests.1.jsonl").is_file()
    assert list((tmp_path / "output").iterdir()) == []


def test_the_plugin_is_told_what_to_run(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    run(tmp_path, box, files=("t.py", "u.py"))
    assert [(it["mode"], it["files"], it["ids"], it["root"]) for it in box.selections] == [
        ("scoped", ["t.py", "u.py"], [], "/src")
    ]


@pytest.mark.parametrize(("ids", "mode"), [((), "all"), ((A,), "scoped")])
def test_a_whole_suite_is_not_narrowed_unless_by_ids(
    tmp_path: Path, ids: tuple[str, ...], mode: str
) -> None:
    box = Pytest({A: "p"})
    run(tmp_path, box, mode=Mode.ALL, files=(), ids=ids)
    assert [it["mode"] for it in box.selections] == [mode]


def test_what_the_user_gives_goes_to_the_command(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    result = run(tmp_path, box, arguments=("-k", "a"), exit_first=True)
    assert box.commands == [("pytest", "-k", "a", "-x")]
    assert result.command == ("pytest", "-k", "a", "-x")


def test_the_plugin_reaches_pytest_whoever_starts_it(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    work = make_work(on_path=True)
    env = {"PYTEST_ADDOPTS": "-q", "PYTHONPATH": "/mine"}
    run_command(make_bench(tmp_path, work, box, env=env), work, name="tests.1")
    (given,) = box.environments
    assert given["PYTEST_ADDOPTS"].startswith("-q -p presubmit_pytest_plugin --junitxml=")
    assert (given["PYTEST_PLUGINS"], given["PYTHONPATH"]) == (
        "presubmit_pytest_plugin",
        "/plugin:/src:/mine",
    )


def test_the_sources_are_not_on_the_path_where_something_is_installed(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    run(tmp_path, box)
    assert box.environments[0]["PYTHONPATH"] == "/plugin"


def test_built_modules_and_their_packages_are_watched(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    work = make_work()
    bench = make_bench(tmp_path, work, box, modules=("pkg._a", "pkg._b", "_top"))
    run_command(bench, work, name="tests.1")
    assert box.selections[0]["watch"] == ["pkg._a", "pkg._b", "_top", "pkg"]


def test_a_run_that_wrote_nothing_is_an_error(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    box.silent = True
    result = run(tmp_path, box)
    assert (result.outcome, result.cases, result.junit) == (Outcome.ERROR, (), "")


def test_a_shard_in_which_nothing_was_collected_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, Pytest({}))
    assert (result.outcome, result.reason) == (
        Outcome.ERROR,
        "no tests were collected though tests were chosen",
    )


def test_a_shard_that_took_too_long_is_an_error_and_not_run_again(tmp_path: Path) -> None:
    box = Pytest({A: "f"})
    box.outcome = ExecOutcome.TIMEOUT
    result = run(tmp_path, box)
    assert (result.outcome, len(box.selections)) == (Outcome.ERROR, 1)


def test_a_run_without_the_plugins_record_is_noted(tmp_path: Path) -> None:
    box = Pytest({A: "f"}, exit_code=1)
    box.silent = True
    work = make_work(retries=0)
    attempt = run_command(make_bench(tmp_path, work, box), work, name="tests.1")
    assert not attempt.narrowed
    assert "no record of the plugin: nothing proves which tests ran" in attempt.notes


def test_processes_that_outlive_the_tests_are_noted(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    box.leaked = ("sleep",)
    assert run(tmp_path, box).notes == ("processes outlived the tests and were ended: sleep",)


def test_the_installed_package_is_tested_from_a_tree_without_sources(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    run(tmp_path, box, off_path=True, project="x")
    assert box.commands[0][-1] == "x"
    assert box.selections[0]["root"] == str(tmp_path / "output/tree")


def test_tests_that_cannot_be_laid_apart_are_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, Pytest(exit_code=1), off_path=True)
    assert result.outcome is Outcome.ERROR
    assert "could not lay the tests apart" in result.reason


# --- reruns ---------------------------------------------------------------------------------------------------------


def test_a_failing_test_is_run_again_alone(tmp_path: Path) -> None:
    box = Pytest({A: "f", B: "p"}, {A: "f", B: "p"})
    result = run(tmp_path, box)
    assert result.reruns == (Rerun(id=A, alone="failed"),)
    assert [it["ids"] for it in box.selections] == [[], [A]]


def test_a_rerun_does_not_take_the_users_arguments(tmp_path: Path) -> None:
    box = Pytest({A: "f"}, {A: "f"})
    run(tmp_path, box, arguments=("-k", "a"), exit_first=True)
    assert box.commands == [("pytest", "-k", "a", "-x"), ("pytest",)]


def test_a_test_that_passes_alone_is_run_again_in_company(tmp_path: Path) -> None:
    box = Pytest({A: "f", B: "p"}, {A: "p"}, {A: "p", B: "p"})
    assert run(tmp_path, box).reruns == (Rerun(id=A, alone="passed", company="passed"),)
    assert [it["ids"] for it in box.selections] == [[], [A], []]


def test_a_test_that_fails_in_company_only_is_known_to(tmp_path: Path) -> None:
    box = Pytest({A: "f", B: "p"}, {A: "p"}, {A: "f", B: "p"})
    assert run(tmp_path, box).reruns == (Rerun(id=A, alone="passed", company="failed"),)


def test_a_test_that_was_alone_in_its_shard_has_had_its_company(tmp_path: Path) -> None:
    box = Pytest({A: "f"}, {A: "p"})
    assert run(tmp_path, box).reruns == (Rerun(id=A, alone="passed", company="passed"),)
    assert len(box.selections) == 2


def test_without_retries_nothing_is_run_again(tmp_path: Path) -> None:
    box = Pytest({A: "f"})
    assert run(tmp_path, box, retries=0).reruns == ()


def test_a_second_retry_is_for_those_that_still_fail(tmp_path: Path) -> None:
    box = Pytest({A: "f", B: "f"}, {A: "p", B: "f"}, {B: "f"}, {A: "f", B: "f"})
    result = run(tmp_path, box, retries=2)
    assert [it["ids"] for it in box.selections] == [[], [A, B], [B], []]
    assert result.reruns == (
        Rerun(id=A, alone="passed", company="failed"),
        Rerun(id=B, alone="failed"),
    )


def test_retries_end_when_every_failure_has_passed(tmp_path: Path) -> None:
    box = Pytest({A: "f"}, {A: "p"})
    run(tmp_path, box, retries=5)
    assert len(box.selections) == 2


def test_not_more_tests_are_run_again_than_configured(tmp_path: Path) -> None:
    box = Pytest({A: "f", B: "f", C: "f"}, {A: "f", B: "f"})
    result = run(tmp_path, box, max_retried=2)
    assert [rerun.id for rerun in result.reruns] == [A, B]


def test_a_rerun_that_gave_nothing_is_an_error(tmp_path: Path) -> None:
    class Broken(Pytest):
        def _write(self, selection: dict[str, Any], table: Mapping[str, str]) -> int:
            self.silent = bool(selection["ids"])
            return super()._write(selection, table)

    box = Broken({A: "f", B: "p"}, {A: "p"})
    assert run(tmp_path, box).reruns == (Rerun(id=A, alone="error"),)


# --- outcomes -------------------------------------------------------------------------------------------------------


def result_of(*cases: Case) -> StepResult:
    return StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.PASSED, cases=cases)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (CaseOutcome.PASSED, "passed"),
        (CaseOutcome.FAILED, "failed"),
        (CaseOutcome.ERROR, "failed"),
        (CaseOutcome.SKIPPED, "skipped"),
        (CaseOutcome.XFAILED, "passed"),
    ],
)
def test_an_outcome_has_a_word(outcome: CaseOutcome, word: str) -> None:
    assert outcomes(result_of(Case(id=A, outcome=outcome)), [A]) == {A: word}


def test_a_test_without_an_outcome_is_an_error() -> None:
    assert outcomes(result_of(), [A]) == {A: "error"}


# --- pure Python fallbacks ------------------------------------------------------------------------------------------

NATIVE = make_work(extensions_changed=True)
MODULES = ("pkg._fast",)


@pytest.mark.parametrize(
    ("work", "modules", "loaded"),
    [
        (make_work(), MODULES, [{"pkg": "/p.py", "pkg._fast": None}]),
        (NATIVE, (), [{"pkg": "/p.py"}]),
        (NATIVE, MODULES, [{"pkg": "/p.py", "pkg._fast": "/f.so"}]),
        (NATIVE, MODULES, [{"pkg": None, "pkg._fast": None}, {}]),
        (
            NATIVE,
            MODULES,
            [{"pkg": "/p.py", "pkg._fast": None}, {"pkg": "/p.py", "pkg._fast": "/f.so"}],
        ),
        (NATIVE, MODULES, []),
    ],
    ids=["no native change", "none built", "loaded", "package unused", "other shard", "none ran"],
)
def test_there_is_no_fallback(
    work: values.Tests, modules: tuple[str, ...], loaded: list[dict[str, str | None]]
) -> None:
    assert fallback(work, modules, loaded) == ""


def test_a_package_that_did_without_its_native_module_fell_back() -> None:
    loaded: list[dict[str, str | None]] = [{"pkg": "/p.py", "pkg._fast": None}, {}]
    assert fallback(NATIVE, ("pkg._fast", "other._x"), loaded) == (
        "the tests never loaded pkg._fast: they ran on a pure Python fallback, "
        "so they say nothing about the native change"
    )


def test_the_modules_that_were_loaded_are_told(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    box.modules = {"pkg._fast": "/f.so", "pkg": None}
    work = make_work()
    told = run_command(make_bench(tmp_path, work, box), work, name="tests.1").modules
    assert told == {"pkg._fast": "/f.so", "pkg": None}


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("FAIL Required test coverage of 90% not reached. Total coverage: 12.00%", True),
        ("Required test coverage of 90% reached. Total coverage: 95.00%", False),
        ("ERROR: Coverage failure: total of 12 is less than fail-under=90", True),
        ("1 passed", False),
    ],
)
def test_a_coverage_floor_that_is_not_met_is_told_from_other_failures(
    tail: str, *, expected: bool
) -> None:
    judged = Judged(outcome=Outcome.FAILED, cases=(Case(id="t", outcome=CaseOutcome.PASSED),))
    assert only_coverage_failed(judged, tail) is expected


def test_a_failing_test_is_never_taken_for_a_coverage_floor() -> None:
    judged = Judged(outcome=Outcome.FAILED, cases=(Case(id="t", outcome=CaseOutcome.FAILED),))
    tail = "FAIL Required test coverage of 90% not reached. Total coverage: 12.00%"
    assert only_coverage_failed(judged, tail) is False


# --- upstream's command ---------------------------------------------------------------------------------------------

UPSTREAMS = {"command": ("pytest", "--of-a-plugin"), "otherwise": ("pytest",)}


class Unusable(Pytest):
    """Pytest that runs no test by upstream's command: it ends with `code`, by a record of its own or without one."""

    def __init__(self, code: int, *, recorded: bool) -> None:
        super().__init__({A: "p"}, {A: "p"})
        self.code = code
        self.recorded = recorded

    def exec(self, argv: Sequence[str], **more: Any) -> ExecResult:
        if "--of-a-plugin" not in argv:
            return super().exec(argv, **more)
        selection = json.loads(Path(more["env"]["PRESUBMIT_SELECTION"]).read_text())
        self.commands.append(tuple(argv[4:]))
        if self.recorded:
            events = [{"event": "session"}, {"event": "end", "exit": self.code}]
            Path(selection["record"]).write_text("".join(f"{json.dumps(e)}\n" for e in events))
        return ExecResult(
            argv=tuple(argv),
            outcome=ExecOutcome.EXITED,
            exit_code=self.code,
            seconds=0.1,
            tail="pytest: error: unrecognized arguments: --of-a-plugin",
        )


@pytest.mark.parametrize(("code", "recorded"), [(4, False), (1, False), (5, True)])
def test_where_upstreams_command_runs_no_test_convention_does_and_a_note_says_so(
    tmp_path: Path, code: int, *, recorded: bool
) -> None:
    box = Unusable(code, recorded=recorded)
    result = run(tmp_path, box, **UPSTREAMS)
    assert (result.outcome, result.counts.passed) == (Outcome.PASSED, 1)
    assert [*box.commands] == [("pytest", "--of-a-plugin"), ("pytest",)]
    assert result.command == ("pytest",)
    assert result.notes[0].startswith("upstream's command runs no test here: pytest --of-a-plugin")


@pytest.mark.parametrize(("code", "recorded"), [(4, False), (5, True)])
def test_where_a_configured_command_runs_no_test_that_is_an_error(
    tmp_path: Path, code: int, *, recorded: bool
) -> None:
    result = run(tmp_path, Unusable(code, recorded=recorded), command=UPSTREAMS["command"])
    assert result.outcome is Outcome.ERROR


def test_a_failure_under_upstreams_command_is_none_of_the_command(tmp_path: Path) -> None:
    box = Pytest({A: "f"})
    assert run(tmp_path, box, retries=0, **UPSTREAMS).outcome is Outcome.FAILED
    assert box.commands == [("pytest", "--of-a-plugin")]


def test_a_run_that_was_ended_from_outside_is_not_repeated_by_convention(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    box.silent, box.outcome = True, ExecOutcome.TIMEOUT
    assert run(tmp_path, box, **UPSTREAMS).outcome is Outcome.ERROR
    assert len(box.commands) == 1


def test_plugins_that_a_variable_names_are_loaded_beside_ours(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    run(tmp_path, box, env=("PYTEST_PLUGINS=theirs",))
    assert box.environments[0]["PYTEST_PLUGINS"] == "presubmit_pytest_plugin,theirs"


# --- recording ------------------------------------------------------------------------------------------------------


def with_tracer(tmp_path: Path) -> None:
    folder = tmp_path / "environment/recorder"
    folder.mkdir(parents=True)
    (folder / "presubmit-ready").touch()


def test_a_recorded_run_is_told_how_and_its_recording_is_kept(tmp_path: Path) -> None:
    with_tracer(tmp_path)
    box = Pytest({A: "p"})
    result = run(tmp_path, box, record=60.0, project="sample")
    told = box.selections[0]["recording"]
    assert {k: v for k, v in told.items() if k != "file"} == {
        "root": "/src",
        "source": "/src",
        "coverage": "/env/recorder",
        "seconds": 60.0,
        "project": "sample",
    }
    assert box.environments[0]["PYTHONPATH"] == "/plugin/presubmit-recorder:/plugin"
    assert result.recording == "recordings/tests.1.jsonl"
    assert (tmp_path / "run" / result.recording).is_file()


def test_where_coverage_is_not_installed_a_note_is_all(tmp_path: Path) -> None:
    box = Pytest({A: "p"})
    result = run(tmp_path, box, record=60.0)
    assert "recording" not in box.selections[0]
    assert (result.outcome, result.recording) == (Outcome.PASSED, "")
    assert result.notes == (
        "nothing was recorded: coverage is not installed beside the environment (the next build installs it)",
    )


def test_a_rerun_records_nothing_and_is_known_to_follow_a_recorded_run(tmp_path: Path) -> None:
    with_tracer(tmp_path)
    box = Pytest({A: "f", B: "p"}, {A: "p"}, {A: "p", B: "p"})
    result = run(tmp_path, box, record=60.0, within=(A, B))
    assert ["recording" in it for it in box.selections] == [True, False, False]
    assert [it["within"] for it in box.selections] == [[A, B], [], [A, B]]
    assert result.reruns == (Rerun(id=A, alone="passed", company="passed", recorded=True),)
