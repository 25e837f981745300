"""judge(): which failures are the change's own (DESIGN, section 3). Pure."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.errors import ExitCode
from presubmit.plan import SECOND_RUN, planned_tests
from presubmit.values import (
    BaseResults,
    Case,
    CaseOutcome,
    Failure,
    FailureClass,
    Finding,
    Outcome,
    Plan,
    Role,
    State,
    StepResult,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FAILING: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})
_NETWORK: Final = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Network is unreachable"
    r"|socket\.gaierror|ConnectionRefusedError|NameResolutionError|Max retries exceeded|URLError"
)
# An object's address differs from run to run, and says nothing.
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}\b")
SAME_STEP: Final = "the same step fails on the base, with the same last words"
BASE_IS_BROKEN: Final = "nearly everything fails on the base, too"
_NEARLY_ALL: Final = 0.9
_ENOUGH: Final = 10


def judge(
    plan: Plan,
    results: Iterable[StepResult],
    base: BaseResults,
    *,
    touched: frozenset[str] = frozenset(),
    renamed: Mapping[str, str] | None = None,
    allow_partial: bool = False,
    flags: str = "",
) -> Verdict:
    """Class every failure and say how the run ended.

    `touched` holds the node ids (without parameters) whose definition the change adds or edits; `renamed` maps the
    base's paths to head's. `flags` are the options (` --no-container`) that a command to repeat needs as well.
    """
    results = tuple(results)
    failures = [
        msgspec.structs.replace(
            f, repro=re.sub(r"^presubmit (run|replay|bench)", rf"\g<0>{flags}", f.repro)
        )
        for result in results
        for f in _failures(result, results, base, touched, renamed)
    ]
    # Then the environment is at fault, and not a single test says anything of the change.
    hopeless = any(failure.detail == BASE_IS_BROKEN for failure in failures)
    by_id = {result.id: result for result in results}
    errors = [r for r in results if r.outcome is Outcome.ERROR]
    missing = [step for step in plan.steps if step.id not in by_id]
    skipped = [r for r in results if r.outcome is Outcome.SKIPPED and r.required]
    cut = [r for r in results if r.cut and r.required and r.outcome is not Outcome.ERROR]
    blind = [
        f"{f.step}: it fails on the base, too, in the same way: nothing can be told of the change"
        for f in failures
        if f.label is FailureClass.ON_BASE and f.kind == "job" and f.detail == SAME_STEP
    ]
    not_run = (
        *(f"{r.id}: {r.cut}" for r in cut),
        *dict.fromkeys(blind),
        *(f"{r.id}: {r.reason}" for r in errors if r.required),
        *(f"{step.id}: it gave no result" for step in missing),
        *(f"{r.id}: {r.reason}" for r in skipped),
        *plan.unavailable,
        *([_cut(plan)] if plan.budget_cut else []),
        *([_elsewhere(plan)] if plan.elsewhere else []),
        *(
            ["tests: nearly everything fails, on the base too: nothing can be told"]
            if hopeless
            else []
        ),
    )
    state, exit_code = _end(
        plan,
        failures,
        broken=bool(missing) or hopeless or any(r.required for r in errors),
        partial=bool(
            cut or blind or skipped or plan.budget_cut or plan.elsewhere or plan.unavailable
        ),
        allow_partial=allow_partial,
    )
    return Verdict(
        state=state,
        exit_code=exit_code,
        failures=tuple(failures),
        reproduces=base.reproduces,
        not_run=not_run,
        notes=tuple(note for result in results for note in result.notes),
    )


def _cut(plan: Plan) -> str:
    every = (*plan.budget_cut, *planned_tests(plan))
    single = any("::" in name for name in every)
    what = "affected tests (a file counts as one)" if single else "affected test files"
    return f"{len(plan.budget_cut)} of {len(every)} {what} not run: budget"


def _elsewhere(plan: Plan) -> str:
    mine = {name.partition("::")[0] for name in (*plan.budget_cut, *planned_tests(plan))}
    count = len(plan.elsewhere)
    return f"{count} of {count + len(mine)} affected test files not run: they are other shards'"


def _end(
    plan: Plan, failures: Iterable[Failure], *, broken: bool, partial: bool, allow_partial: bool
) -> tuple[State, ExitCode]:
    if any(counts(failure) for failure in failures):
        return State.FAILED, ExitCode.FAILED
    if broken:
        return State.ERROR, ExitCode.ENVIRONMENT
    if partial:
        return State.INCOMPLETE, ExitCode.OK if allow_partial else ExitCode.INCOMPLETE
    if not plan.steps:
        return State.NOTHING, ExitCode.OK
    return State.PASSED, ExitCode.OK


def counts(failure: Failure) -> bool:
    """Whether a failure makes the run red: new, or unknown because the base gave no result."""
    if failure.label is FailureClass.NEW:
        return True
    return failure.label is FailureClass.UNKNOWN and failure.base in {"not run", "error"}


def _failures(
    result: StepResult,
    results: tuple[StepResult, ...],
    base: BaseResults,
    touched: frozenset[str],
    renamed: Mapping[str, str] | None,
) -> list[Failure]:
    failing = [case for case in result.cases if case.outcome in FAILING]
    if failing:
        total = sum(len(r.cases) for r in results)
        if result.id.startswith(SECOND_RUN):
            # What the usual tests did on the base says nothing of these.
            nothing = msgspec.structs.replace(base, tests=(), absent=())
            base = base.by_step.get(result.id, nothing)
            total = len(result.cases)
        return [_judge_case(case, result, base, touched, total) for case in failing]
    if result.outcome is not Outcome.FAILED:
        return []
    if result.findings:
        return _judge_findings(result, base, renamed or {})
    return [
        Failure(
            kind=_kind(result.role),
            subject=result.id,
            step=result.id,
            label=FailureClass.UNKNOWN,
            base="not run",
            message=result.reason,
            repro=_repro(result),
        )
    ]


def _kind(role: Role) -> str:
    return {Role.TESTS: "test", Role.UPSTREAM: "job"}.get(role, str(role))


# --- tests ----------------------------------------------------------------------------------------------------------


def _judge_case(
    case: Case, result: StepResult, base: BaseResults, touched: frozenset[str], total: int
) -> Failure:
    label, found, detail = class_of_case(case, result, base, touched, total)
    return Failure(
        kind="test",
        subject=case.id,
        step=result.id,
        label=label,
        base=found,
        message=_ADDRESS.sub("0x…", case.message),
        detail=detail,
        file=case.file,
        line=case.line,
        repro=f"presubmit run --only {_only(result)} -- {shlex.quote(case.id)}",
    )


def _only(result: StepResult) -> str:
    """Name the steps that run a test as this one did: a second run has a variable of its own."""
    return result.id if result.id.startswith(SECOND_RUN) else str(result.role)


def class_of_case(  # noqa: C901, PLR0911 - one table of decisions, read from top to bottom
    case: Case, result: StepResult, base: BaseResults, touched: frozenset[str], total: int
) -> tuple[FailureClass, str, str]:
    """Class one failing test: (class, what the base did, why)."""
    found, theirs = on_base(case.id, base)
    again = next((rerun for rerun in result.reruns if rerun.id == case.id), None)
    if again is not None and again.alone == "passed":
        if again.company == "passed":
            mine = found in {"passed", "absent"} or definition_of(case.id) in touched
            first = "; first seen with this change" if mine else ""
            # Nobody can tell chance from the recorder by one pass without it.
            how = " (it was recorded the first time: run --no-record)" if again.recorded else ""
            return (
                FailureClass.FLAKY,
                found,
                f"failed, then passed in the same setting{how}{first}",
            )
        if again.company == "failed":
            return FailureClass.NEW, found, "order-dependent: fails in company, passes alone"
        return FailureClass.NEW, found, "passes alone; the whole shard was not run again"
    repeated = f"again on head: {again.alone}" if again is not None else ""
    if definition_of(case.id) in touched:
        return FailureClass.NEW, found, _and("the change edits this test", repeated)
    if found == "absent":
        return FailureClass.NEW, found, _and("not on the base", repeated)
    if found in {"not run", "error"}:
        why = base.tests_error or base.reason or "the base gave no result"
        return FailureClass.UNKNOWN, found, _and(why, repeated)
    if found == "passed" or theirs is None:
        return FailureClass.NEW, found, repeated
    if not same_failure(case, theirs):
        how = theirs.source or theirs.exception or theirs.message
        return FailureClass.NEW, found, _and(f"fails otherwise on the base: {how}", repeated)
    if _NETWORK.search(f"{case.message}\n{case.text}"):
        return FailureClass.UNKNOWN, found, "needs the network, which tests do not have"
    failing = sum(1 for c in base.tests if c.outcome in FAILING)
    if total >= _ENOUGH and failing > _NEARLY_ALL * total:
        return FailureClass.UNKNOWN, found, BASE_IS_BROKEN
    return FailureClass.ON_BASE, found, "fails the same way on the base"


def _and(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def on_base(test: str, base: BaseResults) -> tuple[str, Case | None]:
    """Say what the base's own version of a test did: `passed`, `failed`, `error`, `absent` or `not run`."""
    case = next((c for c in base.tests if c.id == test), None)
    if case is not None:
        failing = case.outcome in FAILING
        return ("failed" if failing else "passed"), case
    if test in base.absent:
        return "absent", None
    return ("error" if base.tests_error else "not run"), None


def same_failure(head: Case, base: Case) -> bool:
    """Whether two failures are one: the same phase, exception type, innermost frame of the project, and line there.

    The line is compared by its text, since an edit above moves its number; two assertions in one test are two.
    """
    if head.source and base.source and head.source != base.source:
        return False
    return (head.phase, head.exception, head.frame) == (base.phase, base.exception, base.frame)


def definition_of(test: str) -> str:
    """Strip a node id's parameters: `t.py::test_x[1-a]` -> `t.py::test_x`."""
    path, separator, name = test.partition("::")
    return path + separator + name.partition("[")[0]


# --- findings -------------------------------------------------------------------------------------------------------


def _judge_findings(
    result: StepResult, base: BaseResults, renamed: Mapping[str, str]
) -> list[Failure]:
    theirs = base.build if result.role is Role.BUILD else base.lint.get(result.id)
    usable = theirs is not None and theirs.outcome in {Outcome.PASSED, Outcome.FAILED}
    known = Counter(
        _moved(f.subject, f.file, renamed) for f in (theirs.findings if theirs else ())
    )
    failures = []
    for finding in result.findings:
        label, found, detail = FailureClass.NEW, "passed", ""
        if result.role in {Role.BENCH, Role.REVIEW}:
            pass  # it is head against the base already
        elif not usable:
            label, found = FailureClass.UNKNOWN, "error" if theirs is not None else "not run"
            detail = (
                theirs.reason if theirs is not None else base.reason or "the base gave no result"
            )
        elif known[finding.subject] > 0:
            known[finding.subject] -= 1
            whole = finding.kind == "job" and finding.subject.endswith("]")
            detail = SAME_STEP if whole else "the base has the same"
            label, found = FailureClass.ON_BASE, "failed"
        elif finding.kind == "job" and theirs is not None and theirs.outcome is Outcome.FAILED:
            whole = finding.subject.endswith("]")  # the step as a whole, not a test of it
            found = "failed" if whole else "passed"
            detail = (
                "fails otherwise on the base" if whole else "the job fails there, too, with others"
            )
        failures.append(_finding_failure(finding, result, label, found, detail))
    return failures


def _moved(subject: str, file: str, renamed: Mapping[str, str]) -> str:
    """Give the base's subject by head's name of the file."""
    new = renamed.get(file)
    return subject if new is None or not file else subject.replace(file, new, 1)


def _finding_failure(
    finding: Finding, result: StepResult, label: FailureClass, found: str, detail: str
) -> Failure:
    where = f"{finding.file}:{finding.line}" if finding.line else finding.file
    if result.role is Role.BENCH:
        where, found = "", "measured"
    code = f"{finding.code} " if finding.code else ""
    return Failure(
        kind=finding.kind,
        subject=where or finding.subject,
        step=result.id,
        label=label,
        base=found,
        message=f"{code}{finding.message}",
        detail=detail,
        file=finding.file,
        line=finding.line,
        repro=_repro(result)
        if result.role is not Role.BENCH
        else f"presubmit bench --only {shlex.quote(finding.subject)}",
    )


def _repro(result: StepResult) -> str:
    if result.role is Role.UPSTREAM:
        return f"presubmit replay {shlex.quote(result.id)}"
    return f"presubmit run --only {result.id}"
