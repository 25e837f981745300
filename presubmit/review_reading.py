"""Reads what a review is made from: the two trees, the commits between, and files that only the checkout has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.git import fields, git
from presubmit.errors import PresubmitError, UsageError
from presubmit.report.folder import write_json
from presubmit.report.review import summary
from presubmit.review.docker import is_dockerfile
from presubmit.review.facts import Commit, Facts
from presubmit.review.loose import missing_imports
from presubmit.review.rules import RULES, renewed, review
from presubmit.review.values import Review, Severity
from presubmit.review_tools import hadolint_remarks
from presubmit.values import (
    Finding,
    Outcome,
    Reviewing,
    ReviewingBuilt,
    StepResult,
    builtins_of,
    decode,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.change.repository import Repository
    from presubmit.reading import Reading
    from presubmit.review.built import Built
    from presubmit.review.values import Remark
    from presubmit.values import Change, PlanStep

_MOST_COMMITS: Final = 200
_MOST_NOTES: Final = 10
_AT_ONCE: Final = (".md", ".rst", ".yml", ".yaml", ".toml", ".cfg")


def read_review(reading: Reading, rules: Iterable[str] = ()) -> Review:
    """Review a change; raises UsageError for a rule that does not exist."""
    names = known_rules(rules) or tuple(RULES)
    facts = read_review_facts(reading)
    said = hadolint_remarks(facts) if "dockerfile" in names else ()
    return review(facts, names, besides=said)


def known_rules(rules: Iterable[str]) -> tuple[str, ...]:
    """Give the names, each once; raises UsageError for a rule that does not exist."""
    names = tuple(dict.fromkeys(rules))
    for name in names:
        if name not in RULES:
            raise UsageError(f"there is no rule {name}", hint=f"one of {', '.join(RULES)}")
    return names


def run_review(step: PlanStep, reading: Reading, folder: Path) -> StepResult:
    """Do the step `review`: its remarks of severity error are findings, the others advice; all go to review.json."""
    assert isinstance(step.work, Reviewing)  # noqa: S101 - the step's only work
    began = time.monotonic()
    try:
        found = read_review(reading, step.work.rules)
        write_json(folder / "review.json", builtins_of(found))
    except (PresubmitError, OSError, ValueError, RecursionError) as error:
        return StepResult(
            id=step.id,
            role=step.role,
            outcome=Outcome.ERROR,
            reason=f"the review ended with {type(error).__name__}: {error}",
            origin=step.origin,
            seconds=time.monotonic() - began,
        )
    errors = tuple(_finding(one) for one in found.remarks if one.severity is Severity.ERROR)
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=Outcome.FAILED if errors else Outcome.PASSED,
        reason=summary(found),
        command=("presubmit", "review"),
        origin=step.origin,
        seconds=time.monotonic() - began,
        findings=errors,
        advice=tuple(_finding(one) for one in found.remarks if one.severity is not Severity.ERROR),
        notes=tuple(f"not checked: {one.what}" for one in found.unchecked[:_MOST_NOTES]),
    )


def run_built_review(
    step: PlanStep, facts: Facts, built: Built, folder: Path, *, seconds: float
) -> StepResult:
    """Do the step on what was built: its remarks take the place of what the same rules said before in review.json."""
    assert isinstance(step.work, ReviewingBuilt)  # noqa: S101 - the step's only work
    found = review(msgspec.structs.replace(facts, built=built), step.work.rules)
    kept = read_kept_review(folder)
    known = set(kept.remarks) if kept is not None else set()
    write_json(folder / "review.json", builtins_of(renewed(kept, found) if kept else found))
    new = msgspec.structs.replace(
        found, remarks=tuple(one for one in found.remarks if one not in known)
    )
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=Outcome.PASSED,
        reason=summary(new),
        command=("presubmit", "review", "--build"),
        origin=step.origin,
        seconds=seconds,
        advice=tuple(map(_finding, new.remarks)),
        notes=tuple(f"not checked: {one.what}: {one.why}" for one in new.unchecked[:_MOST_NOTES]),
    )


def _finding(remark: Remark) -> Finding:
    return Finding(
        kind="review",
        subject=f"{remark.code} {remark.subject}",
        tool="presubmit",
        message=f"{remark.text} ({remark.mend})" if remark.mend else remark.text,
        file=remark.file,
        line=remark.line,
        code=remark.code,
    )


def read_kept_review(folder: Path) -> Review | None:
    """Read a run's review; None where it has none, or it is not ours."""
    try:
        return decode((folder / "review.json").read_bytes(), Review)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def read_review_facts(reading: Reading) -> Facts:
    """Read everything that the rules look at."""
    change, base, head = reading.change, reading.base_reader, reading.head_reader
    changed = [path for file in change.files for path in file.paths]
    base.want(changed)
    head.want([*changed, *(p for p in head.blobs if p.endswith(_AT_ONCE) or is_dockerfile(p))])
    paths = [path for one in missing_imports(change, base, head) for path in one.paths]
    return Facts(
        change=change,
        base=base,
        head=head,
        commits=read_commits(reading.repository, change),
        loose=_read_loose(reading.repository, paths),
    )


def read_commits(repository: Repository, change: Change) -> tuple[Commit, ...]:
    """Give the commits between base and head, oldest first, without merges."""
    if change.target.commit is None:
        return ()
    done = git(
        "log", "--no-merges", "--reverse", "-z", "--format=%H%n%ae%n%B", f"-{_MOST_COMMITS}",
        f"{change.base.commit}..{change.target.commit}", "--",
        cwd=repository.top,
        env=repository.object_env,
    )  # fmt: skip
    found = []
    for record in fields(done.stdout):
        name, email, message = record.split("\n", 2)
        found.append(Commit(name=name, email=email, message=message))
    return tuple(found)


def _read_loose(repository: Repository, paths: Iterable[str]) -> dict[str, bool]:
    """Say which of these files only the checkout has, and whether git ignores them."""
    there = [path for path in dict.fromkeys(paths) if (Path(repository.top) / path).is_file()]
    if not there:
        return {}
    done = git(
        *("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *there),
        cwd=repository.top,
    )
    ignored = set(fields(done.stdout))
    return {path: path in ignored for path in there}
