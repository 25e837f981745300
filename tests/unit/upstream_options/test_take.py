"""What is taken over from real projects' workflows, trimmed to what matters."""

from __future__ import annotations

from tests.unit.upstream_options.made import image, taken

PY311 = image("3.11.2")

KIWISOLVER = """\
on: pull_request
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: |
          pip install -r lint_requirements.txt
      - run: ruff format py --check
      - run: |
          mypy py
  tests:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        python-version: ["3.10", "3.11", "3.14", "3.14t", "3.15-dev", "pypy-3.11", "graalpy-25.0"]
    steps:
      - uses: actions/setup-python@v7
        with: {python-version: "${{ matrix.python-version }}"}
      - run: pip install .
        env: {CPPFLAGS: --coverage}
      - run: |
          pip install pytest
          python -X dev -m pytest py -W error
"""


def test_kiwisolver_runs_pytest_as_its_cell_with_our_python_does() -> None:
    found = taken(KIWISOLVER, {".pre-commit-config.yaml": ""}, here=PY311)
    assert found.options == {
        "tests.command": (("python", "-X", "dev", "-m", "pytest", "-W", "error"), "ci.yml:24"),
        "build.packages": (("pytest",), ("ci.yml:23",)),
    }
    assert found.cells == {"tests": "ci.yml/tests(os=ubuntu-latest,python-version=3.11)"}
    assert found.besides == {"lint": ("mypy py (ci.yml:10)",)}
    assert found.notes == ("left out of ci.yml:20: CPPFLAGS (read by the runner's compiler)",)


PLUGGY = """\
on: pull_request
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        name: [windows-py310, ubuntu-py310-pytestmain, ubuntu-py310, ubuntu-py311, ubuntu-pypy3]
        include:
          - {name: windows-py310, python: "3.10", os: windows-latest, tox_env: py310}
          - {name: ubuntu-py310-pytestmain, python: "3.10", os: ubuntu-latest, tox_env: py310-pytestmain}
          - {name: ubuntu-py310, python: "3.10", os: ubuntu-latest, tox_env: py310}
          - {name: ubuntu-py311, python: "3.11", os: ubuntu-latest, tox_env: py311}
          - {name: ubuntu-pypy3, python: pypy3.10, os: ubuntu-latest, tox_env: pypy3}
    steps:
      - uses: actions/setup-python@v7
        with: {python-version: "${{ matrix.python }}"}
      - run: |
          pip install --upgrade pip setuptools
          pip install tox coverage
      - run: tox run --installpkg dist/*.whl
        env: {TOX_ENV: "${{ matrix.tox_env }}-coverage"}
"""
PLUGGY_TOX = """\
[testenv]
commands =
  {env:_PLUGGY_TOX_CMD:pytest} {posargs}
  coverage: coverage report -m
setenv=
  _PYTEST_SETUP_SKIP_PLUGGY_DEP=1
  coverage: _PLUGGY_TOX_CMD=coverage run -m pytest
dependency_groups=tests
deps=
  coverage: coverage
"""


def test_pluggys_tox_environment_gives_its_group_and_the_variable_that_is_not_toxs_own() -> None:
    found = taken(PLUGGY, {"tox.ini": PLUGGY_TOX}, here=PY311)
    assert found.options["tests.command"] == (("pytest",), "ci.yml:20, tox.ini [testenv]")
    assert found.options["build.groups"] == (("tests",), ("ci.yml:20",))
    assert found.options["tests.env"] == (("_PYTEST_SETUP_SKIP_PLUGGY_DEP=1",), "ci.yml:20")
    assert found.cells == {"tests": "ci.yml/test(name=ubuntu-py311)"}
    assert any("_PLUGGY_TOX_CMD (read by what runs" in note for note in found.notes)


def test_pluggys_plain_cell_is_followed_where_our_python_is_not_known() -> None:
    found = taken(PLUGGY, {"tox.ini": PLUGGY_TOX})
    assert found.cells == {"tests": "ci.yml/test(name=ubuntu-py311)"}


ATTRS = """\
on: pull_request
env: {FORCE_COLOR: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1"}
jobs:
  build-package:
    runs-on: ubuntu-latest
    steps:
      - id: baipp
        run: echo "versions=[]" >> $GITHUB_OUTPUT
    outputs:
      versions: ${{ steps.baipp.outputs.versions }}
  tests:
    needs: build-package
    runs-on: ubuntu-latest
    strategy:
      matrix:
        python-version: ${{ fromJson(needs.build-package.outputs.versions) }}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python-version }}"}
      - run: echo TOX_PYTHON=py$(echo ${{ matrix.python-version }} | tr -d .) >>$GITHUB_ENV
      - run: uvx --with=tox-uv tox run -e $TOX_PYTHON-tests
  tests-pypy:
    needs: build-package
    runs-on: ubuntu-latest
    strategy:
      matrix: {python-version: [pypy-3.10, pypy-3.11]}
    steps:
      - run: uvx --with=tox-uv tox run -e pypy3-tests
"""
ATTRS_TOX = """\
[testenv]
dependency_groups =
    tests: dev
commands =
    tests: pytest {posargs:-n auto}
[testenv:pypy3-tests]
commands = pytest tests/test_functional.py
"""


def test_attrs_job_whose_matrix_is_made_at_run_time_comes_before_that_of_pypy() -> None:
    found = taken(ATTRS, {"tox.ini": ATTRS_TOX}, here=PY311)
    assert found.cells == {"tests": "ci.yml/tests"}
    assert found.options["tests.command"] == (
        ("pytest", "-n", "auto"),
        "ci.yml:21, tox.ini [testenv]",
    )
    assert found.options["build.groups"][0] == ("dev",)
    assert "tests.env" not in found.options


UJSON = """\
on: pull_request
env: {FORCE_COLOR: 1}
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        python-version: [graalpy-25, pypy3.11, 3.15t, "3.15", "3.14", "3.13"]
    steps:
      - uses: actions/setup-python@v7
        with: {python-version: "${{ matrix.python-version }}", allow-prereleases: true}
      - run: |
          python -m pip install -U pip
          python -m pip install -U pytest
          python -m pip install .
        env: {CFLAGS: -DDEBUG}
      - run: python -m pytest --capture=no
      - run: |
          python -m pip install --force-reinstall .
          python -m pip install setuptools_scm
          python -m pytest
      - run: python -m pytest --leak-max-loops=5000 -v
"""


def test_ujsons_first_call_is_followed_and_its_others_are_named() -> None:
    found = taken(UJSON, here=image("3.13.1"))
    command = ("python", "-m", "pytest", "--capture=no")
    assert found.options == {
        "tests.command": (command, "ci.yml:17"),
        "build.packages": (("pytest",), ("ci.yml:14",)),
    }
    assert found.besides["tests"] == (
        "python -m pytest (ci.yml:21)",
        "python -m pytest --leak-max-loops=5000 -v (ci.yml:22)",
    )


def test_ujsons_newest_release_is_followed_where_our_python_is_not_known() -> None:
    # 3.15 may be a pre-release: the job allows one.
    assert taken(UJSON).cells == {"tests": "ci.yml/test(python-version=3.14)"}


STRUCTLOG = """\
on: pull_request
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python-version: ["3.11", "3.13"]}
    env: {PYTHON: "${{ matrix.python-version }}"}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python-version }}"}
      - run: uvx --with tox-uv tox run -f ${PYTHON}-tests
"""


def test_structlogs_tox_factors_are_not_followed_and_named() -> None:
    found = taken(STRUCTLOG, here=PY311)
    assert found.options == {}
    assert found.cells == {}
    assert found.besides == {"tests": ("uvx --with tox-uv tox run -f 3.11-tests (ci.yml:11)",)}


PYWAVELETS = """\
on: pull_request
jobs:
  linux:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python-version: ["3.11"]}
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python-version }}"}
      - run: pip install . pytest
      - run: |
          cd demo
          pytest --pyargs pywt
"""


def test_pywavelets_tests_in_another_folder_are_named_and_not_taken() -> None:
    found = taken(PYWAVELETS, here=PY311)
    assert found.options == {}
    assert found.besides == {"tests": ("pytest --pyargs pywt (ci.yml:13: it runs in demo)",)}


LZ4 = """\
on: [push, pull_request]
jobs:
  wheels:
    runs-on: ubuntu-latest
    strategy:
      matrix: {cibw_build: [cp311-*, cp312-*]}
    steps:
      - run: echo "CIBW_TEST_COMMAND=tox -c {project}" >> "$GITHUB_ENV"
      - uses: pypa/cibuildwheel@v3.2.1
        env: {CIBW_BUILD: "${{ matrix.cibw_build }}"}
"""


def test_lz4_tests_inside_cibuildwheel_alone_and_gives_nothing() -> None:
    found = taken(LZ4, here=PY311)
    assert (found.options, found.besides) == ({}, {})


FLASK = {
    "tests.yaml": """\
on: pull_request
jobs:
  tests:
    runs-on: ${{ matrix.os || 'ubuntu-latest' }}
    strategy:
      matrix:
        include:
          - {python: '3.14'}
          - {name: Windows, python: '3.14', os: windows-latest}
          - {python: '3.11'}
          - {name: PyPy, python: pypy-3.11, tox: pypy3.11}
          - {name: Minimum Versions, python: '3.14', tox: tests-min}
    steps:
      - uses: astral-sh/setup-uv@v7
        with: {python-version: "${{ matrix.python }}"}
      - run: uv run --locked tox run -e ${{ matrix.tox || format('py{0}', matrix.python) }}
""",
}
FLASK_PYPROJECT = """\
[project]
name = "flask"
[dependency-groups]
tests = ["pytest"]
[tool.tox.env_run_base]
dependency_groups = ["tests"]
commands = [["pytest", "-v", "--tb=short", "--basetemp={env_tmp_dir}", {replace = "posargs", default = [], extend = true}]]
"""


def test_flasks_tox_in_pyproject_gives_group_and_command() -> None:
    found = taken(FLASK, {"pyproject.toml": FLASK_PYPROJECT}, here=PY311)
    assert found.cells == {"tests": "tests.yaml/tests(python=3.11)"}
    assert found.options["tests.command"] == (
        ("pytest", "-v", "--tb=short"),
        "tests.yaml:16, pyproject.toml [env_run_base]",
    )
    assert found.options["build.groups"][0] == ("tests",)


FROZENLIST = """\
on: pull_request
env:
  COVERAGE_CORE: sysmon
  PIP_NO_WARN_SCRIPT_LOCATION: 1
  PYTHONUTF8: 1
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix: {pyver: ["3.10", "3.11"], no-extensions: ["", "Y"]}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.pyver }}"}
      - run: python -m pip install -e . expandvars
      - run: python -Im pytest -v --cov-report xml --junitxml=.test-results/test.xml
        env: {FROZENLIST_NO_EXTENSIONS: "${{ matrix.no-extensions }}"}
"""


def test_frozenlists_reports_isolation_and_tool_variables_are_left_out() -> None:
    found = taken(FROZENLIST, here=PY311)
    assert found.cells == {"tests": "ci.yml/test(pyver=3.11,no-extensions=)"}
    assert found.options["tests.command"][0] == ("python", "-m", "pytest", "-v")
    assert found.options["tests.env"] == (("PYTHONUTF8=1",), "ci.yml:15")
    assert "build.env" not in found.options
    assert found.options["build.packages"][0] == ("expandvars",)


MSGPACK = """\
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix: {py: ["3.14", "3.11", "3.15-dev"]}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.py }}"}
      - run: python -m pip install -r requirements.txt pytest
      - run: pip install .
      - run: pytest -v test
      - run: pytest -v test
        env: {MSGPACK_PUREPYTHON: "1"}
"""


def test_msgpacks_second_run_is_named_with_its_variable() -> None:
    found = taken(MSGPACK, {"requirements.txt": "cython\n"}, here=PY311)
    assert found.options["tests.command"] == (("pytest", "-v"), "ci.yml:12")
    assert found.options["build.requirements"][0] == ("requirements.txt",)
    assert found.besides == {"tests": ("MSGPACK_PUREPYTHON=1 pytest -v test (ci.yml:13)",)}


PACKAGING = """\
on: pull_request
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python_version: ["3.10", "3.11", "3.14"]}
    steps:
      - uses: actions/setup-python@v7
        with: {python-version: "${{ matrix.python_version }}"}
      - run: pipx run nox -s tests
  musl:
    runs-on: ubuntu-latest
    container: alpine:3
    steps:
      - run: uv run pytest
"""


def test_packagings_main_job_cannot_be_followed_and_its_variation_on_musl_is_not() -> None:
    found = taken(PACKAGING, here=PY311)
    assert found.options == {}
    assert found.besides == {"tests": ("pipx run nox -s tests (ci.yml:10)",)}


AIOHTTP = """\
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix: {pyver: ["3.11"]}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.pyver }}"}
      - run: python -m pip install -r requirements/test.in -c requirements/test.txt
        env: {DEPENDENCY_GROUP: test}
      - run: >-
          pytest --junitxml=junit.xml --cov --numprocesses=auto
          -m "not dev_mode and not autobahn"
      - run: pytest -m dev_mode
        env: {PYTHONDEVMODE: 1}
"""


def test_aiohttps_constraints_are_followed_and_its_mark_stays() -> None:
    files = {
        "requirements/test.in": "pytest\npytest-xdist\n",
        "requirements/test.txt": "pytest==9\n",
    }
    found = taken(AIOHTTP, files, here=PY311)
    assert found.options == {
        "build.requirements": (("requirements/test.in",), ("ci.yml:10",)),
        "build.constraints": (("requirements/test.txt",), ("ci.yml:10",)),
        "tests.command": (
            ("pytest", "--numprocesses=auto", "-m", "not dev_mode and not autobahn"),
            "ci.yml:12",
        ),
    }
    assert found.besides == {"tests": ("PYTHONDEVMODE=1 pytest -m dev_mode (ci.yml:15)",)}


POLARS = {
    "lint.yml": """\
on: pull_request
jobs:
  ruff:
    runs-on: ubuntu-latest
    steps:
      - run: pip install ruff==0.15.7
      - run: ruff check --version
      - run: ruff check --no-fix .
      - run: ruff format --diff .
""",
    "test.yml": """\
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    defaults: {run: {working-directory: py-polars}}
    strategy:
      matrix: {python-version: ["3.10", "3.14"]}
    steps:
      - run: pytest -n auto
  bytecode-parser:
    runs-on: ubuntu-latest
    steps:
      - run: pytest tests/parser
        env: {PYTHONPATH: py-polars/src}
""",
}


def test_polars_tests_below_the_root_are_named_and_each_lint_command_has_its_line() -> None:
    found = taken(POLARS, here=PY311)
    assert found.options == {
        "lint.commands": (
            (
                "ruff check --no-fix --force-exclude {files:*.py *.pyi}",
                "ruff format --diff --force-exclude {files:*.py *.pyi}",
            ),
            ("lint.yml:8", "lint.yml:9"),
        ),
        "lint.packages": (("ruff==0.15.7",), ("lint.yml:8",)),
    }
    assert found.cells == {"lint": "lint.yml/ruff"}
    assert found.besides == {"tests": ("pytest -n auto (test.yml:9: it runs in py-polars)",)}


PYZMQ = """\
on: pull_request
jobs:
  test:
    runs-on: ubuntu-22.04
    strategy:
      matrix:
        include:
          - {python: "3.10"}
          - {python: "3.11", zmq: head, tornado: head}
          - {python: "3.12"}
          - {python: "3.14-dev"}
    env: {ZMQ_DRAFT_API: "${{ matrix.zmq == 'head' && '1' || '' }}"}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python }}"}
      - run: pytest --maxfail 2 -m "not wheel" -v
"""


def test_pyzmqs_plain_cell_comes_before_the_one_with_our_python_and_other_libraries() -> None:
    found = taken(PYZMQ, here=PY311)
    assert found.cells == {"tests": "ci.yml/test(python=3.10)"}
    assert "tests.env" not in found.options
    assert found.options["tests.command"][0] == ("pytest", "-m", "not wheel", "-v")


WATCHFILES = """\
on: pull_request
jobs:
  test:
    runs-on: ${{ matrix.os }}-latest
    strategy:
      matrix: {os: [ubuntu, macos], python-version: ["3.11", "3.13t"]}
    env:
      OS: ${{ matrix.os }}
      UV_PYTHON: ${{ matrix.python-version }}
      WATCHFILES_TEST_PERMISSION_DENIED_PATH: /protected/test
      WATCHFILES_FORCE_POLLING: "1"
    steps:
      - uses: astral-sh/setup-uv@v5
        with: {python-version: "${{ matrix.python-version }}"}
      - run: make test
"""


def test_watchfiles_make_target_is_followed_without_what_names_the_runner() -> None:
    makefile = "test:\n\tuv run coverage run -m pytest\n"
    found = taken(WATCHFILES, {"Makefile": makefile}, here=PY311)
    assert found.options["tests.command"] == (("python", "-m", "pytest"), "ci.yml:15, Makefile")
    assert found.options["tests.env"] == (("WATCHFILES_FORCE_POLLING=1",), "ci.yml:15")
    assert found.options["build.groups"][0] == ("dev",)
