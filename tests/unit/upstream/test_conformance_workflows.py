"""Every file of GitHub's own workflow suite (actions/languageservices, workflow-parser/testdata/reader).

A file holds documents between `---`: options, the workflow, names and texts of workflows that it calls, and the JSON
that GitHub's parsers make of it. We compare what is refused and where, and what our model keeps.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from presubmit.upstream import template
from presubmit.upstream.calls import NESTED, CallError, check_calls
from presubmit.upstream.expressions import parse
from presubmit.upstream.nodes import Mapping, Mark, Node, Scalar, Sequence, plain
from presubmit.upstream.reader import read_workflow
from presubmit.upstream.scalars import text_of
from tests.unit.upstream.conformance import REASON, folder

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.upstream.model import Job, Step, Workflow
    from presubmit.upstream.nodes import Problem

# Files whose answer is outdated, each with the reason.
OUTDATED: dict[str, str] = {
    "errors-anchor-tag.yml": "GitHub reads anchors since September 2025 (changelog of 2025-09-18)",
}


class Sample(NamedTuple):
    """One file of the suite."""

    path: str
    options: dict[str, Any]
    text: str
    called: dict[str, str]
    expected: dict[str, Any]

    def load(self, uses: str) -> Workflow | None:
        workflow, problems = read_workflow(self.called[uses].encode(), uses)
        if workflow is None:
            raise CallError(f"{uses}: {problems}")
        return workflow

    def read(self) -> tuple[Workflow | None, tuple[Problem, ...]]:
        workflow, problems = read_workflow(self.text.encode(), self.path)
        if workflow is not None:
            nested = self.options.get("max-nested-reusable-workflows-depth", NESTED)
            problems += check_calls(workflow, self.load, nested=nested)
        return workflow, tuple(problem for problem in problems if not problem.warning)


def read_sample(path: Path) -> Sample:
    documents = re.split(r"\r?\n---\r?\n", path.read_text("utf-8"))
    options, text, *called, expected = documents
    return Sample(
        path=f".github/workflows/{path.name}",
        options=yaml.safe_load(options) or {},
        text=text,
        called=dict(zip(called[::2], called[1::2], strict=True)),
        expected=json.loads(expected),
    )


def samples() -> list[Any]:
    found = folder("workflows")
    if found is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason=REASON), id="absent")]
    return [
        pytest.param(read_sample(path), id=path.stem)
        for path in sorted(found.glob("*.yml"))
        if path.name not in OUTDATED
    ]


def place_of(message: str) -> Mark | None:
    found = re.search(r"\(Line: (\d+), Col: (\d+)\)|on line (\d+) and column (\d+)", message)
    return Mark(*(int(number) for number in found.groups() if number)) if found else None


@pytest.mark.parametrize("sample", samples())
def test_a_file_is_refused_where_github_refuses_it_and_read_otherwise(sample: Sample) -> None:
    _, errors = sample.read()
    wanted = [place_of(error["Message"]) for error in sample.expected.get("errors", ())]
    found = {error.mark for error in errors}
    if None in wanted:
        assert found
    else:
        assert found == set(wanted), errors


@pytest.mark.parametrize("sample", samples())
def test_the_model_keeps_what_github_makes_of_a_file(sample: Sample) -> None:
    if "errors" in sample.expected:
        return
    workflow, _ = sample.read()
    assert workflow is not None
    shown = Shown(sample)
    assert shown.workflow(workflow) == shown.kept(sample.expected)


@pytest.mark.skipif(folder("workflows") is None, reason=REASON)
def test_the_suite_is_not_cut_short() -> None:
    assert len(samples()) + len(OUTDATED) >= 81


@pytest.mark.skipif(folder("workflows") is None, reason=REASON)
def test_a_file_that_is_said_to_be_outdated_is_answered_otherwise_by_us() -> None:
    place = folder("workflows")
    assert place is not None
    for name in OUTDATED:
        sample = read_sample(place / name)
        assert ("errors" in sample.expected) != bool(sample.read()[1]), name


class Shown:
    """Our model in the suite's JSON."""

    # What of the JSON our model does not hold, or holds as it is written only.
    NOT_HELD = frozenset(
        {
            "cancel-timeout-minutes",
            "file",
            "file-table",
            "input-definitions",
            "outputs",
            "permissions",
            "snapshot",
            "wait",
            "wait-all",
            "cancel",
        }
    )

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.with_places = bool(sample.options.get("include-source"))

    def kept(self, expected: Any) -> Any:
        match expected:
            case {"type": "reusableWorkflowJob" | "job" | 0, **rest} | {"jobs": _, **rest}:
                del rest
                return {k: self.kept(v) for k, v in expected.items() if k not in self.NOT_HELD}
            case dict():
                return {
                    k: self.kept(v)
                    for k, v in expected.items()
                    if k not in {"wait", "wait-all", "cancel"}
                }
            case list():
                return [self.kept(item) for item in expected]
            case _:
                return expected

    def workflow(self, workflow: Workflow) -> dict[str, Any]:
        return without_none(
            {
                "events": {t.event: plain(t.node) or {} for t in workflow.triggers}
                if "events" in self.sample.expected
                else None,
                "env": self.node(workflow.env),
                "concurrency": self.node(workflow.concurrency),
                "jobs": [self.job(job) for job in workflow.jobs],
            }
        )

    def job(self, job: Job) -> dict[str, Any]:
        own_name = Scalar(job.id, job.mark, job.id)
        common = {
            "id": self.node(own_name),
            "name": self.node(job.name or own_name),
            "if": condition(job.condition),
            "concurrency": self.node(job.concurrency),
        }
        needs = [self.node(need) for need in job.needs]
        if job.uses is not None:
            return without_none(common | {"needs": needs} | self.call(job))
        defaults = Mapping(
            tuple(
                (Scalar(name, job.mark, name), value)
                for name, value in (
                    ("shell", job.shell),
                    ("working-directory", job.working_directory),
                )
                if value is not None
            ),
            job.mark,
        )
        run = Mapping(((Scalar("run", job.mark, "run"), defaults),), job.mark)
        return without_none(
            common
            | {
                "type": "job",
                "needs": needs or None,
                "strategy": self.strategy(job),
                "runs-on": self.node(job.runs_on),
                "container": self.node(job.container),
                "services": self.node(job.services),
                "env": self.node(job.env),
                "environment": self.node(job.environment),
                "defaults": self.node(run) if defaults.entries else None,
                "continue-on-error": self.node(job.continue_on_error),
                "timeout-minutes": self.node(job.timeout_minutes),
                "steps": [self.step(step) for step in job.steps] or None,
            }
        )

    def call(self, job: Job) -> dict[str, Any]:
        assert job.uses is not None
        called = self.sample.load(text_of(job.uses))
        assert called is not None
        skipped = self.sample.options.get("skip-reusable-workflows")
        definitions = [
            {
                "Key": name,
                "Value": {"type": 2, "map": [{"Key": "required", "Value": True}]},
            }
            for name in called.required_secrets
        ]
        return {
            "type": "reusableWorkflowJob",
            "ref": self.node(job.uses),
            "input-values": self.node(job.inputs),
            "secret-definitions": {"type": 2, "map": definitions} if definitions else None,
            "secret-values": self.node(job.secrets) if isinstance(job.secrets, Mapping) else None,
            "inherit-secrets": True if isinstance(job.secrets, Scalar) else None,
            "jobs": [] if skipped else [self.job(inner) for inner in called.jobs],
        }

    def strategy(self, job: Job) -> Any:
        if job.strategy is None:
            return None
        return {"type": 2, "map": [{"Key": "matrix", "Value": self.node(job.strategy.matrix)}]}

    def step(self, step: Step) -> dict[str, Any]:
        if step.control:
            names = {"wait": "Wait", "wait-all": "Wait for all", "cancel": "Cancel"}
            return {"id": step.id, "name": names[step.control]}
        return without_none(
            {
                "id": step.id,
                "name": self.node(step.name),
                "if": condition(step.condition),
                "run": self.node(step.run),
                "uses": self.node(step.uses),
                "with": self.node(step.inputs),
                "continue-on-error": self.node(step.continue_on_error),
                "timeout-minutes": self.node(step.timeout_minutes),
                "background": self.node(step.background),
            }
        )

    def node(self, node: Node | None) -> Any:
        match node:
            case Scalar(value, mark):
                shown = literal(value)
                if self.with_places and not isinstance(shown, dict):
                    return {"type": 0, "line": mark.line, "col": mark.column, "lit": shown}
                return shown
            case Sequence(items):
                return {"type": 1, "seq": [self.node(item) for item in items]}
            case Mapping(entries):
                shown = [{"Key": text_of(key), "Value": self.node(v)} for key, v in entries]
                return {"type": 2, "map": shown}
            case None:
                return None


def literal(value: Any) -> Any:
    if value is None:
        return ""  # wherever the suite has one, GitHub wants text
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not isinstance(value, str) or "${{" not in value:
        return value
    parts = template.split(value)
    if len(parts) > 1:
        return {"type": 3, "expr": formatted(parts)}
    text = parts[0].text
    if re.fullmatch("'(?:[^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    return {"type": 3, "expr": text}


def formatted(parts: Any) -> str:
    words, arguments = "", ""
    for part in parts:
        if part.expression:
            words += f"{{{arguments.count(', ')}}}"
            arguments += f", {part.text}"
        else:
            words += part.text.replace("'", "''").replace("{", "{{").replace("}", "}}")
    return f"format('{words}'{arguments})"


def condition(given: Scalar | None) -> Any:
    if given is None:
        return {"type": 3, "expr": "success()"}
    shown = literal(given.value)
    text = shown["expr"] if isinstance(shown, dict) else text_of(given)
    final = text if parse(text, functions=STATUS).uses_status() else f"success() && ({text})"
    return {"type": 3, "expr": final}


STATUS = dict.fromkeys(("success", "failure", "always", "cancelled"), (0, 9))


def without_none(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if value is not None}
