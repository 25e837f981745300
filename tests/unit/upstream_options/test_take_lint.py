from __future__ import annotations

import pytest

from tests.unit.upstream_options.made import job, taken

TREE = {
    "src/a.py": "",
    "scripts/tool": "#!/usr/bin/env python\n",
    "setup.py": "",
}


def commands(*steps: str, files: dict[str, str] | None = None) -> tuple[str, ...]:
    found = taken(job(*steps, name="lint"), {**TREE, **(files or {})})
    value: tuple[str, ...] = found.options.get("lint.commands", ((), ""))[0]
    return value


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ruff check .", "ruff check --force-exclude {files:*.py *.pyi}"),
        ("ruff check", "ruff check --force-exclude {files:*.py *.pyi}"),
        ("ruff .", "ruff check --force-exclude {files:*.py *.pyi}"),
        ("uvx ruff check src", "ruff check --force-exclude {files:src/*.py src/*.pyi}"),
        (
            "ruff check --select E9,F63 --output-format github ./src/ setup.py",
            "ruff check --select E9,F63 --output-format github --force-exclude {files:src/*.py src/*.pyi setup.py}",
        ),
        ("ruff format src --check", "ruff format --check --force-exclude {files:src/*.py src/*.pyi}"),
        ("black --check -l 99 src", "black --check -l 99 {files:src/*.py src/*.pyi}"),
        ("black --check scripts/tool", "black --check {files:scripts/tool}"),
        ("isort -c --profile black .", "isort -c --profile black --filter-files {files:*.py *.pyi}"),
        ("flake8 --max-line-length 99 src", "flake8 --max-line-length 99 {files:src/*.py}"),
        ("python -m flake8", "flake8 {files:*.py}"),
        ("codespell -L foo,bar -S x src", "codespell -L foo,bar -S x {files:src/*}"),
        ("pyflakes src", "pyflakes {files:src/*.py}"),
    ],
)  # fmt: skip
def test_a_tool_that_takes_files_is_given_those_changed_ones_that_upstream_looks_at(
    script: str, expected: str
) -> None:
    assert commands(script) == (expected,)


@pytest.mark.parametrize(
    "script",
    [
        "mypy src",
        "pylint src",
        "ruff check --fix .",
        "ruff check --exit-zero .",
        "ruff format .",
        "black .",
        "isort .",
        "flake8 . --exit-zero --max-complexity=10",
        "codespell -w",
        "cd src && ruff check .",
        "ruff check $FILES",
        "ruff check ../other",
        "black --check --exclude x .",
    ],
)
def test_a_tool_that_looks_at_the_whole_tree_or_changes_files_is_named(script: str) -> None:
    found = taken(job(script, name="lint"), TREE)
    assert found.options == {}
    (named,) = found.besides["lint"]
    assert named.endswith("(ci.yml:8)")


def test_black_is_left_alone_where_its_settings_leave_files_out() -> None:
    files = {"pyproject.toml": "[tool.black]\nextend-exclude = 'vendored'\n"}
    assert commands("black --check .", files=files) == ()


def test_what_only_tells_its_version_is_neither_taken_nor_named() -> None:
    found = taken(job("ruff --version", name="lint"), TREE)
    assert (found.options, found.besides) == ({}, {})


@pytest.mark.parametrize(
    ("install", "expected"),
    [
        ("pip install ruff==0.6.2", ("ruff==0.6.2",)),
        ("pip install -r lint.txt", ("ruff==0.5.0",)),
        ("pip install pytest", ("ruff",)),
        ("pip install 'ruff @ https://example.org/ruff.whl'", ("ruff",)),
        ("pip install git+https://example.org/ruff", ("ruff",)),
    ],
)
def test_the_tool_is_the_one_that_the_job_installs_from_the_index(
    install: str, expected: tuple[str, ...]
) -> None:
    found = taken(job(install, "ruff check .", name="lint"), {"lint.txt": "ruff==0.5.0\n"})
    assert found.options["lint.packages"][0] == expected


def test_the_plugins_of_flake8_come_with_it() -> None:
    install = "pip install flake8 flake8-bugbear==24 pep8-naming 'flake8-x @ https://e.org/x' tox"
    found = taken(job(install, "flake8 src", name="lint"))
    assert found.options["lint.packages"][0] == ("flake8", "flake8-bugbear==24", "pep8-naming")


@pytest.mark.parametrize("hooks", [".pre-commit-config.yaml", ".lintrunner.toml"])
def test_where_the_project_has_hooks_those_lint_and_what_they_do_not_run_is_named(
    hooks: str,
) -> None:
    found = taken(job("ruff check .", "mypy src", name="lint"), {hooks: ""})
    assert found.options == {}
    assert found.besides == {"lint": ("mypy src (ci.yml:10)",)}


def test_every_lint_job_counts_and_the_job_of_the_tests_too() -> None:
    workflows = {
        "ci.yml": job("flake8 --select=E9 .", "pytest -v"),
        "lint.yml": job("ruff check src", name="ruff"),
        "style.yml": job("black --check src", name="black"),
    }
    found = taken(workflows, TREE)
    assert found.options["lint.commands"] == (
        (
            "ruff check --force-exclude {files:src/*.py src/*.pyi}",
            "black --check {files:src/*.py src/*.pyi}",
            "flake8 --select=E9 {files:*.py}",
        ),
        ("lint.yml:8", "style.yml:8", "ci.yml:8"),
    )
    assert found.cells["lint"] == "lint.yml/ruff, style.yml/black, ci.yml/tests"
