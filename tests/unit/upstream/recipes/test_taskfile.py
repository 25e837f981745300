from __future__ import annotations

from presubmit.upstream.recipes import taskfile

MAKE = """
PYTHON ?= python3
ARGS =
RUN = $(PYTHON) -m pytest \\
    --durations=5
export A := 1
.PHONY: test
.DEFAULT_GOAL := help
help:  ## Say what there is.
\t@echo help
test: build  ## Run the tests.
\t$(RUN) $(ARGS)
\t-@echo $$HOME
build: ; $(PYTHON) setup.py build_ext
loop: loop
\ttrue
"""


def recipe(target: str, **given: str) -> tuple[str, ...]:
    return taskfile.make_recipe(target, "", {"Makefile": MAKE}.get, given)


def test_a_recipe_begins_with_those_of_its_prerequisites() -> None:
    assert [line.split() for line in recipe("test", ARGS="-v")] == [
        ["python3", "setup.py", "build_ext"],
        ["python3", "-m", "pytest", "--durations=5", "-v"],
        ["echo", "$HOME"],
    ]


def test_a_variable_of_the_command_line_wins() -> None:
    assert recipe("build", PYTHON="py") == ("py setup.py build_ext",)


def test_the_first_target_is_the_default_one() -> None:
    assert recipe("") == ("echo help",)


def test_a_target_that_needs_itself_ends() -> None:
    assert recipe("loop") == ("true",)


def test_a_target_that_is_not_there_has_no_recipe() -> None:
    assert recipe("nothing") == ()
    assert taskfile.make_recipe("test", "docs", {"Makefile": MAKE}.get) == ()


def test_tasks_of_tasks_are_followed_but_not_in_circles() -> None:
    text = '[tool.poe.tasks]\na = ["b", "ruff check"]\nb = {shell = "pytest"}\nc = ["c", "d"]\nd = ["c"]'
    read = {"pyproject.toml": text}.get
    assert taskfile.task("poe", "a", read) == ("pytest", "ruff check")
    assert len(taskfile.task("poe", "c", read)) < 20


def test_what_a_pixi_task_depends_on_comes_first() -> None:
    text = '[tasks]\nbuild = "make"\ntest = {cmd = "pytest", depends-on = ["build"]}'
    assert taskfile.task("pixi", "test", {"pixi.toml": text}.get) == ("make", "pytest")


def test_the_groups_that_uv_installs_unasked() -> None:
    groups = "[dependency-groups]\ndev = []\ntest = []\n"
    assert taskfile.default_groups({"pyproject.toml": groups}.get) == ("dev",)
    chosen = groups + '[tool.uv]\ndefault-groups = ["test"]\n'
    assert taskfile.default_groups({"pyproject.toml": chosen}.get) == ("test",)
    every = groups + '[tool.uv]\ndefault-groups = "all"\n'
    assert taskfile.default_groups({"pyproject.toml": every}.get) == ("dev", "test")
    assert taskfile.default_groups(lambda _: None) == ()
