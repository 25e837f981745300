"""The pure and the small parts behind the other commands: clean, image build, shell, and settling shards."""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit import values
from presubmit.clean import plan_removals, refuse_while_running, remove
from presubmit.errors import GitError, UsageError
from presubmit.imagebuild import upstream_base, upstream_packages
from presubmit.replay.perform import settle_shards
from presubmit.shell import find_step
from presubmit.values import (
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Role,
    StepResult,
    Tier,
)

if TYPE_CHECKING:
    from pathlib import Path

OLD = time.time() - 30 * 86_400


class Reader:
    """A commit's files, as imagebuild reads them."""

    def __init__(self, **files: str) -> None:
        self._files = {f".github/workflows/{name}.yml": text for name, text in files.items()}
        self.blobs = dict.fromkeys(self._files, "1")

    def text(self, path: str) -> str | None:
        return self._files.get(path)


def test_the_base_image_is_the_one_of_the_most_used_runner() -> None:
    reader = Reader(
        a="runs-on: ubuntu-22.04\n", b="runs-on: ubuntu-22.04\nruns-on: ubuntu-latest\n"
    )
    assert upstream_base(reader) == "ubuntu:22.04"  # type: ignore[arg-type]


def test_without_workflows_the_base_image_is_debian() -> None:
    assert upstream_base(Reader()) == "debian:bookworm"  # type: ignore[arg-type]


def test_packages_that_workflows_install_are_taken_by_plain_name_only() -> None:
    text = (
        "run: |\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends libfoo-dev \\\n"
        "    g++-12 $(evil) ./x.deb; echo nothing\n  apt install 'quoted'\n"
    )
    assert upstream_packages(Reader(a=text)) == ("libfoo-dev", "g++-12")  # type: ignore[arg-type]


def _age(path: Path, when: float) -> None:
    os.utime(path, (when, when))


def _folder(path: Path, when: float) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text("x" * 5000)
    _age(path, when)
    return path


def test_only_old_runs_and_environments_go_and_the_newest_run_stays(tmp_path: Path) -> None:
    top, cache = tmp_path / "top", tmp_path / "cache"
    old = _folder(top / ".presubmit/runs/1", OLD)
    last = _folder(top / ".presubmit/runs/2", OLD)
    (top / ".presubmit/last").symlink_to("runs/2")
    unused = _folder(cache / "own/envs/head-1", OLD)
    used = _folder(cache / "own/envs/head-2", OLD)
    (cache / "own/envs/head-2.json").write_text("{}")
    removals = plan_removals(top, cache, older_than=14 * 86_400, everything=False)
    assert [removal.path for removal in removals] == [old, unused]
    assert all(removal.size > 0 for removal in removals)
    assert [remove(removal) for removal in removals] == ["", ""]
    assert last.exists()
    assert used.exists()
    assert not old.exists()


def test_everything_means_the_caches_as_well(tmp_path: Path) -> None:
    top, cache = tmp_path / "top", tmp_path / "cache"
    _folder(top / ".presubmit/runs/1", time.time())
    new = _folder(top / ".presubmit/runs/2", time.time())
    (top / ".presubmit/last").symlink_to("runs/2")
    _folder(cache / "own/mirrors/head", time.time())
    removals = plan_removals(top, cache, older_than=0, everything=True)
    assert {removal.path.name for removal in removals} == {"1", "cache"}
    assert new.exists()


def _step(name: str, *, native: bool = True) -> PlanStep:
    work = values.Tests(command=("pytest",), mode=Mode.ALL, extensions_changed=native)
    return PlanStep(id=name, role=Role.TESTS, title=f"title {name}", work=work, origin="", why="")


def _result(
    name: str, loaded: dict[str, str | None], outcome: Outcome = Outcome.PASSED
) -> StepResult:
    return StepResult(id=name, role=Role.TESTS, outcome=outcome, loaded=loaded)


MODULES = ("pkg._fast",)


def test_a_second_run_that_did_not_load_the_twin_is_no_pass() -> None:
    work = values.Tests(command=("pytest",), mode=Mode.ALL, env=("X=1",), pure=("s.x", "x"))
    steps = [msgspec.structs.replace(_step("tests.pure"), work=work)]
    (lost,) = settle_shards(steps, [_result("tests.pure", {"s.x": None, "x": None})], ("m",))
    assert lost.outcome is Outcome.ERROR
    assert lost.reason.startswith("X=1 did not load s.x")
    (found,) = settle_shards(steps, [_result("tests.pure", {"s.x": None, "x": "x.py"})], ("m",))
    assert found.outcome is Outcome.PASSED


def test_one_shard_that_loads_the_extension_is_enough() -> None:
    steps = [_step("tests.1"), _step("tests.2")]
    results = [
        _result("tests.1", {"pkg._fast": None, "pkg": "/src/pkg/__init__.py"}),
        _result("tests.2", {"pkg._fast": "/src/pkg/_fast.so", "pkg": "/src/pkg/__init__.py"}),
    ]
    assert settle_shards(steps, results, MODULES) == results


def test_green_tests_on_a_fallback_are_an_error_and_red_ones_stay_red() -> None:
    steps = [_step("tests.1"), _step("tests.2")]
    loaded = {"pkg._fast": None, "pkg": "/src/pkg/__init__.py"}
    results = [_result("tests.1", loaded), _result("tests.2", loaded, Outcome.FAILED)]
    settled = settle_shards(steps, results, MODULES)
    assert [result.outcome for result in settled] == [Outcome.ERROR, Outcome.FAILED]
    assert "pkg._fast" in settled[0].reason


def test_a_change_without_native_code_may_run_on_a_fallback() -> None:
    results = [_result("tests.1", {"pkg._fast": None, "pkg": "x"})]
    assert settle_shards([_step("tests.1", native=False)], results, MODULES) == results


def test_a_step_is_found_by_id_role_or_title_and_else_the_known_ones_are_named() -> None:
    plan = Plan(tier=Tier.STANDARD, steps=(_step("tests.1"),))
    assert find_step(plan, None) is None
    for name in ("tests.1", "tests", "title tests.1"):
        assert find_step(plan, name) is plan.steps[0]
    with pytest.raises(UsageError) as caught:
        find_step(plan, "bench")
    assert "tests.1" in caught.value.hint


def test_nothing_is_cleaned_beside_a_run(tmp_path: Path) -> None:
    refuse_while_running(tmp_path)
    (tmp_path / "own/mirrors").mkdir(parents=True)
    with (tmp_path / "own/mirrors/head.lock").open("w") as lock:
        lock.write("4711\n")
        lock.flush()
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        with pytest.raises(GitError, match="process 4711"):
            refuse_while_running(tmp_path)
    refuse_while_running(tmp_path)
