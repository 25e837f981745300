"""A command of a script, known for what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.upstream.recipes.installs import Install
    from presubmit.upstream.recipes.kinds import Kind
    from presubmit.upstream.recipes.pytest_call import PytestCall
    from presubmit.upstream.recipes.shell_words import Word


class Recognised(Value, frozen=True, kw_only=True):
    """A command, known for what it is."""

    kind: Kind
    tool: str
    """`pytest`, `pip`, `tox`, `make`, `ruff`, …; the program itself where it is no tool that is known."""
    via: tuple[str, ...] = ()
    """Its wrappers, outermost first: `uv run`, `coverage run`, `python -m`, `xvfb-run`."""
    words: tuple[str, ...] = ()
    """All of it, wrappers included, expanded."""
    arguments: tuple[str, ...] = ()
    """Of the tool itself."""
    literal: bool = True
    """None of its words depends on what is not known."""
    env: tuple[tuple[str, Word], ...] = ()
    cwd: str | None = ""
    """Relative to the repository; None where it is not known."""
    line: int = 0
    """In its script, from 0."""
    condition: str = ""
    raw: str = ""
    python: str = ""
    """The interpreter that it names: a program or a version."""
    install: Install | None = None
    """What it installs; with a wrapper such as `uv run`, what that installs first."""
    pytest: PytestCall | None = None
    program: tuple[str, ...] = ()
    """The call of another runner of tests (unittest, Django's, a script of the project), wrappers apart."""
    targets: tuple[str, ...] = ()
    """Environments of tox, sessions of nox, targets of make, scripts of a manager."""
    environment: str = ""
    """The environment of a manager (`pixi run -e test`)."""
    origin: str = ""
    """Where `inner` was found: `tox.ini [testenv:docs]`, `Makefile`, `ci/test.sh`."""
    inner: tuple[Recognised, ...] = ()
    """The commands that it is known to run in its turn."""

    @property
    def name(self) -> str:
        """Give it as one would say it: `pytest`, `tox -e py312`, `make test`."""
        targets = ",".join(self.targets)
        if not targets:
            return self.tool
        flag = {"tox": " -e ", "nox": " -s "}.get(self.tool, " ")
        return f"{self.tool}{flag}{targets}"


def all_commands(command: Recognised) -> Iterable[Recognised]:
    """Give a command and everything that it is known to run."""
    yield command
    for inner in command.inner:
        yield from all_commands(inner)
