"""Judges one cell before it runs: can it be replayed here, what does it lack, and what are its steps for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream import template
from presubmit.upstream.expressions import ExpressionError, is_truthy, to_string
from presubmit.upstream.jobs import (
    JobError,
    evaluate,
    flag_of,
    labels_of,
    strategy_context,
    text_of,
)
from presubmit.upstream.names import display_name
from presubmit.upstream.nodes import Mapping as MappingNode
from presubmit.upstream.recipes.roles import StepScript, role_of
from presubmit.upstream.runners import RunnerVerdict, judge_runner
from presubmit.upstream.uses import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from presubmit.upstream.jobs import Reference
    from presubmit.upstream.matrix import Cell
    from presubmit.upstream.model import Job, Step, Workflow
    from presubmit.upstream.nodes import Mark
    from presubmit.upstream.setting import Setting

_NEST: Final = 10
_SETS_UP: Final = re.compile(r"actions/(?:checkout|cache|setup-)|[^/]+/setup-")
_SUDO: Final = re.compile(
    r"(?m)(?:^|[;&|(`]|\$\(|\bthen\b|\bdo\b|\belse\b)\s*(?:\w+=\S*\s+)*sudo\s"
)
_DOCKER: Final = re.compile(
    r"(?m)(?:^|[;&|(`]|\$\(|\bthen\b|\bdo\b|\belse\b)\s*(?:sudo\s+)?docker\s"
)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a cell before it runs."""

    name: str
    lacks: str = ""
    mark: Mark | None = None
    notes: tuple[str, ...] = ()
    role: str = "other"
    role_reason: str = ""
    image: str = ""
    """The image of its container; empty for the devel image."""
    steps: tuple[StepScript, ...] = ()


def judge_cell(
    job: Job,
    cell: Cell,
    contexts: Mapping[str, Any],
    setting: Setting,
    known: Callable[[Reference], bool],
    *,
    workflow: Workflow,
) -> Judged:
    """Say whether a cell can be replayed here, and what it is for."""
    name = job.id
    try:
        inside = cell_contexts(job, cell, contexts, setting, workflow)
        written = job.name.text if job.name is not None else None
        name = display_name(
            ("" if template.unknown(job.name, known) else text_of(job.name, inside)),
            job.id,
            cell.axes,
            written=written,
        )
        judged = RunnerVerdict("")
        if not template.unknown(job.runs_on, known):
            judged = judge_runner(labels_of(job, inside), setting.here, setting.runners)
        steps = _Steps(setting, inside, known, workflow.file)
        steps.walk(job.steps, job=job, workflow=workflow)
        role, role_reason = role_of(
            tuple(steps.scripts), job=job.id, name=name, workflow=workflow.file, read=setting.read
        )
        found = Judged(
            name=name,
            role=role,
            role_reason=role_reason,
            notes=tuple(dict.fromkeys(n for n in (judged.note, *steps.notes) if n)),
            image=judged.image or "",
            steps=tuple(steps.scripts),
        )
        lacks, mark = judged.lacks, job.runs_on.mark if job.runs_on is not None else job.mark
        for node, what in ((job.container, "container"), (job.services, "services")):
            if node is not None and not lacks and not template.unknown(node, known):
                lacks, mark = _images(evaluate(node, inside), what, setting), node.mark
        if not lacks:
            lacks, mark = steps.lacks, steps.mark or mark
        if not lacks and steps.only_stubs:
            lacks, mark = f"{steps.only_stubs}: all that it does is done elsewhere", job.mark
        return msgspec.structs.replace(found, lacks=lacks, mark=mark if lacks else None)
    except JobError as error:
        return Judged(name=name, lacks=str(error), mark=error.mark)


def local_form(uses: str) -> str:
    """Write `$/x`, which means this repository at this commit, as `./x`."""
    return f"./{uses[2:]}" if uses.startswith("$/") else uses


def _images(value: Any, what: str, setting: Setting) -> str:  # noqa: ANN401 - JSON's types
    """Say which image of a job's container or services is not here."""
    if not value or setting.has_image is None:
        return ""
    wanted = [value] if what == "container" else list(value.values())
    for one in wanted:
        image = to_string(one.get("image") or "") if isinstance(one, dict) else to_string(one)
        if image and not setting.has_image(image):
            return f"image {image} of its {what}"
    return ""


def cell_contexts(
    job: Job, cell: Cell, contexts: Mapping[str, Any], setting: Setting, workflow: Workflow
) -> dict[str, Any]:
    """Give the contexts that a cell's own keys are evaluated with. Raises JobError."""
    inside = {**contexts, "matrix": dict(cell.values) if cell.values else None}
    inside["strategy"] = strategy_context(job, cell, inside)
    inside["runner"] = {
        "os": setting.here.system if setting.here else "Linux",
        "arch": setting.here.arch if setting.here else "X64",
        "temp": "",
        "tool_cache": "",
        "name": "presubmit",
        "environment": "github-hosted",
        "debug": "",
    }
    inside["job"] = {"status": "success"}
    inside["steps"] = {}
    top = evaluate(workflow.env, {**inside, "env": {}}) or {}
    known = {name: to_string(value) for name, value in top.items()}
    own = evaluate(job.env, {**inside, "env": known}) or {}
    inside["env"] = {**known, **{name: to_string(value) for name, value in own.items()}}
    return inside


class _Steps:
    """Looks at the steps of a cell without running them."""

    def __init__(
        self,
        setting: Setting,
        contexts: Mapping[str, Any],
        known: Callable[[tuple[str, ...]], bool],
        file: str,
    ) -> None:
        self.setting = setting
        self.contexts = dict(contexts)
        self._known_job = known
        self.file = file
        self.lacks = ""
        self.mark: Mark | None = None
        self.notes: list[str] = []
        self.scripts: list[StepScript] = []
        self._stubs: list[str] = []
        self._acts = False

    @property
    def only_stubs(self) -> str:
        """The stub that is all the cell would do, apart from setting up: that would be green for nothing."""
        return "" if self._acts or not self._stubs else f"action {self._stubs[0]}"

    def known(self, path: tuple[str, ...]) -> bool:
        return path[:1] != ("steps",) and self._known_job(path)

    def walk(
        self,
        steps: Iterable[Step],
        *,
        job: Job | None,
        workflow: Workflow | None,
        tolerated: bool = False,
        depth: int = 0,
    ) -> None:
        """Go through steps in order; the first thing that is not here decides."""
        for step in steps:
            runs = self._condition(step)
            if runs is False:
                continue
            contexts = self._with_env(step)
            if step.control or (
                step.background is not None and step.background.value is not False
            ):
                what = step.control or "background"
                self._lack(f"`{what}` steps", step, runs=runs, tolerated=tolerated)
            elif step.uses is not None:
                self._uses(step, contexts, runs=runs, tolerated=tolerated, depth=depth)
            elif step.run is not None:
                self._run(
                    step, contexts, runs=runs, tolerated=tolerated, job=job, workflow=workflow
                )

    def _condition(self, step: Step) -> bool | None:
        """Whether the step runs when all goes well; None where a step before decides."""
        well: dict[str, Callable[..., Any]] = {
            "success": lambda: True,
            "failure": lambda: False,
            "cancelled": lambda: False,
            "always": lambda: True,
            "hashFiles": lambda *_: "unknown",
        }
        try:
            if template.unknown_condition(step.condition, self.known):
                return None
            return is_truthy(template.condition(step.condition).evaluate(self.contexts, well))
        except ExpressionError:
            return None

    def _with_env(self, step: Step) -> dict[str, Any]:
        env = dict(self.contexts["env"])
        if isinstance(step.env, MappingNode):
            for key, node in step.env.entries:
                if not template.unknown(node, self.known):
                    env[key.text] = to_string(self._evaluate(node))
        return {**self.contexts, "env": env}

    def _evaluate(self, node: Any, contexts: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - a node; JSON's types
        functions = {"hashFiles": lambda *_: ""}
        return evaluate(node, contexts or self.contexts, functions)

    def _uses(
        self,
        step: Step,
        contexts: Mapping[str, Any],
        *,
        runs: bool | None,
        tolerated: bool,
        depth: int,
    ) -> None:
        assert step.uses is not None  # noqa: S101 - asked by the caller
        uses = local_form(str(step.uses.value))
        inputs: dict[str, str | None] = {}
        for key, node in step.inputs.entries if step.inputs is not None else ():
            unknown = template.unknown(node, self.known)
            inputs[key.text.lower()] = (
                None if unknown else to_string(self._evaluate(node, contexts))
            )
        self.scripts.append(
            StepScript(
                script="",
                uses=uses,
                line=step.mark.line,
                name=self._name(step, contexts),
                inputs={name: value or "" for name, value in inputs.items()},
                certain=runs is True,
            )
        )
        wanted = Wanted(uses=uses, inputs=inputs, repository=self.setting.facts.repository or "")
        bare = uses.partition("@")[0].lower()
        if bare in self.setting.substitutes:
            self._acts = True
            return
        if uses.startswith("./"):
            self._composite(step, uses, inputs, tolerated=tolerated, depth=depth)
            return
        if self.setting.here is None:
            return  # what a box has is not known, so nothing is said of what it lacks
        support = self.setting.support(wanted, self.setting.here)
        if support.note:
            self.notes.append(support.note)
        if support.stub:
            self._stubs.append(bare)
            self.notes.append(f"stubbed: {bare} ({self.file}:{step.mark.line})")
        elif not _SETS_UP.match(bare):
            self._acts = True
        if support.lacks:
            self._lack(support.lacks, step, runs=runs, tolerated=tolerated)

    def _composite(
        self,
        step: Step,
        uses: str,
        inputs: Mapping[str, str | None],
        *,
        tolerated: bool,
        depth: int,
    ) -> None:
        action = self.setting.read_action(uses)
        if action is None:
            return  # it may come with the checkout of something else: the cell itself will say
        if action.using != "composite":
            self._lack(f"action {uses} ({action.using})", step, runs=True, tolerated=tolerated)
            return
        if depth >= _NEST:
            self._lack(
                f"actions nest {depth} deep at {uses}", step, runs=True, tolerated=tolerated
            )
            return
        given: dict[str, str | None] = {
            i.name.lower(): "" if i.default is None else to_string(self._evaluate(i.default))
            for i in action.inputs
        }
        given |= {name: value for name, value in inputs.items() if value is not None}
        inner = _Steps(
            self.setting, {**self.contexts, "inputs": given}, self._known_job, action.path
        )
        self._acts = True
        inner.walk(
            action.steps,
            job=None,
            workflow=None,
            tolerated=tolerated or self._tolerated(step),
            depth=depth + 1,
        )
        self.notes += inner.notes
        self.scripts += [
            msgspec.structs.replace(s, line=step.mark.line, within=False) for s in inner.scripts
        ]
        if inner.lacks:
            self._lack(inner.lacks, step, runs=True, tolerated=tolerated)

    def _run(
        self,
        step: Step,
        contexts: Mapping[str, Any],
        *,
        runs: bool | None,
        tolerated: bool,
        job: Job | None,
        workflow: Workflow | None,
    ) -> None:
        assert step.run is not None  # noqa: S101 - asked by the caller
        unknown = template.unknown(step.run, self.known)
        text = step.run.text if unknown else to_string(self._evaluate(step.run, contexts))
        shell = (
            step.shell or (job.shell if job else None) or (workflow.shell if workflow else None)
        )
        directory = (
            step.working_directory
            or (job.working_directory if job else None)
            or (workflow.working_directory if workflow else None)
        )
        self._acts = True
        self.scripts.append(
            StepScript(
                script=text,
                uses="",
                line=step.run.mark.line,
                name=self._name(step, contexts),
                env=dict(contexts["env"].items()),
                shell=to_string(self._evaluate(shell, contexts)) if shell else "",
                working_directory=(
                    "" if template.unknown(directory, self.known) else text_of(directory, contexts)
                ),
                certain=runs is True,
            )
        )
        here = self.setting.here
        if here is None:
            return
        if _SUDO.search(text) and not here.root:
            self._lack(
                "sudo: cells have no root (`--as-root` gives it)",
                step,
                runs=runs,
                tolerated=tolerated,
            )
        elif _DOCKER.search(text) and "docker" not in here.tools:
            self._lack("docker inside the job", step, runs=runs, tolerated=tolerated)
        elif shell and str(shell.value).split()[:1] in (["pwsh"], ["powershell"], ["cmd"]):
            name = str(shell.value).split()[0]
            if name not in here.tools:
                self._lack(f"shell {name}", step, runs=runs, tolerated=tolerated)

    def _name(self, step: Step, contexts: Mapping[str, Any]) -> str:
        if step.name is None or template.unknown(step.name, self.known):
            return ""
        return to_string(self._evaluate(step.name, contexts))

    def _tolerated(self, step: Step) -> bool:
        if step.continue_on_error is None or template.unknown(step.continue_on_error, self.known):
            return False
        return flag_of(step.continue_on_error, self.contexts, otherwise=False)

    def _lack(self, lacks: str, step: Step, *, runs: bool | None, tolerated: bool) -> None:
        """Take down what is missing; a step that upstream itself tolerates, or may not reach, only gives a note."""
        if tolerated or self._tolerated(step):
            self.notes.append(
                f"{lacks}: that step fails here, and is tolerated ({self.file}:{step.mark.line})"
            )
        elif runs is None:
            self.notes.append(f"{lacks}, if that step is reached ({self.file}:{step.mark.line})")
        elif not self.lacks:
            self.lacks, self.mark = lacks, step.mark
