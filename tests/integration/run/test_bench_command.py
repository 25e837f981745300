"""`presubmit bench` on a small project, in real boxes: both sides are built, measured in pairs, and answered for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.run.conftest import wait_for

if TYPE_CHECKING:
    from tests.integration.run.conftest import Done, MakeProject, Project, Relay

pytestmark = [pytest.mark.engine, pytest.mark.network]

FILES = {
    "pyproject.toml": """
[project]
name = "pkg"
version = "1"

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["pkg"]

[[tool.presubmit.bench.command]]
name = "count"
run = ["python", "tools/count.py"]
json = "count.json"
files = ["tools/count.py"]
""",
    "pkg/__init__.py": "from pkg.ops import add, power\n",
    "pkg/ops.py": """
def add(n):
    total = 0
    for i in range(n):
        total += i
    return total


def power(n):
    return [2 ** i for i in range(n)]
""",
    "asv.conf.json": '{\n  // as asv has it\n  "version": 1, "benchmark_dir": "benchmarks"\n}\n',
    "benchmarks/__init__.py": "",
    "benchmarks/ops.py": """
from pkg import add, power


class Suite:
    params = [64, 512]

    def time_add(self, n):
        add(n)


def time_power():
    power(100)
""",
    "tests/test_bench.py": """
from pkg import add


def test_bench_add(benchmark):
    assert benchmark(add, 10) == 45
""",
    "tools/count.py": """
import json

from pkg import add

json.dump({"total": add(10) + 1}, open("count.json", "w"))
""",
}
LOOP = "        total += i\n"
SLOWER = LOOP + "        total += i * i * i * i - i * i * i * i\n        str(i)\n"


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    return make_project("benched", files=FILES)


def comparison(done: Done, project: Project) -> dict[str, Any]:
    path = project.path / ".presubmit/last/bench.json"
    assert path.is_file(), done.output
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def words(found: dict[str, Any]) -> dict[str, str]:
    return {it["bench"]["id"]: it["word"] for it in found["measured"]["results"]}


def test_a_slower_function_is_found_named_and_confirmed_and_others_are_left_out(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit("pkg/ops.py", LOOP, SLOWER)
    done = project.presubmit("bench", *in_container, "--only", "time_", "--budget", "4m")
    found = comparison(done, project)
    assert done.exit_code == 1, done.output
    slow = [it for it in found["measured"]["results"] if it["word"] == "slower"]
    assert {it["bench"]["id"] for it in slow} >= {"ops.Suite.time_add[512]"}, done.output
    assert all(it["confirmed"] for it in slow)
    assert "ops.time_power" not in words(found)
    assert found["skipped"]["ops.time_power"] == "it runs none of the changed functions"
    failure = project_failure(done, "ops.Suite.time_add[512]")
    assert (failure["kind"], failure["class"]) == ("bench", "new")
    assert "SLOWER (confirmed)" in done.output
    assert (project.path / ".presubmit/last/bench.svg").read_text().startswith("<svg")
    assert "## Benchmarks" in (project.path / ".presubmit/last/report.md").read_text()
    shown = project.presubmit("bench", "--history", "ops.Suite.time_add[512]")
    assert shown.exit_code == 0
    assert "tree" in shown.output


def project_failure(done: Done, subject: str) -> dict[str, Any]:
    found: dict[str, Any] = next(it for it in done.run["failures"] if it["subject"] == subject)
    return found


def test_each_side_proves_the_build_that_it_loaded(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit("pkg/ops.py", "2 ** i for i in", "2 ** j for j in")
    done = project.presubmit("bench", *in_container, "--only", "time_power", "--budget", "30s")
    found = comparison(done, project)
    assert done.exit_code in {0, 4}, done.output
    base, head = (
        {it["module"]: it["blob"] for it in found[side]["files"]} for side in ("base", "head")
    )
    assert base["pkg"] == head["pkg"]
    assert base["pkg.ops"] != head["pkg.ops"]


def test_a_benchmark_that_fails_on_head_alone_fails_the_run(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit(
        "pkg/ops.py", "    return [2 ** i", "    raise TypeError('no power')\n    return [2 ** i"
    )
    done = project.presubmit("bench", *in_container, "--only", "time_power", "--budget", "60s")
    assert done.exit_code == 1, done.output
    assert "fails on head only" in done.output
    assert "no power" in done.output


def test_a_benchmark_that_is_new_has_nothing_to_be_compared_with(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    (project.path / "pkg/more.py").write_text("def more():\n    return 1\n")
    (project.path / "benchmarks/more.py").write_text(
        "from pkg.more import more\n\n\ndef time_more():\n    more()\n"
    )
    done = project.presubmit("bench", *in_container, "--only", "time_more", "--budget", "60s")
    found = comparison(done, project)
    assert done.exit_code == 0, done.output
    assert "new, nothing to compare with" in done.output
    assert found["new"]


def test_a_command_gives_its_own_numbers_and_the_fixture_is_stood_in_for(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit("pkg/ops.py", "    total = 0\n", "    total = 5\n")
    done = project.presubmit("bench", *in_container, "--only", "total", "--budget", "60s")
    found = comparison(done, project)
    (result,) = found["measured"]["results"]
    assert (result["base"], result["head"]) == (46, 51)
    assert result["word"] == "slower"
    assert done.exit_code == 1, done.output
    broken = project.presubmit(
        "bench", *in_container, "--only", "test_bench_add", "--budget", "60s"
    )
    assert broken.exit_code == 1, broken.output
    assert "fails on head only" in broken.output


def test_nothing_that_the_change_reaches_is_green_and_measures_nothing(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    (project.path / "README.md").write_text("# Words\n")
    done = project.presubmit("bench", *in_container)
    assert done.exit_code == 0, done.output
    assert "reaches none of" in done.output
    assert not (project.path / ".presubmit/last/bench.json").exists()


def test_the_base_is_compared_with_itself_where_that_is_asked_for(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    done = project.presubmit(
        "bench", *in_container, "--aa", "--only", "time_power", "--budget", "60s"
    )
    found = comparison(done, project)
    assert done.exit_code in {0, 4}, done.output
    assert found["self_test"]
    assert found["base"]["files"] == found["head"]["files"]
    assert "base against itself" in done.output


def test_a_comparison_without_a_base_is_an_error(project: Project) -> None:
    """Trap 5: nothing to compare with is no pass and no warning."""
    project.edit("pkg/ops.py", LOOP, SLOWER)
    done = project.presubmit("bench", "--base", "upstream/no-such-branch")
    assert done.exit_code == 3, done.output
    assert "upstream/no-such-branch" in done.output


def test_a_profile_names_the_function_that_took_the_time(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    slow = LOOP + "        total += slow(i)\n"
    project.edit("pkg/ops.py", LOOP, slow)
    with (project.path / "pkg/ops.py").open("a") as stream:
        stream.write("\n\ndef slow(i):\n    return sum(range(20)) * 0\n")
    done = project.presubmit(
        "bench", *in_container, "--profile", "time_add[512", "--budget", "60s"
    )
    found = comparison(done, project)
    assert found["profile"]["id"] == "ops.Suite.time_add[512]", done.output
    assert found["profile"]["problems"] == []
    share = {it["function"]: (it["base"], it["head"]) for it in found["profile"]["moved"]}
    assert share["slow (pkg/ops.py)"][0] == 0.0
    assert share["slow (pkg/ops.py)"][1] > 0.2
    for side in ("base", "head"):
        assert "<svg" in (project.path / f".presubmit/last/profile/{side}.svg").read_text()
    assert "slow (pkg/ops.py)" in done.output


def test_an_engine_that_goes_away_keeps_what_was_decided(
    project: Project, in_container: tuple[str, ...], relay: Relay
) -> None:
    project.back()
    project.edit("pkg/ops.py", "2 ** i for i in", "2 ** j for j in")
    last = project.path / ".presubmit/last"
    before = last.readlink()
    process = project.start(
        *("bench", *in_container, "--all", "--budget", "4m"), env={"DOCKER_HOST": relay.host}
    )

    def has_decided() -> bool:
        events = last / "events.jsonl"
        told = events.read_text() if last.readlink() != before and events.exists() else ""
        return '"said"' in told

    assert wait_for(has_decided, 180)
    relay.cut()
    assert process.wait(timeout=60) == 3
    run = json.loads((last / "run.json").read_text())
    assert (run["state"], run["exit"]) == ("error", 3)
    found = json.loads((last / "bench.json").read_text())
    assert found["measured"]["results"]
    assert not any(it["confirmed"] for it in found["measured"]["results"])
