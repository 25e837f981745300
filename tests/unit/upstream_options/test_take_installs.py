from __future__ import annotations

import pytest

from presubmit.config import Config, Sourced, TestsConfig
from presubmit.upstream_options import in_use, said_of, with_upstream
from presubmit.upstream_options.taken import Taken
from tests.unit.upstream_options.made import job, taken


def options(*steps: str, files: dict[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    found = taken(job(*steps, "pytest"), files).options
    return {name: value for name, (value, _) in found.items() if name.startswith("build.")}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            "pip install -U pip pytest hypothesis==6.*",
            {"build.packages": ("pytest", "hypothesis==6.*")},
        ),
        ("pip install .[test]", {"build.extras": ("test",)}),
        ("pip install --group tests", {"build.groups": ("tests",)}),
        ("uv sync", {"build.groups": ("dev",)}),
        ("pip install -r req.txt", {"build.requirements": ("req.txt",)}),
        (
            "pip install pytest -c req.txt",
            {"build.packages": ("pytest",), "build.constraints": ("req.txt",)},
        ),
        ("pip install tox nox uv build pre-commit setuptools wheel", {}),
        ("pip install .", {}),
    ],
)
def test_installs_become_options_of_the_build(
    script: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert options(script, files={"req.txt": "pytest\n"}) == expected


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("pip install .[nope]", "not installed: nope of ci.yml:8 (the tree has no such extra)"),
        ("pip install --group no", "not installed: no of ci.yml:8 (the tree has no such group)"),
        ("pip install -r no.txt", "not installed: no.txt of ci.yml:8 (the tree has no such file)"),
        (
            "pip install git+https://example.org/x",
            "not installed: git+https://example.org/x of ci.yml:8 (not from the package index)",
        ),
        ("pip install -r half.txt", "not installed: half.txt of ci.yml:8 (not complete)"),
    ],
)
def test_what_the_tree_does_not_have_is_left_to_convention_and_said(
    script: str, note: str
) -> None:
    found = taken(job(script, "pytest"), {"half.txt": "-r gone.txt\n"})
    assert [*found.options] == ["tests.command"]
    assert note in found.notes


def test_each_requirement_has_the_line_that_names_it_first() -> None:
    found = taken(job("pip install a b", "pip install b c", "pytest"))
    assert found.options["build.packages"] == (
        ("a", "b", "c"),
        ("ci.yml:8", "ci.yml:8", "ci.yml:10"),
    )


def test_what_is_installed_after_the_tests_is_for_something_else() -> None:
    assert options("pip install a", "pytest", "pip install b", "pytest -v") == {
        "build.packages": ("a",)
    }


# --- generated sources ------------------------------------------------------------------------------------------------

MAKEFILE = "cython:\n\tcython mod/_fast.pyx\n"


def test_a_call_of_cython_before_the_build_is_made_here_too() -> None:
    found = taken(
        job("pip install cython", "make cython\npip install .", "pytest"), {"Makefile": MAKEFILE}
    )
    assert found.options["build.before"] == ("cython mod/_fast.pyx", "ci.yml:10, Makefile")


@pytest.mark.parametrize(
    "steps",
    [
        ("make cython", "pytest"),  # nothing installs it
        ("pip install cython", "pytest", "make cython"),
        ("pip install cython", "cd mod && cython _fast.pyx", "pytest"),
        ("pip install cython", "python -m build", "pytest"),
    ],
)
def test_other_builds_are_the_build_steps_own_business(steps: tuple[str, ...]) -> None:
    assert "build.before" not in taken(job(*steps), {"Makefile": MAKEFILE}).options


# --- what is filled in ------------------------------------------------------------------------------------------------

TAKEN = Taken(
    options={
        "tests.command": (("pytest", "-v"), "ci.yml:9"),
        "lint.commands": (("a {files}", "b {files}"), ("ci.yml:3", "ci.yml:4")),
    },
    cells={"tests": "ci.yml/tests", "lint": "ci.yml/lint"},
)


def test_what_the_configuration_names_is_not_filled_in() -> None:
    config = Sourced(
        config=Config(tests=TestsConfig(command=("own",))),
        origins={"tests.command": "presubmit.toml"},
    )
    filled = with_upstream(config, TAKEN)
    assert filled.config.tests.command == ("own",)
    assert filled.config.lint.commands == ("a {files}", "b {files}")
    assert filled.origins == {
        "tests.command": "presubmit.toml",
        "lint.commands": "upstream ci.yml:3",
        "lint.commands.0": "upstream ci.yml:3",
        "lint.commands.1": "upstream ci.yml:4",
    }
    assert in_use(config, TAKEN).cells == {"lint": "ci.yml/lint"}


def test_what_is_followed_and_what_is_not_run_is_said_in_a_line_each() -> None:
    taken = Taken(
        options=TAKEN.options,
        cells=TAKEN.cells,
        besides={"lint": tuple(f"tool{n} (ci.yml:{n})" for n in range(5))},
    )
    assert said_of(taken) == [
        "tests as in ci.yml/tests: pytest -v (ci.yml:9)",
        "lint as in ci.yml/lint",
        "not run here: tool0 (ci.yml:0); tool1 (ci.yml:1); tool2 (ci.yml:2); and 2 more   presubmit replay lint",
    ]
