"""Opens a shell where a step ran: the same tree, environment, folder and variables."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from presubmit.errors import UsageError
from presubmit.history import History
from presubmit.reading import plan_run, read_all
from presubmit.replay.build import read_stamp
from presubmit.replay.lanes import Place, open_lane
from presubmit.replay.lint import tools_folder
from presubmit.replay.perform import build_of
from presubmit.upstream_taking import take_options
from presubmit.values import Build, Docstrings, LintCommand, Syntax
from presubmit.where import find_where, history_path, open_lane_mirror

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.reading import RunOptions
    from presubmit.replay.lanes import OpenLane
    from presubmit.values import Plan, PlanStep

# Bash where the image has it; the environment's programs come first either way.
_SHELL = (
    'for d in /usr/lib/ccache "$0"/venv/bin; do [ -d "$d" ] && PATH=$d:$PATH; done; export PATH; '
    'if [ $# -gt 0 ]; then exec "$@"; elif command -v bash >/dev/null; then exec bash -i; else exec sh -i; fi'
)


def cmd_shell(
    options: RunOptions,
    step_name: str | None,
    command: tuple[str, ...],
    environ: Mapping[str, str],
    *,
    debug: bool,
    network: bool,
    say: Callable[[str], None],
) -> int:
    """Open the shell (or run `command` there); gives its exit code. Raises UsageError for an unknown step."""
    reading = read_all(options, environ)
    with ExitStack() as stack:
        history = stack.enter_context(History(history_path(reading)))
        mirror = stack.enter_context(open_lane_mirror(reading, "head"))
        mirror.checkout(reading.change.target.snapshot)
        where = find_where(reading, options, stack)
        reading, _ = take_options(reading, options, where, environ, history)
        planned = plan_run(
            reading,
            # The shell is for the whole tree: an environment is wanted though nothing may have changed.
            msgspec.structs.replace(options, tests="all"),
            history,
            clean=False,
        )
        step = find_step(planned.plan, step_name)
        place = Place(
            cache=reading.cache,
            run=f"shell-{reading.change.target.tree[:7]}",
            repository=reading.cache.parent.name,
            engine=where.engine,
            image=where.image,
            container=reading.config.config.container,
            environ=environ,
            debug=debug,
        )
        beside = step is not None and isinstance(step.work, Syntax | LintCommand | Docstrings)
        if beside:
            mirror = stack.enter_context(open_lane_mirror(reading, "lint"))
            mirror.checkout(reading.change.target.snapshot)
        work = None if beside else build_of(planned.plan)
        purpose = "tools" if beside else "build" if network or _builds(step) else "test"
        lane = open_lane(
            *(place, "lint" if beside else "head", mirror, work, reading.head_reader.blobs),
            purpose=purpose,
        )
        stack.callback(lane.box.close)
        if work is not None and not read_stamp(lane.lane.host_environment):
            say("nothing is built there yet: presubmit run --only build")
        if step is not None:
            say(f"{step.id} runs: {shlex.join(_command_of(step))}")
        return _open(lane, command, step, where.engine is not None, stack, say)


def _builds(step: PlanStep | None) -> bool:
    return step is not None and isinstance(step.work, Build)


def find_step(plan: Plan, name: str | None) -> PlanStep | None:
    """Find a step by id, role or title; None where no name is given. Raises UsageError."""
    if name is None:
        return None
    for step in plan.steps:
        if name in {step.id, str(step.role), step.title}:
            return step
    known = ", ".join(step.id for step in plan.steps) or "none"
    raise UsageError(f"there is no step `{name}`", hint=f"steps of this change: {known}")


def _command_of(step: PlanStep) -> tuple[str, ...]:
    command = getattr(step.work, "command", ())
    if isinstance(command, str):
        return (command,) if command else (step.title,)
    return tuple(command) or (step.title,)


def _open(
    opened: OpenLane,
    command: tuple[str, ...],
    step: PlanStep | None,
    in_container: bool,  # noqa: FBT001
    stack: ExitStack,
    say: Callable[[str], None],
) -> int:
    lane = opened.lane
    requirements = getattr(step.work, "requirements", ()) if step is not None else ()
    tools = requirements and isinstance(step and step.work, LintCommand | Docstrings)
    environment = tools_folder(lane, requirements) if tools else lane.environment
    env = {"VIRTUAL_ENV": f"{environment}/venv", "PS1": "presubmit:\\w$ "}
    argv = ("sh", "-c", _SHELL, environment, *command)
    if not command and sys.stdin.isatty() and sys.stdout.isatty():
        from presubmit.container import interactive  # noqa: PLC0415 - needs a terminal

        if not in_container:
            return interactive.interact_on_host(argv, cwd=lane.source, env={**lane.env, **env})
        from presubmit.container.engine import connect  # noqa: PLC0415

        engine = stack.enter_context(connect())
        return interactive.interact(engine, lane.box, argv, cwd=lane.source, env=env)
    if not command:
        # `echo 'pytest -x' | presubmit shell`: the box's own stdin is its dead man's switch.
        argv = (*argv, "sh", "-c", sys.stdin.read())
    log = Path(lane.host_output) / "shell.log"
    done = opened.box.exec(
        argv, log=log, timeout=86_400.0, env=env, cwd=lane.source, on_output=_write
    )
    log.unlink(missing_ok=True)
    if done.exit_code is None:
        say(done.reason or str(done.outcome))
        return 3
    return done.exit_code


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
