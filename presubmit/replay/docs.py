"""The docs steps: docstrings of the changed public definitions, and doctests of the changed modules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.definitions import read_definitions
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.lint import provide_tools, read_source, result
from presubmit.replay.steps import trouble
from presubmit.replay.tests import run_command
from presubmit.results import lint as reader
from presubmit.values import (
    Docstrings,
    Doctests,
    Finding,
    Mode,
    Outcome,
    Tests,
    counted,
    counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.container.model import ExecResult
    from presubmit.replay.steps import Bench
    from presubmit.values import Definition, StepResult

# What is checked where the project enforces nothing: a parameter list that does not fit, a missing docstring.
_ADVICE: Final = "D100,D101,D102,D103,D300,D403,D405,D406,D407,D410,D411,D412,D414,D417"
_NUMPYDOC_CHECKS: Final = ("PR01", "PR02", "PR03", "PR05", "PR10", "RT03", "YD01")
_MODULE: Final = "module"


def run_docstrings(bench: Bench, work: Docstrings) -> StepResult:
    """Check the docstrings; findings elsewhere in the files are not this change's."""
    tools, problem = provide_tools(bench, work.requirements, work.timeout)
    if problem:
        return result(bench, Outcome.ERROR, problem)
    files = sorted({d.path for d in work.definitions})
    found: list[Finding] = []
    done = _ruff(bench, work, files, tools)
    fault = trouble(done) or ("" if done.exit_code in {0, 1} else done.tail.strip()[-300:])
    if fault:
        return result(bench, Outcome.ERROR, f"ruff: {fault}")
    found += reader.parse_ruff_json(_printed(bench), kind="docs", root=bench.lane.source)
    if work.convention == "numpy":
        numpydoc, fault = _numpydoc(bench, files, tools, work.timeout)
        if fault:
            return result(bench, Outcome.ERROR, f"numpydoc: {fault}")
        found += numpydoc
    mine = [
        finding
        for finding in found
        if finding.code.startswith(("D", "PR", "RT", "YD", "GL", "SS", "ES", "SA", "EX"))
        and _is_changed(finding, work.definitions, Path(bench.lane.host_source))
    ]
    enforced_numpydoc = _enforces_numpydoc(bench)
    binding = [f for f in mine if work.binding and (f.tool == "ruff" or enforced_numpydoc)]
    advice = [f for f in mine if f not in binding]
    outcome = Outcome.FAILED if binding else Outcome.PASSED
    reason = counted(len(binding), "finding") if binding else ""
    notes = [f"{len(advice)} remarks that the project does not ask for"] if advice else []
    return result(bench, outcome, reason, findings=binding, advice=advice, notes=notes)


def _ruff(bench: Bench, work: Docstrings, files: list[str], tools: str) -> ExecResult:
    command = ["ruff", "check", "--no-cache", "--output-format", "json", "--exit-zero"]
    if not work.binding:
        command += ["--isolated", "--select", _ADVICE]
        if work.convention in {"numpy", "google"}:
            command += ["--config", f"lint.pydocstyle.convention='{work.convention}'"]
    return bench.run([*command, *files], timeout=work.timeout, environment=tools)


def _printed(bench: Bench) -> str:
    return bench.printed()


def _enforces_numpydoc(bench: Bench) -> bool:
    source, _ = read_source(Path(bench.lane.host_source), "pyproject.toml")
    return b"[tool.numpydoc_validation]" in (source or b"")


def _numpydoc(
    bench: Bench, files: list[str], tools: str, timeout: float
) -> tuple[tuple[Finding, ...], str]:
    with OutputFolder(bench.lane) as out:
        config = bench.lane.source
        if not _enforces_numpydoc(bench):
            checks = json.dumps(list(_NUMPYDOC_CHECKS))
            out.write(
                "pyproject.toml", f"[tool.numpydoc_validation]\nchecks = {checks}\n".encode()
            )
            config = out.inside
        command = ("python", "-P", "-m", "numpydoc", "lint", "--config", config, *files)
        done = bench.run(command, timeout=timeout, environment=tools)
    fault = trouble(done) or ("" if done.exit_code in {0, 1} else done.tail.strip()[-300:])
    if not fault and done.exit_code == 1 and "Traceback" in done.tail:
        fault = done.tail.strip().splitlines()[-1]
    return reader.parse_lines(
        _printed(bench), "numpydoc", kind="docs", root=bench.lane.source
    ), fault


def _is_changed(finding: Finding, changed: Iterable[Definition], root: Path) -> bool:
    """Whether the innermost definition around the finding is one that the change adds or alters."""
    if finding.line is None:
        return False
    source, _ = read_source(root, finding.file)
    around = [
        d
        for d in read_definitions(finding.file, source or b"")
        if d.kind == _MODULE or d.first_line <= finding.line <= d.last_line
    ]
    if not around:
        return False
    innermost = min(around, key=lambda d: (d.last_line - d.first_line, d.kind == _MODULE))
    return any(d.path == finding.file and d.qualname == innermost.qualname for d in changed)


def run_doctests(bench: Bench, work: Doctests) -> StepResult:
    """Run the doctests of the changed modules with the project's own pytest."""
    tests = Tests(
        command=work.command,
        mode=Mode.ALL,
        arguments=("--doctest-modules", *work.files),
        timeout=work.timeout,
        retries=0,
    )
    attempt = run_command(bench, tests, name=bench.name)
    step = bench.step
    base = result(
        bench, attempt.outcome, attempt.reason, command=work.command, notes=attempt.notes
    )
    if attempt.outcome is Outcome.ERROR and not attempt.cases and "no tests" in attempt.reason:
        nothing = result(bench, Outcome.SKIPPED, "the changed modules have no doctests")
        return msgspec.structs.replace(nothing, required=False)
    return msgspec.structs.replace(
        base,
        id=step.id,
        cases=attempt.cases,
        counts=counts_of(attempt.cases),
        junit=attempt.junit,
    )
