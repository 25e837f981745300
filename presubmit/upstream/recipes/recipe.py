"""What a run can take over from an upstream job: how it tests, what it installs and builds before, how it lints."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from presubmit.upstream.recipes.installs import Install
from presubmit.upstream.recipes.narrowing import Needs
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.upstream.recipes.pytest_call import PytestCall
    from presubmit.upstream.recipes.toxfile import ToxEnvironment


class Runner(StrEnum):
    """Who calls pytest."""

    DIRECT = "direct"
    UV_RUN = "uv run"
    TOX = "tox"
    NOX = "nox"
    MAKE = "make"
    HATCH = "hatch"
    PDM = "pdm"
    POETRY = "poetry"
    PIXI = "pixi"
    CONDA = "conda"
    SPIN = "spin"
    SCRIPT = "script"
    OTHER = "other"
    """Neither pytest nor behind anything: unittest, ctest, cargo test, a program of the project's own."""


class TestRun(Value, frozen=True, kw_only=True):
    """One call of the tests."""

    __test__ = False

    origin: str
    """`ci.yml:31`."""
    runner: Runner
    command: tuple[str, ...]
    """As upstream calls it, assignments apart."""
    pytest: PytestCall | None = None
    """What pytest is told, where that is known: also behind tox, make and scripts, out of their files."""
    program: tuple[str, ...] = ()
    """The call of another runner that is known, wrappers apart: `python -m unittest discover`."""
    cwd: str = ""
    env: dict[str, str] = {}
    targets: tuple[str, ...] = ()
    """Environments of tox, sessions of nox, targets of make."""
    python: str = ""
    """The version that this call asks for, where it is not the job's."""
    needs: Needs = Needs.NOTHING
    tox: ToxEnvironment | None = None
    found_in: str = ""
    """Where the pytest call stands, if not in the workflow: `tox.ini [testenv]`, `Makefile`."""
    unknown: tuple[str, ...] = ()
    """Words and variables of it that depend on what is not known; they are left out."""


class InstallStep(Value, frozen=True, kw_only=True):
    """One install before the tests."""

    origin: str
    install: Install
    tool: str
    env: dict[str, str] = {}


class CommandStep(Value, frozen=True, kw_only=True):
    """One other command: a build, a lint, the documentation."""

    origin: str
    tool: str
    script: str
    """As it is written, for a shell."""
    words: tuple[str, ...]
    """Expanded; wrappers included."""
    arguments: tuple[str, ...] = ()
    """Of the tool itself."""
    cwd: str = ""
    env: dict[str, str] = {}
    requirement: str = ""
    """The tool's requirement as this job installs it: `ruff==0.6.2`; empty where it does not say."""
    found_in: str = ""
    """Where it stands, if not in the workflow: `tox.ini [testenv:lint]`, `Makefile`."""
    literal: bool = True


class NotTaken(Value, frozen=True, kw_only=True):
    """Something that could not be taken over."""

    origin: str
    what: str
    why: str


class Recipe(Value, frozen=True, kw_only=True):
    """Everything that can be taken over from one job."""

    tests: tuple[TestRun, ...] = ()
    installs: tuple[InstallStep, ...] = ()
    """Before the first test run, or all of them where there is none."""
    builds: tuple[CommandStep, ...] = ()
    lints: tuple[CommandStep, ...] = ()
    docs: tuple[CommandStep, ...] = ()
    python: str = ""
    """`3.12`, `pypy3.11`, `3.13t`: what the job sets up."""
    python_origin: str = ""
    not_taken: tuple[NotTaken, ...] = ()

    @property
    def install(self) -> Install:
        """All installs as one."""
        return merged(step.install for step in self.installs)


def merged(installs: Iterable[Install]) -> Install:
    """Make one install of several, in order; later settings of the project add to earlier ones."""
    every = tuple(installs)

    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for one in every for text in getattr(one, name)))

    own = [one for one in every if one.project]
    return Install(
        requirements=all_of("requirements"),
        extras=all_of("extras"),
        groups=all_of("groups"),
        requirement_files=all_of("requirement_files"),
        constraint_files=all_of("constraint_files"),
        set_aside=all_of("set_aside"),
        unknown=all_of("unknown"),
        config_settings=tuple(setting for one in own for setting in one.config_settings),
        project=bool(own),
        editable=bool(own) and own[-1].editable,
        built=bool(own) and own[-1].built,
        no_build_isolation=any(one.no_build_isolation for one in own),
        no_deps=bool(own) and all(one.no_deps for one in own),
        upgrade=any(one.upgrade for one in every),
        prereleases=any(one.prereleases for one in every),
    )
