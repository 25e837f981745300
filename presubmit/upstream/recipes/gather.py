"""Gathers what a run can take over from the steps of an upstream job.

Only what is known for certain is taken over; everything else is named, with the reason.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.upstream.recipes import taskfile, toxfile
from presubmit.upstream.recipes.gather_actions import (
    lint_actions,
    python_of_job,
    unusual_actions,
    version_of,
)
from presubmit.upstream.recipes.installs import Install
from presubmit.upstream.recipes.job_commands import (
    Placed,
    StepScript,
    action_of,
    leaves,
    read_job,
    relative,
)
from presubmit.upstream.recipes.kinds import Kind
from presubmit.upstream.recipes.narrowing import Needs
from presubmit.upstream.recipes.recipe import (
    CommandStep,
    InstallStep,
    NotTaken,
    Recipe,
    Runner,
    TestRun,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from presubmit.upstream.recipes.commands import Recognised
    from presubmit.upstream.recipes.pytest_call import PytestCall
    from presubmit.upstream.recipes.shell_words import Word

    Read = Callable[[str], str | None]

_NOT_OURS: Final = re.compile(
    r"GITHUB_\w+|RUNNER_\w+|ACTIONS_\w+|INPUT_\w+|\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|CREDENTIALS)"
    # Colours end up in logs that are read.
    r"|FORCE_COLOR|PY_COLORS|CLICOLOR_FORCE|COLOR|MYPY_FORCE_COLOR|PRE_COMMIT_COLOR|TERM|HOME|PATH|PWD"
)
_RUNNERS: Final = {
    "uv run": Runner.UV_RUN,
    "poetry run": Runner.POETRY,
    "pdm run": Runner.PDM,
    "pixi run": Runner.PIXI,
    "conda run": Runner.CONDA,
    "mamba run": Runner.CONDA,
    "micromamba run": Runner.CONDA,
}
_TOOLS: Final = {
    "tox": Runner.TOX,
    "nox": Runner.NOX,
    "make": Runner.MAKE,
    "hatch": Runner.HATCH,
    "pdm": Runner.PDM,
    "poetry": Runner.POETRY,
    "pixi": Runner.PIXI,
    "spin": Runner.SPIN,
    **dict.fromkeys(("poe", "task", "just", "invoke", "inv", "rye", "bash"), Runner.SCRIPT),
}
_PACKAGES: Final = {
    "sphinx-build": "sphinx",
    "sphinx": "sphinx",
    "dmypy": "mypy",
    "stubtest": "mypy",
    "mypy.stubtest": "mypy",
    "pre_commit": "pre-commit",
    "prek": "prek",
}


def recipe_of(
    steps: Sequence[StepScript],
    *,
    file: str,
    read: Read = lambda _: None,
    project: str = "",
    repository: str = "",
) -> Recipe:
    """Gather what can be taken over from the steps of one cell.

    `file` is `ci.yml`, `project` the distribution's name, `repository` the project's `owner/name` on GitHub.
    """
    return _Gathering(steps, file, read, project, repository).recipe()


class _Gathering:
    def __init__(
        self, steps: Sequence[StepScript], file: str, read: Read, project: str, repository: str
    ) -> None:
        self.steps = steps
        self.file = file
        self.read = read
        self.project = canonicalize_name(project)
        self.job = read_job(steps, read)
        self.not_taken: list[NotTaken] = []
        self.tests: list[TestRun] = []
        self.installs: list[InstallStep] = []
        self.found: dict[Kind, list[CommandStep]] = {Kind.BUILD: [], Kind.LINT: [], Kind.DOCS: []}
        self.foreign: tuple[str, ...] = ()
        """Where other repositories lie."""
        self.home = ""
        """Where the project itself lies."""
        for step in steps:
            if action_of(step.uses) == "actions/checkout":
                place = _folder(step.inputs.get("path", ""))
                if step.inputs.get("repository", "").casefold() in {"", repository.casefold()}:
                    self.home = place
                else:
                    self.foreign += (place,)

    def recipe(self) -> Recipe:
        last = max(
            (n for n, p in enumerate(self.job.commands) if p.command.kind is Kind.TEST), default=-1
        )
        for number, placed in enumerate(self.job.commands):
            self.take(placed, before=number <= last or last < 0)
        python, origin = python_of_job(self.steps, self.file)
        lost = [
            NotTaken(origin=f"{self.file}:{x.line}", what=x.what, why=x.why) for x in self.job.lost
        ]
        return Recipe(
            tests=tuple(self.tests),
            installs=tuple(self.installs),
            builds=tuple(self.found[Kind.BUILD]),
            lints=(*lint_actions(self.steps, self.file), *self.found[Kind.LINT]),
            docs=tuple(self.found[Kind.DOCS]),
            python=python,
            python_origin=origin,
            not_taken=(*unusual_actions(self.steps, self.file), *lost, *self.not_taken),
        )

    def take(self, placed: Placed, *, before: bool) -> None:
        command = placed.command
        kind = command.kind
        if kind is Kind.SILENT or (
            not before and kind in {Kind.INSTALL, Kind.BUILD, Kind.SETUP, Kind.OTHER}
        ):
            return
        wanted = {Kind.TEST, Kind.INSTALL, *self.found}
        if kind in {Kind.RELEASE, Kind.BENCH} or (kind not in wanted and _harmless(command)):
            return
        if kind not in wanted:
            why = "prepares the machine" if kind is Kind.SETUP else "what it does is not known"
            self.refuse(placed, why)
        elif not placed.certain:
            why = (
                f"only under `{command.condition}`"
                if command.condition
                else "its step's condition is not known"
            )
            self.refuse(placed, why)
        elif command.cwd is None:
            self.refuse(placed, "in which folder it runs is not known")
        elif (away := self.away(command.cwd)) and not (
            kind is Kind.INSTALL and _concerns_us(command.install, self.home)
        ):
            self.refuse(placed, away)
        elif kind is Kind.TEST:
            self.tests += self.test_runs(placed)
        elif kind is Kind.INSTALL:
            self.installs += self.install_steps(placed)
        else:
            self.found[kind] += self.command_steps(placed)

    def refuse(self, placed: Placed, why: str) -> None:
        what = " ".join(placed.command.raw.split())
        self.not_taken.append(NotTaken(origin=self.origin(placed), what=what, why=why))

    def origin(self, placed: Placed) -> str:
        return f"{self.file}:{placed.line}"

    def away(self, cwd: str) -> str:
        """Say where a command works, if not on the project."""
        if cwd.startswith(("..", "/")):
            return "it runs outside of the checkout"
        if self.home and _below(cwd, self.home):
            return ""
        if any(_below(cwd, place) for place in self.foreign):
            return "it works on another repository"
        return f"it runs outside of the checkout, which is in {self.home}" if self.home else ""

    def within(self, cwd: str) -> str:
        """Give a folder relative to the project's checkout."""
        return cwd[len(self.home) + 1 :] if self.home and _below(cwd, self.home) else cwd

    # --- tests ---

    def test_runs(self, placed: Placed) -> list[TestRun]:
        outer = placed.command
        self.with_wrapper(placed)
        runs: list[TestRun] = []
        if outer.tool == "tox":
            runs = [run for name in outer.targets or ("",) for run in self.tox_runs(placed, name)]
        else:
            calls = [
                c
                for _, c in leaves((placed,))
                if (c.pytest is not None or c.program) and c.kind is Kind.TEST
            ]
            if outer.tool in {"make", "bash"} or outer.origin:
                self.inner_installs(placed)
            runs = [self.test_run(placed, call) for call in calls or [outer]]
        return runs

    def test_run(self, placed: Placed, call: Recognised) -> TestRun:
        outer = placed.command
        runner = _runner(outer)
        env, unknown = self.environment(placed, call)
        pytest = (
            self.localised(call.pytest, call.cwd or "", placed)
            if call.pytest is not None
            else None
        )
        if call.condition and call is not outer:
            unknown = (*unknown, f"only under `{call.condition}` in {outer.origin or outer.tool}")
        needs = Needs.NOTHING
        if pytest is not None and {"-I", "-E"} & set(pytest.python_options):
            needs = Needs.SITE_PACKAGES
        if pytest is None and not call.program and runner in {Runner.OTHER, Runner.SCRIPT}:
            needs = Needs.UNKNOWN
        return TestRun(
            origin=self.origin(placed),
            runner=runner,
            command=outer.words,
            pytest=pytest,
            program=call.program,
            cwd=self.within(call.cwd or ""),
            env=env,
            targets=outer.targets,
            python=version_of(outer.python),
            needs=needs,
            found_in=outer.origin if call is not outer else "",
            unknown=(*unknown, *(pytest.unknown if pytest else ())),
        )

    def tox_runs(self, placed: Placed, name: str) -> list[TestRun]:
        outer = placed.command
        name = name or next(iter(toxfile.tox_default_environments(self.read)), "py")
        tox = toxfile.tox_environment(name, self.read)
        calls = [c for _, c in leaves((placed,)) if c.pytest is not None or c.program]
        if len(outer.targets) > 1 and tox is not None:
            # The commands of all environments came in one list; those of this one are told by their text.
            calls = [c for c in calls if c.raw in "\n".join(tox.commands)]
        env, unknown = self.environment(placed, calls[0] if calls else outer)
        pytest = (
            self.localised(calls[0].pytest, calls[0].cwd or "", placed)
            if calls and calls[0].pytest
            else None
        )
        run = TestRun(
            origin=self.origin(placed),
            runner=Runner.TOX,
            command=outer.words,
            pytest=pytest,
            program=calls[0].program if calls else (),
            cwd=self.within((calls[0].cwd if calls else outer.cwd) or ""),
            env=env,
            targets=(name,),
            python=(tox.python if tox else "") or toxfile.python_of(name),
            needs=Needs.TOX_OVERRIDE,
            tox=tox,
            found_in=tox.origin if tox is not None and calls else "",
            unknown=(
                *unknown,
                *(() if outer.literal else (outer.raw,)),
                *(pytest.unknown if pytest else ()),
            ),
        )
        if tox is not None and (tox.deps or tox.extras or tox.groups or tox.installs_project):
            self.installs.append(
                InstallStep(origin=self.origin(placed), tool="tox", install=_tox_install(tox))
            )
        return [run]

    def localised(self, call: PytestCall, cwd: str, placed: Placed) -> PytestCall:
        """Write paths below the workspace relative to where pytest runs."""
        workspace = placed.variables["GITHUB_WORKSPACE"].rstrip("/") + "/"

        def local(text: str) -> str:
            if workspace not in text:
                return text
            up = posixpath.relpath(".", cwd or ".")
            return text.replace(workspace, "" if up == "." else up + "/")

        return msgspec.structs.replace(
            call,
            paths=tuple(local(text) for text in call.paths),
            options=tuple(local(text) for text in call.options),
        )

    # --- installs and others ---

    def install_steps(self, placed: Placed) -> list[InstallStep]:
        install = placed.command.install
        if install is None:
            self.refuse(placed, "what it installs is not known")
            return []
        if install.unknown:
            self.refuse(placed, f"not known: {', '.join(install.unknown)}")
        install = self.ours(install, placed)
        if install == Install(upgrade=install.upgrade, no_deps=install.no_deps):
            return []
        env, _ = self.environment(placed, placed.command)
        return [
            InstallStep(
                origin=self.origin(placed), install=install, tool=placed.command.tool, env=env
            )
        ]

    def ours(self, install: Install, placed: Placed) -> Install:
        """Find the project among the requirements (`pip install --find-links dist pkg[test]`); leave pip itself out."""
        kept: list[str] = []
        install = self.expanded(install)
        fields = {name: getattr(install, name) for name in Install.__struct_fields__}
        for text in install.requirements:
            linked = text.startswith("-e ")
            place = text.removeprefix("-e ").partition("[")[0].removeprefix("./")
            if self.home and place == self.home:
                fields |= {"project": True, "editable": linked, "built": False}
                continue
            local = "./" + relative(posixpath.normpath(text), placed.variables["GITHUB_WORKSPACE"])
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                kept.append(
                    local if text.startswith("/") and not local.startswith("./..") else text
                )
                continue
            name = canonicalize_name(requirement.name)
            if name == self.project:
                fields |= {
                    "project": True,
                    "built": True,
                    "extras": (*install.extras, *sorted(requirement.extras)),
                }
            elif name != "pip":
                kept.append(text)
        return Install(**{**fields, "requirements": tuple(kept)})

    def expanded(self, install: Install) -> Install:
        """Put names in the place of `all` and of uv's defaults."""
        groups = [g for g in install.groups if g != "*"]
        groups += taskfile.named_groups(self.read) if "*" in install.groups else ()
        groups += taskfile.default_groups(self.read) if install.default_groups else ()
        extras = [e for e in install.extras if e != "*"]
        extras += taskfile.named_extras(self.read) if "*" in install.extras else ()
        return msgspec.structs.replace(
            install,
            groups=tuple(dict.fromkeys(groups)),
            extras=tuple(dict.fromkeys(extras)),
            default_groups=False,
        )

    def with_wrapper(self, placed: Placed) -> None:
        """`uv run --with x pytest` installs, too."""
        install = placed.command.install
        if (
            install is not None
            and placed.command.kind is not Kind.INSTALL
            and placed.command.tool not in {"tox", "nox"}
        ):
            install = self.ours(install, placed)
            self.installs.append(
                InstallStep(origin=self.origin(placed), install=install, tool=_via(placed.command))
            )

    def inner_installs(self, placed: Placed) -> None:
        for _, command in leaves((placed,)):
            if (
                command is not placed.command
                and command.install is not None
                and not command.condition
            ):
                install = self.ours(command.install, placed)
                self.installs.append(
                    InstallStep(origin=self.origin(placed), install=install, tool=_via(command))
                )

    def command_steps(self, placed: Placed) -> list[CommandStep]:
        """Give the command; behind tox, make and scripts, those that they are known to run."""
        outer = placed.command
        inner = [
            c
            for _, c in leaves((placed,))
            if c.kind is outer.kind and not c.inner and c is not outer
        ]
        return [self.command_step(placed, command) for command in inner or [outer]]

    def command_step(self, placed: Placed, command: Recognised) -> CommandStep:
        env, unknown = self.environment(placed, command)
        return CommandStep(
            origin=self.origin(placed),
            tool=command.tool,
            script=command.raw,
            words=command.words,
            arguments=command.arguments,
            cwd=self.within(command.cwd or ""),
            env=env,
            requirement=self.pinned(command),
            found_in=placed.command.origin if command is not placed.command else "",
            literal=command.literal and not unknown and not command.condition,
        )

    def pinned(self, command: Recognised) -> str:
        """Give the requirement with which the job installs a tool: on a command line, else in a file."""
        wanted = canonicalize_name(_PACKAGES.get(command.tool, command.tool))
        installs = [command.install] if command.install is not None else []
        installs += [c.install for _, c in leaves(self.job.commands) if c.install is not None]
        files = [
            self.read(path) or "" for install in installs for path in install.requirement_files
        ]
        lines = [text for install in installs for text in install.requirements]
        lines += [line.partition(" #")[0].strip() for text in files for line in text.splitlines()]
        for line in lines:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue
            if canonicalize_name(requirement.name) == wanted:
                return line
        return ""

    def environment(
        self, placed: Placed, command: Recognised
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Give the variables of a command, GitHub's own left out; and those whose value is not known."""
        given = {
            name: value
            for name, value in placed.variables.items()
            if not _NOT_OURS.fullmatch(name)
        }
        own: dict[str, Word] = dict(command.env)
        unknown = tuple(
            f"${name}"
            for name, word in own.items()
            if not word.literal and not _NOT_OURS.fullmatch(name)
        )
        known = {
            name: word.text
            for name, word in own.items()
            if word.literal and not _NOT_OURS.fullmatch(name)
        }
        return {n: v for n, v in {**given, **known}.items() if f"${n}" not in unknown}, unknown


def _folder(path: str) -> str:
    found = posixpath.normpath(path) if path else ""
    return "" if found == "." else found


def _below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


def _concerns_us(install: Install | None, home: str) -> bool:
    """Whether an install that is started elsewhere names packages of the index, or the project itself."""
    if install is None or install.project or install.requirement_files:
        return False
    places = [text.removeprefix("-e ").partition("[")[0] for text in install.requirements]
    local = [place.removeprefix("./") for place in places if place.startswith((".", "/"))]
    return not (install.extras or install.groups) and all(
        home and _below(place, home) for place in local
    )


def _via(command: Recognised) -> str:
    """Say what it is that installs."""
    wrapper = next((v for v in command.via if v in {"uv run", "uvx", "pipx run"}), command.tool)
    return command.tool if command.kind is Kind.INSTALL else wrapper


def _harmless(command: Recognised) -> bool:
    """Whether leaving it out cannot matter to the tests: git's settings, environments that we make ourselves."""
    if command.tool in {
        "git",
        "venv",
        "virtualenv",
        "ensurepip",
        "tee",
        "sleep",
        "source",
        ".",
        "hash",
        "rm",
        "mkdir",
    }:
        return command.tool != "git" or command.arguments[:1] in {
            ("config",),
            ("fetch",),
            ("log",),
            ("status",),
            ("describe",),
        }
    return command.tool in {"uv", "pip", "python"} and command.kind is Kind.SETUP


def _runner(command: Recognised) -> Runner:
    named = next((_RUNNERS[via] for via in command.via if via in _RUNNERS), None)
    if command.tool == "pytest":
        return named or Runner.DIRECT
    if command.tool in _TOOLS:
        return _TOOLS[command.tool]
    return Runner.SCRIPT if command.inner else (named or Runner.OTHER)


def _tox_install(tox: toxfile.ToxEnvironment) -> Install:
    files: list[str] = []
    constraints: list[str] = []
    lines: list[str] = []
    for line in tox.deps:
        named = re.match(r"(-[rc])\s*(\S+)$", line)
        if named is None:
            lines.append(line)
        else:
            path = posixpath.normpath(named[2])
            (files if named[1] == "-r" else constraints).append(path)
    return Install(
        requirements=tuple(line for line in lines if "$" not in line),
        unknown=tuple(line for line in lines if "$" in line),
        requirement_files=tuple(files),
        constraint_files=tuple(constraints),
        extras=tox.extras,
        groups=tox.groups,
        project=tox.installs_project,
        editable=tox.editable,
    )
