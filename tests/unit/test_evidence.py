"""When a run is evidence, and when a row of it holds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import presubmit.hook_entry
from presubmit import __version__
from presubmit.config import ProjectFiles, make_config
from presubmit.errors import ConfigError
from presubmit.evidence import How, explained, holding, on_base, plan_digest, why_none
from presubmit.evidence_key import settings_digest
from presubmit.history import History
from presubmit.values import (
    Failure,
    FailureClass,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Role,
    State,
    StepResult,
    Tier,
    Verdict,
)
from presubmit.values import Tests as Work

if TYPE_CHECKING:
    from pathlib import Path

STEP = PlanStep(
    id="tests.1",
    role=Role.TESTS,
    title="tests",
    work=Work(command=("pytest",), mode=Mode.ALL),
    origin="",
    why="",
)
PLAN = Plan(tier=Tier.STANDARD, steps=(STEP,))
RESULT = StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.PASSED)
PASSED = Verdict(state=State.PASSED, exit_code=0)
HOW = How(named_base=False, narrowed=(), on_host=False, host_is_users=False)


def failure(label: FailureClass) -> Failure:
    return Failure(kind="test", subject="t.py::x", step="tests.1", label=label, base="failed")


def changed(value: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(value, **fields)


def test_a_whole_green_run_is_evidence() -> None:
    assert not why_none(PLAN, [RESULT], PASSED, HOW)
    nothing = Verdict(state=State.NOTHING, exit_code=0)
    assert not why_none(changed(PLAN, steps=()), [], nothing, HOW)
    users = changed(HOW, on_host=True, host_is_users=True)
    assert not why_none(PLAN, [RESULT], PASSED, users)


def test_failures_of_the_base_do_not_stand_against_it_and_are_counted() -> None:
    verdict = changed(PASSED, failures=(failure(FailureClass.ON_BASE),))
    assert not why_none(PLAN, [changed(RESULT, outcome=Outcome.FAILED)], verdict, HOW)
    assert on_base(verdict) == 1


@pytest.mark.parametrize(
    ("plan", "result", "verdict", "how", "word"),
    [
        ({}, {}, {"state": State.FAILED, "exit_code": 1}, {}, "the run is failed"),
        ({}, {}, {"state": State.INCOMPLETE, "exit_code": 0}, {}, "the run is incomplete"),
        ({"incomplete": ("--only tests",)}, {}, {}, {}, "--only tests"),
        ({"unavailable": ("benchmarks",)}, {}, {}, {}, "benchmarks"),
        ({"budget_cut": ("t.py",)}, {}, {}, {}, "not every affected test"),
        ({"elsewhere": ("t.py",)}, {}, {}, {}, "not every affected test"),
        ({}, {"cut": "out of time"}, {}, {}, "tests did not run whole"),
        ({}, {"outcome": Outcome.SKIPPED}, {}, {}, "tests did not run whole"),
        ({}, {"outcome": Outcome.ERROR}, {}, {}, "tests did not run whole"),
        ({}, {"id": "tests.2"}, {}, {}, "tests did not run whole"),
        ({}, {}, {"not_run": ("build: no compiler",)}, {}, "no compiler"),
        ({}, {}, {"failures": (failure(FailureClass.FLAKY),)}, {}, "flaky"),
        ({}, {}, {"failures": (failure(FailureClass.UNKNOWN),)}, {}, "nobody knows whom"),
        ({}, {}, {}, {"narrowed": ("--tests nearest",)}, "--tests nearest"),
        ({}, {}, {}, {"named_base": True}, "--base"),
        ({}, {}, {}, {"on_host": True}, "host = true"),
    ],
)
def test_anything_less_is_none_and_says_why(
    plan: dict[str, Any],
    result: dict[str, Any],
    verdict: dict[str, Any],
    how: dict[str, Any],
    word: str,
) -> None:
    why = why_none(
        changed(PLAN, **plan),
        [changed(RESULT, **result)],
        changed(PASSED, **verdict),
        changed(HOW, **how),
    )
    assert word in why


def test_a_step_that_nobody_requires_may_fail() -> None:
    advice = changed(STEP, id="docs.1", required=False)
    plan = changed(PLAN, steps=(STEP, advice))
    assert not why_none(plan, [RESULT], PASSED, HOW)
    assert plan_digest(plan) == plan_digest(PLAN)
    assert plan_digest(plan) == plan_digest(
        changed(plan, steps=(changed(STEP, expected_seconds=3.0),))
    )
    other = changed(STEP, work=Work(command=("pytest", "-x"), mode=Mode.ALL))
    assert plan_digest(PLAN) != plan_digest(changed(PLAN, steps=(other,)))


ROW = {
    "tree": "t" * 40,
    "base": "b" * 40,
    "settings": "s",
    "tool": __version__,
    "tier": "standard",
    "base_ref": "upstream/main",
    "place": "image devel",
    "plan": "p",
    "at": "2026-12-01T00:00:00Z",
    "untracked": "",
    "on_base": 0,
}


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"tool": "0.0.1"}, "presubmit 0.0.1's"),
        ({"settings": "x"}, "your own settings"),
        ({"base": "c" * 40}, "the base moved: upstream/main @ ccccccc then, bbbbbbb now"),
    ],
)
def test_the_part_that_differs_is_named(other: dict[str, str], word: str) -> None:
    row = {**ROW, **other}
    assert holding([row], base="b" * 40, settings="s") is None
    (line,) = explained([row], base="b" * 40, settings="s")
    assert line.startswith("holds no more: ")
    assert word in line


def test_evidence_of_a_lower_tier_is_not_enough_for_a_higher() -> None:
    quick = {**ROW, "tier": "quick"}
    assert holding([quick], base="b" * 40, settings="s") == quick
    assert holding([quick], base="b" * 40, settings="s", tier="standard") is None
    assert holding([quick, ROW], base="b" * 40, settings="s", tier="standard") == ROW


def test_the_history_gives_the_widest_tier_first(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        assert history.newest_evidence() is None
        for tier, at in (
            ("standard", "2026-01-01"),
            ("quick", "2026-01-03"),
            ("full", "2026-01-02"),
        ):
            history.write_tier_evidence({**ROW, "tier": tier, "at": at})
        history.write_tier_evidence({**ROW, "tree": "u" * 40, "at": "2026-01-04"})
        tiers = [row["tier"] for row in history.tier_evidence("t" * 40)]
        newest = history.newest_evidence()
        history.write_skipped_push("t" * 40, "why not")
        assert [why for _, why in history.skipped_pushes("t" * 40)] == ["why not"]
    assert tiers == ["full", "standard", "quick"]
    assert newest is not None
    assert newest["tree"] == "u" * 40


def test_settings_are_the_users_file_and_options_in_the_environment(tmp_path: Path) -> None:
    plain = {"XDG_CONFIG_HOME": str(tmp_path)}
    first = settings_digest(plain)
    assert (
        settings_digest({**plain, "PRESUBMIT_SKIP": "x", "PRESUBMIT_REQUIRE_ENGINE": "1"}) == first
    )
    assert settings_digest({**plain, "PATH": "/elsewhere"}) == first
    assert settings_digest({**plain, "PRESUBMIT_TESTS_RETRIES": "2"}) != first
    assert settings_digest({**plain, "PRESUBMIT_BASE": "x"}) != first
    assert settings_digest({**plain, "GITHUB_BASE_REF": "x"}) != first
    (tmp_path / "presubmit").mkdir()
    (tmp_path / "presubmit/config.toml").write_text("host = true\n")
    assert settings_digest(plain) != first


def test_only_the_user_may_say_that_tests_run_on_the_host() -> None:
    with pytest.raises(ConfigError, match="not the project's to say"):
        make_config(
            command_line={},
            environ={},
            user={},
            user_name="u",
            head=ProjectFiles(pyproject=None, presubmit="host = true\n"),
            base=ProjectFiles(pyproject=None, presubmit="host = true\n"),
            trust_head=True,
            on_host=False,
        )


def test_the_fast_path_loads_nothing_but_the_standard_library() -> None:
    entry = presubmit.hook_entry.__file__
    code = (
        "import runpy, sys\n"
        f"runpy.run_path({entry!r}, run_name='x')\n"
        "print([it for it in sys.modules if it.partition('.')[0] not in sys.stdlib_module_names])\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    ours = {"presubmit", "presubmit.evidence_key", "presubmit.push", "__main__"}
    assert set(eval(done.stdout)) <= ours  # noqa: S307 - printed by the lines above
    heavy = {"pathlib", "tempfile", "logging", "asyncio", "email", "inspect", "json"}
    code = code.replace(
        "print([it for it in sys.modules if it.partition('.')[0] not in sys.stdlib_module_names])",
        "print(sorted(sys.modules))",
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    without = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import runpy, sys\nprint(sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(eval(done.stdout)) - set(eval(without.stdout))  # noqa: S307 - as above
    assert not loaded & heavy
