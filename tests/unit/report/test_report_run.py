"""What a whole run looks like in report.md, in a plain terminal, on GitHub Actions and in run.json.

The golden files in tests/data/golden are rewritten with PRESUBMIT_UPDATE_GOLDEN=1; review reads the difference.
"""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from presubmit import __version__, values
from presubmit.container.model import ImageRef
from presubmit.report.folder import write_json
from presubmit.report.machine import RunFacts, failed_to_run, interrupted, now, run_json
from presubmit.report.markdown import render_report
from presubmit.report.plan import plan_json, render_plan
from presubmit.report.terminal import (
    Terminal,
    choose_output,
    closing_line,
    duration,
    expected_in_words,
    finding_line,
    is_ci,
    next_command,
    reproduces_in_words,
    selection_in_words,
    wants_colour,
    what_came_of,
)
from presubmit.values import (
    Base,
    Build,
    Case,
    CaseOutcome,
    Change,
    ChangedFile,
    ChosenTest,
    Counts,
    Failure,
    FailureClass,
    FileStatus,
    Finding,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Reason,
    Reproduces,
    Role,
    Selection,
    State,
    StepResult,
    Syntax,
    Target,
    TargetKind,
    Tier,
    Verdict,
    decode,
)

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
# The session's fixtures take PRESUBMIT_ variables away, so this is read before they run.
UPDATE = os.environ.get("PRESUBMIT_UPDATE_GOLDEN") == "1"


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


# --- a run ----------------------------------------------------------------------------------------------------------

CHANGE = Change(
    top="/home/me/escape",
    common_dir="/home/me/escape/.git",
    branch="mend-escape",
    target=Target(
        kind=TargetKind.WORKTREE,
        commit="1" * 40,
        tree="5f2c9e1" + "0" * 33,
        snapshot="2" * 40,
        dirty=("src/escape/core.py",),
        untracked=("tests/test_new.py",),
    ),
    base=Base(
        ref="upstream/main",
        commit="80d9729" + "0" * 33,
        tree="3" * 40,
        how="remote upstream",
        behind=14,
        warning="upstream/main is 9 days old",
    ),
    files=(
        ChangedFile(path="src/escape/core.py", status=FileStatus.MODIFIED),
        ChangedFile(path="tests/test_new.py", status=FileStatus.ADDED),
    ),
)
SELECTION = Selection(
    mode=Mode.SCOPED,
    tests=(
        ChosenTest(
            path="tests/test_escape.py",
            reasons=(Reason(rule="imports", text="imports escape.core, which changed"),),
        ),
        ChosenTest(path="tests/test_new.py", reasons=()),
    ),
    known=20,
    unsure=("conftest.py names a module that is not there",),
    unreached=("src/escape/_old.py",),
    why="2 of 20 test files can be affected",
)


def step(name: str, role: Role, title: str, work: values.Work, seconds: float) -> PlanStep:
    return PlanStep(
        id=name, role=role, title=title, work=work, origin="o", why="w", expected_seconds=seconds
    )


SHARD = values.Tests(command=("pytest",), mode=Mode.SCOPED, files=("tests/test_escape.py",))
PLAN = Plan(
    tier=Tier.STANDARD,
    steps=(
        step("lint.1", Role.LINT, "syntax", Syntax(files=("a.py",), floor="3.9"), 0.1),
        step("lint.2", Role.LINT, "ruff", Syntax(files=(), floor=""), 1.0),
        step("build.1", Role.BUILD, "build (extension modules)", Build(mode="editable"), 40.0),
        step("tests.1", Role.TESTS, "tests", SHARD, 62.0),
    ),
    left_out=("docstrings: no public definition changed",),
    budget_cut=("tests/test_slow.py",),
)
RESULTS = (
    StepResult(
        id="lint.1", role=Role.LINT, outcome=Outcome.PASSED, seconds=0.04, origin="convention"
    ),
    StepResult(
        id="lint.2",
        role=Role.LINT,
        outcome=Outcome.FAILED,
        reason="1 findings",
        seconds=1.9,
        command=("ruff", "check", "src/escape/core.py"),
        origin="convention: the project's ruff settings",
        findings=(
            Finding(
                kind="lint",
                subject="src/escape/core.py: F401 unused",
                tool="ruff",
                message="unused",
                file="src/escape/core.py",
                line=3,
                code="F401",
            ),
        ),
        advice=(
            Finding(
                kind="docs",
                subject="s",
                tool="ruff",
                message="no docstring",
                file="src/escape/core.py",
                code="D103",
            ),
        ),
    ),
    StepResult(
        id="build.1",
        role=Role.BUILD,
        outcome=Outcome.PASSED,
        cached=True,
        modules=("escape._core",),
        origin="pyproject.toml [build-system]",
    ),
    StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.FAILED,
        reason="2 tests failed",
        seconds=69.2,
        command=("pytest",),
        origin="ci.yml:31",
        log="logs/tests.1.log",
        counts=Counts(passed=21, failed=2, skipped=1),
        cases=(
            Case(id="tests/test_escape.py::test_ok", outcome=CaseOutcome.PASSED),
            Case(id="tests/test_escape.py::test_html[<b>]", outcome=CaseOutcome.FAILED),
        ),
        notes=("processes outlived the tests and were ended: sleep",),
    ),
)
FAILURES = (
    Failure(
        kind="test",
        subject="tests/test_io.py::test_mmap",
        step="tests.1",
        label=FailureClass.ON_BASE,
        base="failed",
        message="OSError: no",
        detail="fails the same way on the base",
        repro="presubmit run --only tests -- tests/test_io.py::test_mmap",
    ),
    Failure(
        kind="test",
        subject="tests/test_escape.py::test_html[<b>]",
        step="tests.1",
        label=FailureClass.NEW,
        base="passed",
        message="AssertionError: assert '<b>' == '&lt;b&gt;'",
        detail="again on head: failed",
        file="tests/test_escape.py",
        line=12,
        repro="presubmit run --only tests -- 'tests/test_escape.py::test_html[<b>]'",
    ),
    Failure(
        kind="lint",
        subject="src/escape/core.py:3",
        step="lint.2",
        label=FailureClass.UNKNOWN,
        base="not run",
        message="F401 unused",
        file="src/escape/core.py",
        line=3,
        repro="presubmit run --only lint.2",
    ),
    Failure(
        kind="test",
        subject="tests/test_pool.py::test_race",
        step="tests.1",
        label=FailureClass.FLAKY,
        base="not run",
        message="",
        detail="failed, then passed in the same setting",
    ),
)
VERDICT = Verdict(
    state=State.FAILED,
    exit_code=1,
    failures=FAILURES,
    reproduces=(
        Reproduces(test="tests/test_new.py::test_x", fails_without_change=True),
        Reproduces(
            test="tests/test_new.py::test_y", fails_without_change=None, reason="no result"
        ),
    ),
    not_run=("1 of 2 affected test files not run: budget",),
    notes=RESULTS[3].notes,
)
ENVIRONMENT = {
    "kind": "container",
    "image": "devel:bookworm",
    "image_id": "sha256:1c2e",
    "engine": "docker 20.10",
    "python": "3.11.2",
}
HOST = {"kind": "host", "image": None, "image_id": None, "engine": None, "python": "3.11.2"}
IMAGE = ImageRef(name="devel:bookworm", id="sha256:1c2e" + "0" * 60, origin="config")


def facts(**given: Any) -> RunFacts:
    plain: dict[str, Any] = {
        "started": "2026-01-01T00:00:00Z",
        "pid": 1,
        "process": "1:2",
        "boot": "b",
        "change": CHANGE,
        "selection": SELECTION,
        "plan": PLAN,
        "environment": ENVIRONMENT,
    }
    return RunFacts(**{**plain, **given})


def shown(output: str = "plain", verdict: Verdict = VERDICT, *results: StepResult) -> str:
    """Give what a terminal without a tty shows of a whole run."""
    stream = io.StringIO()
    with Terminal(output, stream) as terminal:
        terminal.heading(CHANGE, IMAGE, "")
        terminal.plan(PLAN, CHANGE, SELECTION)
        for result in results or RESULTS:
            terminal.started(result.id)
            terminal.progressed(result.id, "on its way")
            terminal.ended(result)
        folder = Path(CHANGE.top) / ".presubmit/runs/r"
        terminal.verdict(verdict, 69.2, folder, Path(CHANGE.top))
    return stream.getvalue()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CI", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


# --- golden files ---------------------------------------------------------------------------------------------------


def test_the_report_of_a_red_run() -> None:
    check_golden("report.md", render_report(facts(), RESULTS, VERDICT, 69.2))


def test_the_report_of_a_run_with_nothing_to_check() -> None:
    empty = facts(
        change=Change(
            top="/t",
            common_dir="/t/.git",
            branch=None,
            target=Target(kind=TargetKind.COMMIT, commit="c", tree="t", snapshot="s"),
            base=CHANGE.base,
            files=(),
        ),
        selection=Selection(mode=Mode.NONE, tests=(), known=0, why="nothing changed"),
        plan=Plan(tier=Tier.STANDARD, steps=(), left_out=("everything: the change is empty",)),
        environment=HOST,
    )
    text = render_report(empty, (), Verdict(state=State.NOTHING, exit_code=0), 0.4)
    check_golden("report-nothing.md", text)


def test_the_plain_terminal_of_a_red_run() -> None:
    check_golden("terminal-plain.txt", shown())


def test_the_terminal_of_a_red_run_on_github_actions() -> None:
    check_golden("terminal-github.txt", shown("github"))


def test_a_quiet_terminal_says_nothing() -> None:
    assert shown("quiet") == ""


def test_a_plan_for_the_eye() -> None:
    check_golden("plan.txt", render_plan(CHANGE, PLAN, SELECTION))


def test_a_plan_without_steps_says_that_nothing_runs() -> None:
    plan = Plan(tier=Tier.STANDARD, steps=(), left_out=("everything: the change is empty",))
    said = render_plan(CHANGE, plan, Selection(mode=Mode.NONE, tests=(), known=0))
    assert "  nothing to run\n" in said
    assert said.endswith("\nwould run 0 steps\n")


def test_a_plan_names_the_nearest_tests_only() -> None:
    tests = tuple(ChosenTest(path=f"t{n}.py", reasons=()) for n in range(30))
    said = render_plan(CHANGE, PLAN, Selection(mode=Mode.SCOPED, tests=tests, known=30))
    assert "and 10 more: presubmit select" in said


def test_a_plan_for_programs_holds_change_selection_and_plan() -> None:
    made = plan_json(CHANGE, PLAN, SELECTION)
    assert decode(json.dumps(made["plan"]).encode(), Plan) == PLAN
    assert set(made) == {"change", "selection", "plan"}


# --- hostile texts --------------------------------------------------------------------------------------------------

HOSTILE = [
    "x\n::error::owned",
    "x\r::error::owned",
    "x\u2028::error::owned",
    "::error::owned",
    "##[set-env name=PATH]owned",
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b2J",
    "\u202eowned\u2066\u200f",
    "a`b``c` **x** <img src=x onerror=y> <!-- & | [l](u)",
    "\n# heading\n\n- [x] ticked\n```\n",
    "\udcff\udc80",
    "x" * 100_000,
    "tests/test_a.py::test_" + "[%s]" * 2000,
]


def hostile_result(text: str) -> StepResult:
    found = Finding(kind="lint", subject=text, tool=text, message=text, file=text, code=text)
    return StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.FAILED,
        reason=text,
        command=(text,),
        origin=text,
        cases=(Case(id=text, outcome=CaseOutcome.FAILED, message=text),),
        findings=(found,),
        advice=(found,),
        notes=(text,),
        modules=(text,),
    )


def hostile_verdict(text: str) -> Verdict:
    failure = Failure(
        kind="test",
        subject=text,
        step="tests.1",
        label=FailureClass.NEW,
        base="passed",
        message=text,
        detail=text,
        file=text,
        line=1,
        repro=text,
    )
    return Verdict(
        state=State.FAILED,
        exit_code=1,
        failures=(failure,),
        reproduces=(Reproduces(test=text, fails_without_change=None, reason=text),),
        not_run=(text,),
        notes=(text,),
    )


def hostile_facts(text: str) -> RunFacts:
    selection = Selection(
        mode=Mode.SCOPED,
        tests=(ChosenTest(path=text, reasons=(Reason(rule="r", text=text),)),),
        known=1,
        unsure=(text,),
        unreached=(text,),
        why=text,
    )
    change = Change(
        top="/t",
        common_dir="/t/.git",
        branch=text,
        target=Target(
            kind=TargetKind.WORKTREE,
            commit=None,
            tree="t",
            snapshot="s",
            dirty=(text,),
            untracked=(text,),
        ),
        base=Base(ref=text, commit="c", tree="t", how=text, warning=text),
        files=(ChangedFile(path=text, status=FileStatus.ADDED),),
    )
    plan = Plan(tier=Tier.STANDARD, steps=PLAN.steps, left_out=(text,), budget_cut=(text,))
    environment = dict.fromkeys(ENVIRONMENT, text)
    return facts(change=change, selection=selection, plan=plan, environment=environment)


def hostile_terminal(output: str, text: str) -> str:
    given = hostile_facts(text)
    image = ImageRef(name=text, id=text, origin=text)
    stream = io.StringIO()
    with Terminal(output, stream) as terminal:
        terminal.heading(given.change, image, text)
        terminal.plan(given.plan, given.change, given.selection)
        terminal.started("tests.1")
        terminal.progressed("tests.1", text)
        terminal.ended(hostile_result(text))
        terminal.verdict(hostile_verdict(text), 1.0, Path("/t/r"), Path("/t"))
    return stream.getvalue()


HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("output", ["plain", "github"])
def test_no_text_of_others_steers_a_terminal(output: str, text: str) -> None:
    assert not HARMFUL.search(hostile_terminal(output, text))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("output", ["plain", "github"])
def test_no_text_of_others_gives_the_runner_a_command(output: str, text: str) -> None:
    said = hostile_terminal(output, text)
    commands = [line for line in said.splitlines() if line.lstrip().startswith("::")]
    ours = [line for line in commands if re.match(r"::error file=[^:]*,line=1::NEW ", line)]
    assert ours == commands
    assert len(commands) == (1 if output == "github" else 0)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_gives_the_runner_a_command_of_the_old_form(text: str) -> None:
    said = hostile_terminal("github", text)
    plain = [line for line in said.splitlines() if not line.startswith("::")]
    assert not [line for line in plain if "##[" in line]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_adds_a_line_to_the_terminal(text: str) -> None:
    assert hostile_terminal("plain", text).count("\n") == hostile_terminal("plain", "x").count(
        "\n"
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_adds_a_line_to_a_plan(text: str) -> None:
    def render(text: str) -> str:
        given = hostile_facts(text)
        return render_plan(given.change, given.plan, given.selection)

    assert render(text).count("\n") == render("x").count("\n")
    assert not HARMFUL.search(render(text))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_adds_a_line_to_the_report(text: str) -> None:
    def render(text: str) -> str:
        return render_report(
            hostile_facts(text), [hostile_result(text)], hostile_verdict(text), 1.0
        )

    said = render(text)
    assert said.count("\n") == render("x").count("\n")
    assert not HARMFUL.search(said)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_others_is_html_in_the_report(text: str) -> None:
    said = render_report(hostile_facts(text), [hostile_result(text)], hostile_verdict(text), 1.0)
    outside_code = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", said)
    assert "<" not in outside_code


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_table_row_has_five_cells_whatever_it_shows(text: str) -> None:
    said = render_report(hostile_facts(text), [hostile_result(text)], hostile_verdict(text), 1.0)
    (row,) = [line for line in said.splitlines() if line.startswith("| tests.1 ")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 6


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_run_json_holds_any_text(tmp_path: Path, text: str) -> None:
    run = run_json(
        hostile_facts(text), [hostile_result(text)], hostile_verdict(text), running=False
    )
    write_json(tmp_path / "run.json", run)
    assert json.loads((tmp_path / "run.json").read_text())["failures"][0]["subject"] == text


# --- run.json -------------------------------------------------------------------------------------------------------

SCHEMA: dict[str, Any] = {
    "schema": 1,
    "tool": "",
    "started": "",
    "ended": "",
    "pid": 1,
    "boot": "",
    "state": "",
    "exit": 0,
    "tier": "",
    "target": {"kind": "", "commit": "", "tree": "", "dirty": [""], "untracked": [""]},
    "base": {"ref": "", "commit": "", "how": ""},
    "environment": {"kind": "", "image": "", "image_id": "", "engine": "", "python": ""},
    "selection": {"mode": "", "chosen": 1, "known": 1, "unsure": [""]},
    "steps": [
        {
            "id": "",
            "role": "",
            "required": True,
            "outcome": "",
            "reason": "",
            "command": [""],
            "origin": "",
            "seconds": 1.0,
            "log": "",
            "counts": {"passed": 1, "failed": 1, "errors": 1, "skipped": 1},
        }
    ],
    "failures": [
        {
            "kind": "",
            "subject": "",
            "file": "",
            "line": 1,
            "step": "",
            "class": "",
            "base": "",
            "message": "",
            "repro": "",
        }
    ],
    "reproduces": [{"test": "", "fails_without_change": True}],
}


def missing(schema: Any, found: Any, where: str = "run") -> list[str]:
    """Name what of the schema is not there, or of another type."""
    match schema:
        case dict():
            if not isinstance(found, dict):
                return [where]
            lost = [f"{where}.{key}" for key in schema if key not in found]
            inner = (key for key in schema if key in found)
            return [
                *lost,
                *(it for k in inner for it in missing(schema[k], found[k], f"{where}.{k}")),
            ]
        case list():
            if not isinstance(found, list):
                return [where]
            return [it for one in found for it in missing(schema[0], one, where)]
        case _:
            return [] if isinstance(found, type(schema)) else [where]


def test_run_json_has_every_key_of_schema_1() -> None:
    run = run_json(facts(), RESULTS[1:], VERDICT, running=False)
    lost = missing(SCHEMA, json.loads(json.dumps(run)))
    # A test's place and what a new test reproduces may be unknown.
    assert set(lost) <= {"run.failures.line", "run.reproduces.fails_without_change"}


def test_a_run_says_how_it_ended() -> None:
    run = run_json(facts(), RESULTS, VERDICT, running=False)
    assert (run["tool"], run["state"], run["exit"], run["not_run"]) == (
        __version__,
        "failed",
        1,
        ["1 of 2 affected test files not run: budget"],
    )


def test_a_step_says_what_it_ran_and_gave() -> None:
    run = run_json(facts(), RESULTS, VERDICT, running=False)
    tests = run["steps"][3]
    assert (tests["outcome"], tests["command"], tests["origin"], tests["counts"]) == (
        "failed",
        ["pytest"],
        "ci.yml:31",
        {"passed": 21, "failed": 2, "errors": 0, "skipped": 1},
    )


def test_a_run_that_goes_on_has_no_end() -> None:
    run = run_json(facts(), RESULTS[:1], None, running=True)
    assert (run["state"], run["exit"], run["ended"], run["failures"], len(run["steps"])) == (
        "running",
        None,
        None,
        [],
        1,
    )


@pytest.mark.parametrize(
    ("told", "wanted"),
    [("3.11.2", "3.11.2"), ("3.14.0rc1", "3.14.0rc1"), ("", None), ("</details>", None)],
)
def test_the_tests_say_which_python_they_ran_on(told: str, wanted: str | None) -> None:
    result = msgspec.structs.replace(RESULTS[0], python=told)
    boxed = facts(environment={**ENVIRONMENT, "python": None})
    run = run_json(boxed, [RESULTS[1], result], VERDICT, running=False)
    assert run["environment"]["python"] == wanted


def test_an_interrupted_run_keeps_what_was_measured() -> None:
    run = interrupted(run_json(facts(), RESULTS, None, running=True), exit_code=130)
    assert (run["state"], run["exit"], len(run["steps"])) == ("interrupted", 130, 4)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run["ended"])


def test_a_run_that_could_not_go_on_says_why() -> None:
    run = failed_to_run(run_json(facts(), (), None, running=True), "no image", exit_code=3)
    assert (run["state"], run["exit"], run["not_run"]) == ("error", 3, ["no image"])


def test_times_are_in_utc() -> None:
    assert now().endswith("Z")


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0s"),
        (0.44, "0.4s"),
        (59.9, "59.9s"),
        (60.0, "1m00s"),
        (69.2, "1m09s"),
        (3600.0, "60m00s"),
    ],
)
def test_a_duration_is_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_duration_that_rounds_to_a_minute_is_one() -> None:
    assert duration(59.97) == "1m00s"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.PASSED, "PASSED in 1.0s   (exit 0)"),
        (State.NOTHING, "nothing to check in 1.0s   (exit 0)"),
        (State.ERROR, "COULD NOT TEST in 1.0s   (exit 0)"),
        (State.INCOMPLETE, "INCOMPLETE in 1.0s   (exit 0)"),
        (State.INTERRUPTED, "INTERRUPTED in 1.0s   (exit 0)"),
        (State.RUNNING, "RUNNING in 1.0s   (exit 0)"),
    ],
)
def test_every_state_has_a_word(state: State, words: str) -> None:
    assert closing_line(Verdict(state=state, exit_code=0), 1.0) == words


def test_the_closing_line_counts_failures_by_class() -> None:
    assert closing_line(VERDICT, 69.2) == (
        "FAILED in 1m09s: 1 new failure, 1 unknown, 1 on base, 1 flaky, 1 not run   (exit 1)"
    )


def test_several_new_failures_are_failures() -> None:
    verdict = Verdict(state=State.FAILED, exit_code=1, failures=(FAILURES[1], FAILURES[1]))
    assert "2 new failures" in closing_line(verdict, 1.0)


@pytest.mark.parametrize(
    ("verdict", "command"),
    [
        (VERDICT, "presubmit run --last-failed"),
        (Verdict(state=State.ERROR, exit_code=3), "presubmit doctor"),
        (Verdict(state=State.PASSED, exit_code=0), ""),
        (Verdict(state=State.PASSED, exit_code=0, failures=FAILURES[:1]), ""),
    ],
)
def test_the_next_command_is_named(verdict: Verdict, command: str) -> None:
    assert next_command(verdict) == command


def test_a_plan_names_what_the_budget_cut_and_counts_the_other_shards() -> None:
    cut = tuple(f"tests/test_{letter}.py" for letter in "abcde")
    plan = msgspec.structs.replace(PLAN, budget_cut=cut, elsewhere=("tests/test_new.py",))
    stream = io.StringIO()
    with Terminal("plain", stream) as terminal:
        terminal.plan(plan, CHANGE, SELECTION)
    said = [line.strip() for line in stream.getvalue().splitlines()]
    assert "cut by the budget: tests/test_c.py" in said
    assert "cut by the budget: and 2 more" in said
    assert "1 affected test file in other shards: not run here" in said
    assert "1 affected test file in other shards: not run here" in render_plan(
        CHANGE, plan, SELECTION
    )


def test_a_new_lint_finding_leads_to_lint() -> None:
    failure = Failure(kind="lint", subject="s", step="x", label=FailureClass.NEW, base="passed")
    verdict = Verdict(state=State.FAILED, exit_code=1, failures=(failure,))
    assert next_command(verdict) == "presubmit run --only lint"


def running(**given: Any) -> Plan:
    """Plan one test step."""
    work = msgspec.structs.replace(SHARD, **given)
    return Plan(tier=Tier.STANDARD, steps=(step("tests.1", Role.TESTS, "tests", work, 1.0),))


@pytest.mark.parametrize(
    ("selection", "plan", "words"),
    [
        (SELECTION, Plan(tier=Tier.STANDARD, steps=()), "2 of 20 files"),
        (SELECTION, PLAN, "1 of 20 files"),
        (
            Selection(mode=Mode.ALL, tests=(), known=20),
            Plan(tier=Tier.STANDARD, steps=()),
            "all 20 files",
        ),
        (SELECTION, running(within=("tests/test_escape.py::test_a",)), "1 test in 1 of 20 files"),
        (
            SELECTION,
            running(
                files=("tests/test_escape.py", "tests/test_new.py"),
                within=("tests/test_escape.py::test_a", "tests/test_escape.py::test_b"),
            ),
            "2 of 20 files (single tests of 1)",
        ),
        (
            Selection(mode=Mode.ALL, tests=(), known=20),
            msgspec.structs.replace(running(), elsewhere=("tests/test_new.py",)),
            "1 of 20 files",
        ),
    ],
)
def test_a_selection_says_how_many_files_run(selection: Selection, plan: Plan, words: str) -> None:
    assert selection_in_words(selection, plan) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arguments": ("-k", "x")}, "as asked: -k x"),
        ({"ids": ("a", "b")}, "2 that failed last"),
    ],
)
def test_tests_that_were_asked_for_are_said_to_be(given: dict[str, Any], words: str) -> None:
    work = values.Tests(command=("pytest",), mode=Mode.ALL, **given)
    plan = Plan(tier=Tier.STANDARD, steps=(step("tests.1", Role.TESTS, "t", work, 1.0),))
    assert selection_in_words(SELECTION, plan) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"counts": Counts(passed=3, errors=1)}, "3 passed 1 error"),
        ({"outcome": Outcome.ERROR, "reason": "no\nmemory"}, "no memory"),
        ({"reason": "not said of a pass"}, ""),
        ({"modules": ("a", "b", "c", "d")}, "extension a, b, c"),
    ],
)
def test_what_came_of_a_step_is_said_in_a_few_words(given: dict[str, Any], words: str) -> None:
    plain: dict[str, Any] = {"id": "x.1", "role": Role.TESTS, "outcome": Outcome.PASSED}
    assert what_came_of(StepResult(**{**plain, **given})) == words


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"file": "a.py", "line": 3, "code": "E1"}, "a.py:3: E1 bad"),
        ({"file": "a.py"}, "a.py:1: bad"),
        ({}, "bad"),
    ],
)
def test_a_finding_is_a_line_that_editors_can_follow(given: dict[str, Any], line: str) -> None:
    assert (
        finding_line(Finding(kind="lint", subject="s", tool="t", message="bad", **given)) == line
    )


@pytest.mark.parametrize(
    ("fails", "reason", "words"),
    [
        (True, "", "reproduces the bug: yes   t"),
        (False, "", "reproduces the bug: no (passes on base too)   t"),
        (None, "no result", "reproduces the bug: could not be told   t: no result"),
    ],
)
def test_what_a_new_test_reproduces_is_said(
    *, fails: bool | None, reason: str, words: str
) -> None:
    assert (
        reproduces_in_words(Reproduces(test="t", fails_without_change=fails, reason=reason))
        == words
    )


# --- where output goes ----------------------------------------------------------------------------------------------


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, False),
        ("", False),
        ("0", False),
        ("false", False),
        ("No", False),
        ("true", True),
        ("1", True),
    ],
)
def test_a_ci_machine_is_known_by_the_value_of_ci(*, value: str | None, expected: bool) -> None:
    assert is_ci({} if value is None else {"CI": value}) == expected


@pytest.mark.parametrize(
    ("asked", "environ", "stream", "output"),
    [
        ("json", {}, Tty(), "json"),
        ("auto", {"TERM": "xterm"}, Tty(), "rich"),
        ("auto", {"TERM": "xterm"}, io.StringIO(), "plain"),
        ("auto", {"TERM": "dumb"}, Tty(), "plain"),
        ("auto", {}, Tty(), "plain"),
        ("auto", {"TERM": "xterm", "CI": "true"}, Tty(), "plain"),
        ("auto", {"TERM": "xterm", "CI": "false"}, Tty(), "rich"),
        ("auto", {"GITHUB_ACTIONS": "true"}, io.StringIO(), "github"),
    ],
)
def test_the_output_is_chosen_by_the_place(
    asked: str, environ: dict[str, str], stream: io.StringIO, output: str
) -> None:
    assert choose_output(asked, environ, stream) == output


@pytest.mark.parametrize(
    ("environ", "stream", "expected"),
    [
        ({}, Tty(), True),
        ({}, io.StringIO(), False),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": "0"}, io.StringIO(), False),
        ({"NO_COLOR": "1"}, Tty(), False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, Tty(), False),
        ({"NO_COLOR": ""}, Tty(), True),
    ],
)
def test_colours_are_shown_where_they_are_wanted(
    *, environ: dict[str, str], stream: io.StringIO, expected: bool
) -> None:
    assert wants_colour(environ, stream) == expected


def test_a_forced_colour_reaches_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in shown()


def test_the_live_terminal_shows_the_same_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    said = shown("rich")
    assert [line for line in shown().splitlines() if line not in said] == []


def test_a_heading_on_the_host_says_so() -> None:
    stream = io.StringIO()
    with Terminal("plain", stream) as terminal:
        terminal.heading(CHANGE, None, "host, Python 3.11.2")
    assert "host, Python 3.11.2" in stream.getvalue()


def test_more_than_five_doubts_are_counted() -> None:
    stream = io.StringIO()
    selection = Selection(
        mode=Mode.ALL, tests=(), known=1, unsure=tuple(f"doubt {n}" for n in range(8))
    )
    with Terminal("plain", stream) as terminal:
        terminal.plan(Plan(tier=Tier.STANDARD, steps=()), CHANGE, selection)
    assert "doubt 4" in stream.getvalue()
    assert "unsure: and 3 more" in stream.getvalue()
    assert "doubt 5" not in stream.getvalue()


def test_a_run_folder_elsewhere_is_named_in_full() -> None:
    stream = io.StringIO()
    with Terminal("plain", stream) as terminal:
        terminal.verdict(
            Verdict(state=State.PASSED, exit_code=0), 1.0, Path("/elsewhere/r"), Path("/t")
        )
    assert "report /elsewhere/r/report.md" in stream.getvalue()


def test_a_terminal_that_cannot_show_a_character_shows_its_escape() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    with Terminal("plain", stream) as terminal:
        terminal.line("a → ö")
        stream.flush()
    assert raw.getvalue() == b"a \\u2192 \\xf6\n"


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, "?"), (0.0, "?"), (0.012, "<0.1s"), (1.26, "~1.3s")]
)
def test_what_a_step_is_expected_to_take_is_said_only_where_it_is_known(
    seconds: float | None, said: str
) -> None:
    assert expected_in_words(seconds) == said
