from __future__ import annotations

import pytest

from presubmit.upstream_options.variables import for_build, for_tests
from tests.unit.upstream_options.made import job, taken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MYLIB_BACKEND", "fast"),
        ("PYTHONWARNINGS", "d"),
        ("PYTHONHASHSEED", "0"),
        ("PYTHONPATH", "src:tests"),
        ("OMP_NUM_THREADS", "2"),
        ("MPLBACKEND", "Agg"),
        ("HYPOTHESIS_PROFILE", "ci"),
        ("PYTEST_XDIST_AUTO_NUM_WORKERS", "2"),
        ("CI", "true"),
        ("PATTERN", "^a/b$"),
    ],
)
def test_what_tests_may_read_is_given_to_them(name: str, value: str) -> None:
    assert for_tests({name: value}, ()) == ({name: value}, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "1") for name in (
            *("PIP_NO_INDEX", "UV_FROZEN", "TOX_ENV", "TOXENV", "TOXPYTHON", "_PLUGGY_TOX_CMD", "TOX_PARALLEL_NO_SPINNER"),
            *("NOXSESSION", "NOX_SESSION", "HATCH_ENV", "POETRY_HOME", "PDM_X", "CIBW_BUILD", "CONDA_PREFIX", "PIXI_CACHE"),
            *("CCACHE_DIR", "GH_X", "DOCKER_HOST", "VIRTUAL_ENV", "PRE_COMMIT_HOME", "SKIP"),
            *("COVERAGE_PROCESS_START", "COVERAGE_FILE", "COV_CORE_SOURCE", "CODECOV_X", "CODSPEED_ENV"),
            *("PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTEST_PLUGINS", "PYTHON"),
            *("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "TERM"),
        )),
        ("DATA", "/github/workspace/data"),
        ("DATA", "~/data"),
        ("FLAGS", "-I/usr/include"),
        ("PATHS", "a:/opt/b"),
        ("DATABASE_URL", "postgres://postgres@localhost/x"),
        ("REDIS_HOST", "localhost"),
        ("REDIS_HOST", "127.0.0.1"),
        ("OS", "ubuntu-latest"),
        ("OS", "Linux"),
        ("WORK", "${envtmpdir}/x"),
    ],
)  # fmt: skip
def test_what_something_else_reads_or_what_is_not_here_is_left_out(name: str, value: str) -> None:
    kept, left = for_tests({name: value}, ())
    assert kept == {}
    assert [*left] == [name]


def test_an_argument_of_the_jobs_own_script_is_left_out() -> None:
    kept, left = for_tests({"VERSION": "3.11", "OTHER": "x"}, ("tox -f ${VERSION}-tests",))
    assert kept == {"OTHER": "x"}
    assert left == {"VERSION": "an argument of the job's own script"}


def test_an_empty_variable_is_another_cells() -> None:
    assert for_tests({"NO_EXTENSIONS": ""}, ()) == ({}, {})


def test_what_compilers_and_the_installer_read_is_not_built_with() -> None:
    env = {"CFLAGS": "-O0", "PYTHONWARNINGS": "error", "PYTEST_X": "1", "MYLIB_SYSTEM": "0"}
    kept, left = for_build(env, ())
    assert kept == {"MYLIB_SYSTEM": "0"}
    assert [*left] == ["CFLAGS", "PYTHONWARNINGS"]


def test_the_project_is_built_with_the_variables_of_the_step_that_installs_it() -> None:
    found = taken(job("WITH_X=1 pip install .", "WITH_Y=1 pytest"))
    assert found.options["build.env"] == (("WITH_X=1",), "ci.yml:8")
    assert found.options["tests.env"] == (("WITH_Y=1",), "ci.yml:10")


TOX = """\
[testenv]
pass_env =
    MINE
    CI_*
set_env = OWN = 1
commands = pytest {posargs}
"""


def test_behind_tox_only_those_variables_reach_the_tests_that_it_lets_through() -> None:
    text = job("tox -e py311").replace("jobs:", "env: {MINE: a, CI_X: b, OTHER: c}\njobs:")
    found = taken(text, {"tox.ini": TOX})
    assert set(found.options["tests.env"][0]) == {"MINE=a", "CI_X=b", "OWN=1"}
