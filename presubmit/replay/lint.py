"""The lint steps: does it parse at the project's lowest Python, and what do the project's own tools say."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import stat
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from presubmit.replay.harvest import OutputFolder
from presubmit.replay.steps import network_of, trouble
from presubmit.results import lint as reader
from presubmit.values import Finding, LintCommand, Outcome, StepResult, Syntax, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.container.model import ExecResult
    from presubmit.replay.assignment import Lane
    from presubmit.replay.steps import Bench

_LARGEST_SOURCE: Final = 8 << 20


def result(
    bench: Bench,
    outcome: Outcome,
    reason: str = "",
    *,
    command: Sequence[str] = (),
    findings: Iterable[Finding] = (),
    advice: Iterable[Finding] = (),
    notes: Iterable[str] = (),
) -> StepResult:
    """Give a lint or docs step's result."""
    step = bench.step
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=outcome,
        reason=reason,
        required=step.required,
        command=tuple(command),
        origin=step.origin,
        seconds=bench.seconds,
        log=bench.log_name if bench.log.exists() else "",
        findings=tuple(findings),
        advice=tuple(advice),
        notes=tuple(notes),
    )


# --- syntax ---------------------------------------------------------------------------------------------------------


def run_syntax(bench: Bench, work: Syntax) -> StepResult:
    """Parse every changed Python file on the host, as text; nothing of it is run."""
    findings: list[Finding] = []
    notes: list[str] = []
    for path in work.files:
        source, problem = read_source(Path(bench.lane.host_source), path)
        if source is None:
            if problem:
                notes.append(f"{path}: {problem}")
            continue
        found, note = check_syntax(path, source, work.floor)
        findings += found
        notes += note
    outcome = Outcome.FAILED if findings else Outcome.PASSED
    reason = f"{len(findings)} files do not parse" if findings else ""
    return result(bench, outcome, reason, findings=findings, notes=notes)


def read_source(root: Path, path: str) -> tuple[bytes | None, str]:
    """Read a file of the tree without following links; (None, why) where it is not read."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        return None, "not in the tree"
    try:
        descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return None, "" if (root / path).is_symlink() else (error.strerror or "unreadable")
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)  # a folder cannot even be made a stream of
        return None, "not a plain file"
    with os.fdopen(descriptor, "rb") as stream:
        if facts.st_size > _LARGEST_SOURCE:
            return None, f"not parsed: larger than {_LARGEST_SOURCE >> 20} MiB"
        return stream.read(), ""


def check_syntax(path: str, source: bytes, floor: str) -> tuple[list[Finding], list[str]]:
    """Parse one file at `floor` (`3.8`; empty: this interpreter's own version): (findings, notes)."""
    minor = int(floor.partition(".")[2]) if floor else sys.version_info.minor
    newer = minor > sys.version_info.minor
    version = None if newer or not floor else (3, max(minor, 7))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source, filename=path, feature_version=version)
    except (SyntaxError, ValueError) as error:
        if newer:
            return [], [
                f"{path}: not parsed, needs Python {floor} and this is 3.{sys.version_info.minor}"
            ]
        at = f" at Python {floor}" if floor else ""
        message = f"does not parse{at}: {getattr(error, 'msg', None) or error}"
        line = getattr(error, "lineno", None)
        subject = f"{path}: {message}"
        found = Finding(
            kind="lint", subject=subject, tool="syntax", message=message, file=path, line=line
        )
        return [found], []
    except (RecursionError, MemoryError):
        return [], [f"{path}: nested too deeply to be parsed here"]
    return [], []


# --- the project's own tools ----------------------------------------------------------------------------------------


def run_lint_command(bench: Bench, work: LintCommand) -> StepResult:  # noqa: PLR0911 - one end a line
    """Run the project's lint tool on the changed files, in the box."""
    files, notes = _nameable(work.files)
    if not files:
        return result(bench, Outcome.SKIPPED, "no changed file that it can be given", notes=notes)
    tools, problem = provide_tools(bench, work.requirements, work.timeout)
    if problem:
        return result(bench, Outcome.ERROR, problem, notes=notes)
    if work.tool == "pre-commit":
        return _run_pre_commit(bench, work, files, tools, notes)
    command = _command(work, files)
    before = _digests(bench, files)
    done = _run(bench, command, tools, work.timeout)
    fault = trouble(done)
    if fault:
        return result(bench, Outcome.ERROR, fault, command=command, notes=notes)
    if done.exit_code == 0:
        return result(bench, Outcome.PASSED, command=command, notes=notes)
    if done.exit_code in {126, 127}:
        reason = f"{command[0]} could not be started: {done.tail.strip()[-200:]}"
        return result(bench, Outcome.ERROR, reason, command=command, notes=notes)
    findings = reader.parse_lines(bench.printed(), work.tool, root=bench.lane.source)
    title = bench.step.title
    findings += tuple(_changed_by(title, path) for path in _changed_files(bench, before))
    if not findings:
        message = f"{title}: exit {done.exit_code}: {done.tail.strip()[-300:]}"
        findings = (Finding(kind="lint", subject=title, tool=work.tool, message=message),)
    reason = counted(len(findings), "finding")
    return result(bench, Outcome.FAILED, reason, command=command, findings=findings, notes=notes)


def _command(work: LintCommand, files: Sequence[str]) -> tuple[str, ...]:
    if work.tool != "command":
        return (*work.command, *files)
    text = work.command[-1]
    if "{files}" not in text:
        return ("sh", "-c", text)
    # The names reach the shell as its arguments, never as its text.
    return ("sh", "-c", text.replace("{files}", '"$@"'), "sh", *files)


def _nameable(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Leave out names that are not UTF-8: the engine's API is JSON."""
    named, notes = [], []
    for path in files:
        try:
            path.encode("utf-8")
            named.append(path)
        except UnicodeEncodeError:
            notes.append(
                f"not linted, its name is not UTF-8: {path.encode('utf-8', 'backslashreplace')!r}"
            )
    return named, notes


def _run(
    bench: Bench, command: Sequence[str], tools: str, timeout: float, cwd: str | None = None
) -> ExecResult:
    network = network_of(bench.lane)
    left = max(1.0, timeout - bench.seconds)
    env = {
        **network.env_bare,
        "PRE_COMMIT_HOME": f"{bench.lane.tools}/pre-commit",
        "NO_COLOR": "1",
    }
    return bench.run(
        command, timeout=left, env=env, environment=tools, secrets=network.secrets, cwd=cwd
    )


def tools_folder(lane: Lane, requirements: Sequence[str]) -> str:
    """Name the folder, inside the box, of the environment with these tools."""
    return f"{lane.tools}/{hashlib.sha256(chr(10).join(requirements).encode()).hexdigest()[:12]}"


def provide_tools(bench: Bench, requirements: Sequence[str], timeout: float) -> tuple[str, str]:
    """Make presubmit's own tool environment in the box, once: (its folder inside, what went wrong)."""
    if not requirements:
        return bench.lane.environment, ""
    inside = tools_folder(bench.lane, requirements)
    name = inside.rpartition("/")[2]
    marker = Path(bench.lane.host_tools) / name / "venv" / "presubmit-made"
    if marker.is_file():
        return inside, ""
    bench.say(f"installing {', '.join(requirements)}")
    python = bench.lane.python
    network = network_of(bench.lane)
    made = bench.run(
        (python, "-m", "venv", "--clear", f"{inside}/venv"), timeout=300.0, environment=inside
    )
    if made.ok:
        # These are presubmit's own choices, so they may come through an index with credentials.
        made = bench.run(
            (
                f"{inside}/venv/bin/python",
                "-I",
                "-m",
                "pip",
                "--no-input",
                "install",
                *requirements,
            ),
            timeout=timeout,
            env=network.env_full,
            secrets=network.secrets,
            environment=inside,
            cwd=bench.lane.output,
        )
    if not made.ok:
        why = trouble(made) or made.tail.strip().splitlines()[-1:] or ["no output"]
        return (
            inside,
            f"could not install {', '.join(requirements)}: {why if isinstance(why, str) else why[0]}",
        )
    marker.touch()
    return inside, ""


# --- pre-commit -----------------------------------------------------------------------------------------------------


def _run_pre_commit(
    bench: Bench, work: LintCommand, files: list[str], tools: str, notes: list[str]
) -> StepResult:
    """Run all hooks at once; where one cannot be installed, each by itself, so that the others still count."""
    command = ("pre-commit", "run", "--color", "never", "--files", *files)
    shown = ("pre-commit", "run", "--files", *files)
    before = _digests(bench, files)
    done = _run(bench, command, tools, work.timeout)
    fault = trouble(done)
    if fault:
        return result(bench, Outcome.ERROR, fault, command=shown, notes=notes)
    report = reader.parse_pre_commit(bench.printed(), root=bench.lane.source)
    if done.exit_code not in {0, 1} or report.broken:
        return _hook_by_hook(bench, work, files, tools, notes, shown)
    if done.exit_code == 0:
        return result(bench, Outcome.PASSED, command=shown, notes=notes)
    findings = by_file(report, _changed_files(bench, before)) or (
        Finding(
            kind="lint", subject="pre-commit", tool="pre-commit", message=done.tail.strip()[-300:]
        ),
    )
    reason = _reason(report.failed)
    return result(bench, Outcome.FAILED, reason, command=shown, findings=findings, notes=notes)


def _digests(bench: Bench, files: Sequence[str]) -> dict[str, bytes]:
    """Give the content of each file, shortened to a digest."""
    root = Path(bench.lane.host_source)
    return {path: hashlib.sha256(read_source(root, path)[0] or b"").digest() for path in files}


def _changed_files(bench: Bench, before: dict[str, bytes]) -> list[str]:
    return [path for path, old in _digests(bench, list(before)).items() if old != before[path]]


def by_file(report: reader.PreCommitReport, changed: Sequence[str]) -> tuple[Finding, ...]:
    """Say of each file, not of each hook, that hooks changed it.

    A hook that changes one file on the base must not excuse what it changes in another one on head.
    """
    if not report.modified or not changed:
        return report.findings
    kept = [f for f in report.findings if f.file or f.tool not in report.modified]
    return (*kept, *(_changed_by(", ".join(report.modified), path) for path in changed))


def _changed_by(who: str, path: str) -> Finding:
    message = f"changed by {who}"
    return Finding(kind="lint", subject=f"{path}: {message}", tool=who, message=message, file=path)


def _reason(hooks: Sequence[str]) -> str:
    return f"failed: {', '.join(hooks)}" if hooks else "failed"


def _hook_by_hook(
    bench: Bench,
    work: LintCommand,
    files: list[str],
    tools: str,
    notes: list[str],
    shown: tuple[str, ...],
) -> StepResult:
    config = _pre_commit_config(bench)
    findings: list[Finding] = []
    not_run: list[str] = []
    failed: list[str] = []
    cause = "see the log"
    for name, single in split_hooks(config):
        before = _digests(bench, files)
        with OutputFolder(bench.lane) as out:
            told = out.write("hook.yaml", yaml.safe_dump(single).encode())
            command = ("pre-commit", "run", "--color", "never", "-c", told, "--files", *files)
            done = _run(bench, command, tools, work.timeout)
        report = reader.parse_pre_commit(bench.printed(), root=bench.lane.source)
        if trouble(done) or done.exit_code not in {0, 1} or report.broken:
            not_run.append(name)
            cause = _cause(bench.printed()) or cause
        elif done.exit_code == 1:
            findings += by_file(report, _changed_files(bench, before))
            failed += report.failed
    if not_run:
        notes = [
            *notes,
            f"pre-commit said: {cause}",
            "set lint.commands, or leave it out: --skip lint",
        ]
    if findings or failed:
        reason = _reason(failed) + (f"; not run: {', '.join(not_run)}" if not_run else "")
        return result(bench, Outcome.FAILED, reason, command=shown, findings=findings, notes=notes)
    if not_run or not split_hooks(config):
        # Required and not run: never green, and no fault of the change.
        reason = f"hooks that could not be installed: {', '.join(not_run) or 'all'}"
        return result(bench, Outcome.SKIPPED, reason, command=shown, notes=notes)
    return result(bench, Outcome.PASSED, command=shown, notes=notes)


def _cause(text: str) -> str:
    """Give the line that most likely says why a hook could not be installed."""
    telling = [
        line.strip()
        for line in text.splitlines()
        if re.search(r"fatal:|Could not resolve|ERROR:|error:|Error:|not found", line)
    ]
    return telling[-1][:200] if telling else ""


def _pre_commit_config(bench: Bench) -> dict[str, Any]:
    source, _ = read_source(Path(bench.lane.host_source), ".pre-commit-config.yaml")
    try:
        config = yaml.safe_load(source or b"")
    except yaml.YAMLError:
        return {}
    return config if isinstance(config, dict) else {}


def split_hooks(config: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Give each hook as a pre-commit configuration of its own, with the settings that hold for all."""
    shared = {
        key: value
        for key, value in config.items()
        if key not in {"repos", "minimum_pre_commit_version"}
    }
    hooks = []
    for repo in config.get("repos") or ():
        if not isinstance(repo, dict):
            continue
        for hook in repo.get("hooks") or ():
            if isinstance(hook, dict) and "id" in hook:
                alone = {**shared, "repos": [{**repo, "hooks": [hook]}]}
                hooks.append((str(hook["id"]), alone))
    return hooks
