"""Options that several commands share, and how they become one typed value."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from presubmit.errors import UsageError
from presubmit.reading import RunOptions, at_users_place
from presubmit.selector.shards import Shard
from presubmit.values import TargetKind, Tier

if TYPE_CHECKING:
    from collections.abc import Callable


class Seconds(click.ParamType[float]):
    """A time: `90`, `90s`, `5m`, `1h`."""

    name = "TIME"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Give seconds; a usage error for anything else."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a time; write 90s or 5m", param, ctx)
        return float(found.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[found.group(2)]


class ShardOf(click.ParamType[Shard]):
    """One of several machines: `2/4`."""

    name = "I/N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Shard:
        """Give the shard; a usage error for anything else."""
        if isinstance(value, Shard):
            return value
        found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", str(value).strip(), re.ASCII)
        if found is None or not 1 <= int(found.group(1)) <= int(found.group(2)):
            self.fail(f"{value!r} is no shard; write 2/4 for the second of four", param, ctx)
        return Shard(number=int(found.group(1)), count=int(found.group(2)))


def _split(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(part.strip() for text in value for part in text.split(",") if part.strip())


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says which tree is tested against which base."""
    for option in reversed(
        (
            click.option("--base", metavar="REF", help="Compare with the merge-base of this ref."),
            click.option("--fetch", is_flag=True, help="Allow fetching the base from its remote."),
            click.option("--staged", is_flag=True, help="Test what is staged, not the worktree."),
            click.option("--commit", metavar="REV", help="Test a commit, not the worktree."),
            click.option("--no-untracked", is_flag=True, help="Leave untracked files out."),
        )
    ):
        function = option(function)
    return function


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says how much is run."""
    for option in reversed(
        (
            click.option(
                "--only",
                multiple=True,
                callback=_split,
                metavar="STEP,…",
                help="Run these steps or roles (lint, build, tests, docs) and what they need.",
            ),
            click.option(
                "--skip",
                multiple=True,
                callback=_split,
                metavar="STEP,…",
                help="Leave these steps or roles out.",
            ),
            click.option(
                "--tier",
                type=click.Choice([str(t) for t in Tier]),
                default=str(Tier.STANDARD),
                show_default=True,
                help="quick: no build; standard: build and affected tests; full: benchmarks too.",
            ),
            click.option(
                "--tests",
                type=click.Choice(["affected", "nearest", "all"]),
                help="Which tests: all that the change can affect (with tier quick: the nearest of them), or every one.",
            ),
            click.option("--last-failed", is_flag=True, help="Only the tests that failed last."),
            click.option(
                "-x", "--exit-first", is_flag=True, help="Stop at the first failing test."
            ),
            click.option(
                "--retries", type=click.IntRange(0, 10), help="Reruns of a failing test."
            ),
            click.option(
                "--budget",
                type=Seconds(),
                help="Most time to spend, the build included; the likeliest to fail are kept, the rest is named (exit 4).",
            ),
            click.option(
                "--shard",
                type=ShardOf(),
                help="Run one of N parts of the affected tests, on each machine another (exit 4: see --allow-partial).",
            ),
        )
    ):
        function = option(function)
    return function


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says where it runs."""
    for option in reversed(
        (
            click.option("--image", metavar="NAME", help="Image to run in."),
            click.option(
                "--pull", is_flag=True, help="Fetch a missing image from its registry; else never."
            ),
            click.option(
                "--no-container",
                is_flag=True,
                help="Run on this host: the project's code then has your rights.",
            ),
            click.option(
                "--trust-head",
                is_flag=True,
                help="Take image and container settings from the change itself, not from its base.",
            ),
        )
    ):
        function = option(function)
    return function


def make_options(values: dict[str, Any]) -> RunOptions:
    """Turn a command's parameters into RunOptions; raises UsageError where they contradict."""
    staged, commit = values.get("staged", False), values.get("commit")
    if staged and commit:
        raise UsageError("--staged and --commit name two different trees", hint="give one of them")
    kind = TargetKind.WORKTREE
    if staged:
        kind = TargetKind.STAGED
    elif commit:
        kind = TargetKind.COMMIT
    if values.get("image") and values.get("no_container"):
        raise UsageError(
            "--image and --no-container contradict each other", hint="give one of them"
        )
    for name in ("base", "image", "commit"):
        if values.get(name) == "":
            raise UsageError(f"--{name} is empty", hint="give a name, or leave the option out")
    shard = values.get("shard")
    for given, name in (
        (values.get("arguments"), "arguments after `--`"),
        (values.get("last_failed"), "--last-failed"),
    ):
        if shard is not None and given:
            raise UsageError(
                f"--shard and {name} contradict each other",
                hint="shards are parts of the affected tests; leave one of them out",
            )
    tier = Tier(values.get("tier", Tier.STANDARD))
    options = RunOptions(
        start=Path.cwd(),
        base=values.get("base"),
        fetch=values.get("fetch", False),
        kind=kind,
        commit=commit,
        untracked=not values.get("no_untracked", False),
        only=tuple(values.get("only", ())),
        skip=tuple(values.get("skip", ())),
        tier=tier,
        tests=values.get("tests") or ("nearest" if tier is Tier.QUICK else "affected"),
        last_failed=values.get("last_failed", False),
        exit_first=values.get("exit_first", False),
        retries=values.get("retries"),
        check_base=values.get("check_base", "auto"),
        container=not values.get("no_container", False),
        image=values.get("image"),
        pull=values.get("pull", False),
        trust_head=values.get("trust_head", False),
        fresh=values.get("fresh", False),
        budget=values.get("budget"),
        shard=shard,
        allow_partial=values.get("allow_partial", False),
        arguments=tuple(values.get("arguments", ())),
    )
    return at_users_place(options, os.environ)


def print_run() -> None:
    """Print the newest run's run.json."""
    from presubmit.change import read_repository  # noqa: PLC0415 - git costs 0.2 s
    from presubmit.report.folder import find_run, read_run  # noqa: PLC0415

    top = read_repository(Path.cwd()).top
    click.echo(json.dumps(read_run(find_run(top, None)), indent=1))
