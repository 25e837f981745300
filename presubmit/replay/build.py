"""The build step: an environment, what is needed in it, the project's own build, and proof of its extension modules.

Stages with credentials (for a private index) run no code of the project; stages that run it have none.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from packaging.requirements import InvalidRequirement, Requirement

from presubmit.convention import is_local_requirement, is_native
from presubmit.overlay import OverlayRefusedError
from presubmit.replay.assignment import BESIDE, TRACER
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script
from presubmit.replay.overlaying import import_packages, lay_over
from presubmit.replay.steps import network_of, trouble
from presubmit.values import Build, Finding, Outcome, StepResult, assigned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.container.model import ExecResult
    from presubmit.container.network import NetworkSettings
    from presubmit.replay.assignment import Lane
    from presubmit.replay.steps import Bench
    from presubmit.values import Overlay

_NETWORK_FAULT: Final = re.compile(
    r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError|ConnectionError|NewConnectionError"
    r"|Max retries exceeded|Temporary failure in name resolution|Name or service not known|ProxyError"
    r"|ReadTimeoutError|ConnectTimeoutError|Could not fetch URL|Network is unreachable",
)
_COVERAGE: Final = "coverage>=7.2,<7.18"
"""For Python 3.8 there is 7.6.1. Of it the C tracer alone is used, and whether that works here is tried out."""
TRACER_READY: Final = "presubmit-ready"
"""Marks a folder whose tracer was tried out, in the environment's own Python."""
_MOST_TRACER_SECONDS: Final = 60.0
"""A build does not wait longer for what only recording needs."""
_LEAST_SPACE: Final = 1 << 20
_NOT_OURS: Final = 3
"""How the import of an overlay ends where another file was imported."""
_NO_SUCH_VERSION: Final = re.compile(r"\(from versions: none\)")


class BuildStopped(Exception):  # noqa: N818 - not an error: the step's end
    """The build ended early, with this result."""

    def __init__(self, result: StepResult) -> None:
        super().__init__(result.reason)
        self.result = result


class InstallStopped(BuildStopped):
    """What it needs could not be installed."""

    network = False
    """The index was not reached, so nothing else can be installed either."""


def stamp_path(environment: str | Path) -> Path:
    """Where it is written which build an environment holds; outside of what a box can write."""
    folder = Path(environment)
    return folder.with_name(f"{folder.name}.json")


def read_stamp(environment: str | Path) -> dict[str, Any]:
    """Read the stamp of an environment; empty where there is none or it is damaged."""
    try:
        stamp = json.loads(stamp_path(environment).read_bytes())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def add_to_stamp(environment: str | Path, **more: object) -> None:
    """Add to the stamp of an environment, in one step."""
    path = stamp_path(environment)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({**read_stamp(environment), **more}))
    temporary.replace(path)


def lacks_tracer(environment: str | Path, work: Build) -> bool:
    """Tell whether recording needs what is not there, and that may be had: a failure is not tried again unasked."""
    if work.record == "no" or has_tracer(environment):
        return False
    return work.record == "yes" or not read_stamp(environment).get("recorder")


def has_tracer(environment: str | Path) -> bool:
    """Tell whether a tracer that works is installed beside an environment."""
    folder = Path(environment) / TRACER
    return not folder.is_symlink() and (folder / TRACER_READY).is_file()


def lacks_beside(environment: str | Path, work: Build) -> bool:
    """Tell whether benchmarks need what is not installed beside an environment, or was installed by other words."""
    if not work.beside:
        return False
    there = Path(environment) / BESIDE
    wanted = list(work.beside)
    return (
        there.is_symlink() or not there.is_dir() or read_stamp(environment).get("beside") != wanted
    )


def run_build(bench: Bench, work: Build) -> StepResult:
    """Build and install the project in the lane's environment."""
    before = tuple(read_stamp(bench.lane.host_environment).get("modules", ()))
    stamp_path(bench.lane.host_environment).unlink(missing_ok=True)
    builder = _Builder(bench, work)
    try:
        modules = builder.build(before)
    except InstallStopped as stopped:
        if work.otherwise is None or stopped.network:
            return stopped.result
        why = f"what upstream installs cannot be installed here: {stopped.result.reason}"
        otherwise = msgspec.structs.replace(work.otherwise, record=work.record, beside=work.beside)
        builder = _Builder(bench, otherwise, notes=(why,))
        try:
            modules = builder.build(before)
        except BuildStopped as again:
            return again.result
    except BuildStopped as stopped:
        return stopped.result
    add_to_stamp(
        bench.lane.host_environment,
        key=work.key,
        modules=modules,
        project=builder.project,
        notes=builder.notes,
        recorder=builder.unrecorded,
        beside=builder.beside,
    )
    return builder.result(Outcome.PASSED, modules=tuple(modules))


class _Builder:
    def __init__(self, bench: Bench, work: Build, *, notes: Iterable[str] = ()) -> None:
        self.bench = bench
        self.work = work
        self.notes = [*notes]
        self.command: tuple[str, ...] = ()
        self.project = work.project
        self.beside: list[str] = []
        self.unrecorded = ""
        """Why no run in this environment can be recorded."""
        self.network: NetworkSettings = network_of(bench.lane)
        self.python = f"{bench.lane.environment}/venv/bin/python"

    def build(self, before: Sequence[str]) -> list[str]:
        """Do all the stages; gives the extension modules. Raises BuildStopped."""
        work = self.work
        if work.clean:
            shutil.rmtree(f"{self.bench.lane.host_environment}/build", ignore_errors=True)
        self._environment()
        self.bench.say("installing requirements")
        self._requirements()
        self._tracer()
        self._beside()
        if work.mode == "none":
            return []
        if work.overlay is not None:
            self._overlay(work.overlay)
            return []
        if work.stale_generated:
            reason = (
                f"{work.stale_generated[0]} is generated from a changed Cython source, and the build does "
                "not generate it anew: the change would not be in what is tested"
            )
            hint = "say how in build.before (`cython pkg/mod.pyx`), or commit the new file"
            raise BuildStopped(self.result(Outcome.ERROR, f"{reason}; {hint}"))
        self.bench.say("building")
        if work.before:
            self._project(("sh", "-c", work.before), shown=work.before)
        if work.mode == "command":
            self.command = ("sh", "-c", work.command)
            self._project(self.command, shown=work.command)
        else:
            self._pep517()
        self._runtime_requirements()
        return self._extensions(before)

    def result(
        self,
        outcome: Outcome,
        reason: str = "",
        *,
        findings: tuple[Finding, ...] = (),
        modules: tuple[str, ...] = (),
    ) -> StepResult:
        """Give the step's result as it stands now."""
        step = self.bench.step
        return StepResult(
            id=step.id,
            role=step.role,
            outcome=outcome,
            reason=reason,
            required=step.required,
            command=self.command,
            origin=step.origin,
            seconds=self.bench.seconds,
            log=self.bench.log_name,
            findings=findings,
            notes=tuple(self.notes),
            modules=modules,
        )

    # --- stages -------------------------------------------------------------------------------------------------------

    def _environment(self) -> None:
        """Make the virtual environment, unless a whole one is there."""
        folder = Path(self.bench.lane.host_environment)
        marker = folder / "venv" / "presubmit-made"
        if marker.is_file() and not marker.is_symlink():
            return
        self.bench.say("making the environment")
        shutil.rmtree(folder / "venv", ignore_errors=True)
        venv = f"{self.bench.lane.environment}/venv"
        # An installed build that no requirement names is the interpreter's own.
        own = self.work.overlay is not None and not self.work.overlay.installed
        command = (self.work.python, "-m", "venv", *(("--system-site-packages",) if own else ()))
        made = self._run((*command, venv), env={})
        if not made.ok:
            raise self._not_installed(
                made,
                f"{self.work.python} cannot make a virtual environment",
                "it needs Python's venv module (Debian: python3-venv): `presubmit image check`",
            )
        marker.touch()

    def _requirements(self) -> None:
        build = tuple(self.work.build_requires)
        named = [r for r in self.work.requirements if r.lines]
        remote = tuple(line for line in build if not is_local_requirement(line))
        if remote:
            self._install(remote, "build requirements")
        if self.work.overlay is not None and self.work.overlay.installed:
            self._install(self.work.overlay.installed, "the installed build", constrain=True)
        for requirements in named:
            self._install(requirements.lines, requirements.origin, constrain=True)
        local = (*self.work.local_requirements, *(x for x in build if is_local_requirement(x)))
        if local:
            # A path, URL or repository is code that the change may have written: no credentials.
            self._install(local, "local requirements", project_code=True)

    def _tracer(self) -> None:
        """See to it that runs can be recorded: from Python 3.12 by itself, else by coverage in a folder of its own.

        The project's tests must not see it: neither a distribution more nor another version of one. That it is not
        there harms nothing else.
        """
        environment = self.bench.lane.host_environment
        if self.work.record == "no" or has_tracer(environment):
            return
        inside = f"{self.bench.lane.environment}/{TRACER}"
        there = Path(environment) / TRACER
        if there.is_symlink():
            there.unlink()
        shutil.rmtree(there, ignore_errors=True)
        with OutputFolder(self.bench.lane) as out:
            alone = self._run(
                (self.python, "-I", "-c", script("presubmit_recorder/monitor")),
                cwd=out.inside,
                env={},
                shown="# can this Python record by itself? (no: coverage's tracer is installed)",
            )
        if alone.ok:
            there.mkdir()
            (there / TRACER_READY).touch()
        else:
            self._install_tracer(there, inside)

    def _install_tracer(self, there: Path, inside: str) -> None:
        options = ("--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "10")
        command = (self.python, *PIP, "install", *options, "--target", inside, _COVERAGE)
        with OutputFolder(self.bench.lane) as out:
            done = self._run(
                command, cwd=out.inside, env=self.network.env_full, most=_MOST_TRACER_SECONDS
            )
            if done.ok:
                done = self._run(
                    (self.python, "-I", "-c", script("presubmit_recorder/tracer"), inside),
                    cwd=out.inside,
                    env={},
                    shown="# does coverage's tracer work here?",
                )
        if done.ok and there.is_dir() and not there.is_symlink():
            (there / TRACER_READY).touch()
        else:
            shutil.rmtree(there, ignore_errors=True)
            self.unrecorded = trouble(done) or last_error(done.tail)

    def _beside(self) -> None:
        """Install what reads the suites of benchmarks, in a folder of its own; the build does not hang on it."""
        environment = self.bench.lane.host_environment
        if not lacks_beside(environment, self.work):
            self.beside = list(self.work.beside)
            return
        there = Path(environment) / BESIDE
        if there.is_symlink():
            there.unlink()
        shutil.rmtree(there, ignore_errors=True)
        inside = f"{self.bench.lane.environment}/{BESIDE}"
        command = (*(self.python, *PIP, "install", "--target", inside), *self.work.beside)
        with OutputFolder(self.bench.lane) as out:
            done = self._download(command, cwd=out.inside)
        if done.ok:
            self.beside = list(self.work.beside)
        else:
            reason = trouble(done) or last_error(done.tail)
            self.notes.append(f"{', '.join(self.work.beside)} could not be installed: {reason}")

    def _install(
        self,
        lines: Iterable[str],
        origin: str,
        *,
        constrain: bool = False,
        project_code: bool = False,
    ) -> None:
        """Install requirement lines with pip; raises BuildStopped where that fails."""
        cwd = self.bench.lane.source if project_code else None
        locked = self.work.constraints if constrain else None
        with OutputFolder(self.bench.lane) as out:
            named = out.write("requirements.txt", _as_file(lines))
            command = [self.python, *PIP, "install", "-r", named]
            for path in self.work.constraint_files if constrain else ():
                command += ["-c", f"{self.bench.lane.source}/{path}"]
            held = [*command]
            if locked is not None:
                held += ["-c", out.write("constraints.txt", _as_file(locked.lines))]
            if project_code:
                done = self._run(held, cwd=cwd, env=self.network.env_bare)
            else:
                done = self._download(held, cwd=out.inside)
            if not done.ok and locked is not None and not _NETWORK_FAULT.search(done.tail):
                self.notes.append(
                    f"{locked.origin} is not followed: its versions cannot be installed here"
                )
                done = self._download(command, cwd=out.inside)
        if not done.ok:
            raise self._not_installed(
                done, f"could not install {origin}", _install_hint(done.tail)
            )

    def _download(self, command: Sequence[str], *, cwd: str) -> ExecResult:
        """Run pip where the credentials are; then only wheels, since an sdist would run code of its own."""
        if not self.network.secrets:
            return self._run(command, cwd=cwd, env=self.network.env_full)
        wheels = (*command, "--only-binary", ":all:")
        done = self._run(wheels, cwd=cwd, env=self.network.env_full)
        if done.ok or done.outcome != "exited":
            return done
        self.notes.append(
            "some requirements have no wheel: they were built without index credentials"
        )
        return self._run(command, cwd=cwd, env=self.network.env_bare)

    def _overlay(self, overlay: Overlay) -> None:
        """Lay the tree's Python over the build that is installed, and import it."""
        self.bench.say("laying the tree's Python over the installed build")
        self.command = ("# overlay", *overlay.packages)
        lane = self.bench.lane
        try:
            laid, done = lay_over(overlay, lane, self._run, self.python)
        except OverlayRefusedError as refused:
            reason = f"{refused}; {refused.hint}"
            raise BuildStopped(self.result(Outcome.ERROR, reason)) from refused
        if laid is None:
            raise BuildStopped(self._ours(done, "the overlay could not be made", ""))
        self.notes.append(laid.note)
        imported = import_packages(overlay, lane, self._run, self.python)
        if imported.exit_code == _NOT_OURS:
            raise BuildStopped(self._ours(imported, "the overlay is not what Python imports", ""))
        if not imported.ok:
            self._stop_project(imported, f"{overlay.packages[0]} cannot be imported")

    def _pep517(self) -> None:
        work = self.work
        kind = "wheel" if work.mode == "wheel" else "editable"
        with OutputFolder(self.bench.lane) as out:
            answer = f"{out.inside}/answer.json"
            asked = self._run(
                (
                    *(self.python, "-I", "-c", script("editable_requires")),
                    *(work.backend, json.dumps(work.backend_path), kind, answer),
                ),
                env=self.network.env_bare,
                shown=f"# ask {work.backend} what an {kind} build requires",
            )
            if not asked.ok:
                self._stop_project(asked, f"{work.backend} cannot say what it requires")
            requires = self._answer(out, "answer.json")
            lines = [str(line) for line in requires.get("requires", ())]
            remote = [line for line in lines if not is_local_requirement(line)]
            if remote and not self._satisfied(remote):
                self._install(remote, f"{work.backend}'s requirements")
            if kind == "editable" and not requires.get("editable", True):
                self.notes.append(
                    f"{work.backend} has no editable build: a wheel is installed instead"
                )
                kind = "wheel"
            self._install_project(kind, out)

    def _install_project(self, kind: str, out: OutputFolder) -> None:
        # Also for a setup.py alone: pip before 25 would take `setup.py develop`.
        # Of a native build its log tells what was compiled into what (`traces`).
        told = ("-v",) if self.work.native else ()
        build = (*PIP, "install", *told, "--no-build-isolation", "--no-deps", "--use-pep517")
        if kind == "editable":
            self.command = ("python", *build, *self._settings(), "-e", ".")
            self._project((self.python, *self.command[1:]))
            return
        wheel = (*PIP, "wheel", *told, "--no-build-isolation", "--no-deps", *self._settings())
        self.command = ("python", *wheel, ".")
        self._project((self.python, *wheel, "-w", f"{out.inside}/wheels", "."))
        install = 'exec "$0" -I -m pip --no-input install --force-reinstall --no-deps "$1"/*.whl'
        self._project(("sh", "-c", install, self.python, f"{out.inside}/wheels"))

    def _settings(self) -> tuple[str, ...]:
        """Keep the build folder of meson-python and scikit-build-core between builds; others have none to keep."""
        if self.work.backend.startswith(("mesonpy", "scikit_build_core")):
            # pip before 23.1 has no -C.
            return (f"--config-settings=build-dir={self.bench.lane.environment}/build",)
        return ()

    def _runtime_requirements(self) -> None:
        """Install what the built metadata asks for; a dynamic list is known only now."""
        with OutputFolder(self.bench.lane) as out:
            asked = self._run(
                (
                    *(self.python, "-I", "-c", script("metadata_requires"), self.work.project),
                    *(json.dumps(self.work.extras), self.bench.lane.source),
                    f"{out.inside}/answer.json",
                ),
                env={},
                shown="# read the built metadata",
            )
            answer = self._answer(out, "answer.json") if asked.ok else {}
        self.project = str(answer.get("name") or self.work.project)
        lines = [str(line) for line in answer.get("requires", ())]
        if lines and not self._satisfied(lines):
            self._install(lines, "the project's dependencies", constrain=True)

    def _satisfied(self, lines: Sequence[str]) -> bool:
        """Whether all these are installed already; asked without a network, in a tenth of pip's time."""
        names = [line for line in lines if _simple(line)]
        if len(names) != len(lines):
            return False
        checked = self._run(
            (self.python, "-I", "-c", _CHECK_INSTALLED, *names),
            env={},
            shown="# are the requirements there?",
        )
        return checked.ok

    def _extensions(self, before: Sequence[str]) -> list[str]:
        """Import every extension module that the build made; a lost or broken one fails the step."""
        if not self.work.native and not before:
            return []
        lane = self.bench.lane
        with OutputFolder(lane) as out:
            asked = self._run(
                (
                    *(self.python, "-I", "-c", script("extensions"), lane.source),
                    *(f"{lane.environment}/build", self.project, f"{out.inside}/answer.json"),
                ),
                env={},
                cwd=out.inside,
                shown="# import the extension modules that were built",
            )
            found = self._answers(out, "answer.json")
        if not asked.ok and not found:
            self._stop_project(asked, "an extension module crashed at import")
        broken = tuple(
            self._finding(entry["name"], f"{entry['name']}: {entry['problem']}")
            for entry in found
            if entry["problem"]
        )
        made = [entry["name"] for entry in found if not entry["problem"]]
        if self.work.native and not found and any(map(is_native, self.work.native)):
            broken = (
                self._finding(
                    "extension modules",
                    f"the build gave no extension module, though {self.work.native[0]} declares one: "
                    'the tests would run on a pure Python fallback (build.native = "none": they may)',
                ),
            )
        elif self.work.native and not found:
            # mypyc compiles Python, mostly where a variable asks for it: there is nothing that must be compiled.
            self.notes.append(
                f"{self.work.native[0]} can build extension modules and built none: the Python sources are tested"
            )
        if broken:
            raise BuildStopped(self.result(Outcome.FAILED, broken[0].message, findings=broken))
        return [name for name in made if name]

    # --- ends -------------------------------------------------------------------------------------------------------

    def _finding(self, subject: str, message: str) -> Finding:
        return Finding(kind="build", subject=subject, tool="build", message=message)

    def _project(self, command: Sequence[str], *, shown: str = "") -> None:
        done = self._run(command, env=self._project_env(), shown=shown)
        if not done.ok:
            self._stop_project(done, "the project does not build")

    def _project_env(self) -> dict[str, str]:
        return project_env(self.network, self.work)

    def _stop_project(self, done: ExecResult, reason: str) -> None:
        """End the step: the contributor's news, unless the machine or the network is to blame."""
        fault = trouble(done) or _no_space(self.bench.lane)
        if fault or _NETWORK_FAULT.search(done.tail):
            raise BuildStopped(
                self._ours(done, fault or "the network failed during the build", "")
            )
        finding = self._finding(
            "build", f"{reason} (exit {done.exit_code}): {last_error(done.tail)}"
        )
        raise BuildStopped(self.result(Outcome.FAILED, reason, findings=(finding,)))

    def _not_installed(self, done: ExecResult, reason: str, hint: str) -> InstallStopped:
        stopped = InstallStopped(self._ours(done, reason, hint))
        lost = trouble(done) or _no_space(self.bench.lane) or _NETWORK_FAULT.search(done.tail)
        stopped.network = bool(lost)
        return stopped

    def _ours(self, done: ExecResult, reason: str, hint: str) -> StepResult:
        """Give the result of an end that is no fault of the change."""
        full = _no_space(self.bench.lane)
        if full:
            reason, hint = full, "presubmit clean, or another XDG_CACHE_HOME"
        parts = [reason, trouble(done) or last_error(done.tail), hint]
        return self.result(Outcome.ERROR, "; ".join(p for p in parts if p))

    def _run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        shown: str = "",
        most: float = math.inf,
    ) -> ExecResult:
        left = min(most, max(1.0, self.work.timeout - self.bench.seconds))
        secrets = self.network.secrets
        return self.bench.run(
            command, timeout=left, cwd=cwd, env=env, secrets=secrets, shown=shown
        )

    def _answer(self, out: OutputFolder, name: str) -> dict[str, Any]:
        found = self._json(out, name)
        return found if isinstance(found, dict) else {}

    def _answers(self, out: OutputFolder, name: str) -> list[dict[str, str]]:
        found = self._json(out, name)
        if not isinstance(found, list):
            return []
        return [
            {key: str(entry.get(key, "")) for key in ("name", "file", "problem")}
            for entry in found
            if isinstance(entry, dict)
        ]

    def _json(self, out: OutputFolder, name: str) -> object:
        copy = self.bench.folder / "results" / f"{self.bench.name}.{name}"
        if out.take(name, copy):
            return None
        try:
            return json.loads(copy.read_bytes())
        except ValueError:
            return None
        finally:
            copy.unlink(missing_ok=True)


def project_env(network: NetworkSettings, work: Build) -> dict[str, str]:
    """Give the variables that the project's own code is built with: no credentials."""
    return {**network.env_bare, **assigned(work.env), "PIP_NO_BUILD_ISOLATION": ""}


_BOILERPLATE: Final = re.compile(
    r"subprocess-exited-with-error|Could not build wheels|Failed building|Failed to build|exited with code"
    r"|metadata-generation-failed|This error originates from a subprocess"
)
PIP: Final = ("-I", "-m", "pip", "--no-input", "--disable-pip-version-check")

_CHECK_INSTALLED: Final = """
import sys
from importlib import metadata
try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
for line in sys.argv[1:]:
    wanted = Requirement(line)
    if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
        continue
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        sys.exit(1)
    if wanted.extras or not wanted.specifier.contains(version, prereleases=True):
        sys.exit(1)
"""


def _simple(line: str) -> bool:
    try:
        return not Requirement(line).url
    except InvalidRequirement:
        return False


def _no_space(lane: Lane) -> str:
    """Say where no space is left on the device, if that is so; tools that fail of it do not always say it."""
    free = shutil.disk_usage(lane.host_environment).free
    return f"no space left where {lane.host_environment} is" if free < _LEAST_SPACE else ""


def _as_file(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _install_hint(tail: str) -> str:
    if _NETWORK_FAULT.search(tail):
        return "the package index was not reached: network, proxy or certificates (`presubmit doctor`)"
    if _NO_SUCH_VERSION.search(tail):
        return (
            "the index gave no version at all: it has no such package, or it was not reached "
            "(a refused certificate looks like this, too: `presubmit doctor`)"
        )
    return ""


def last_error(tail: str) -> str:
    """Give the line of the output that most likely says why."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    telling = [x for x in lines if re.search(r"\berror\b|Error:", x, re.IGNORECASE)]
    # pip's own last words say only that something failed; what failed stands before them.
    causes = [x for x in telling if not _BOILERPLATE.search(x)]
    return (causes or telling or lines or ["no output"])[-1][:300]
