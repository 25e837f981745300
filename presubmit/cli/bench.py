"""`presubmit bench`."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from presubmit.cli.options import (
    Seconds,
    make_options,
    place_options,
    print_run,
    target_options,
)


class Share(click.ParamType[float]):
    """A change: `5%`, or `0.05`."""

    name = "PERCENT"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Give a share; a usage error for anything else."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", str(value).strip(), re.ASCII)
        if found is None or float(found.group(1)) <= 0:
            self.fail(f"{value!r} is no change; write 5% or 0.05", param, ctx)
        return float(found.group(1)) / (100 if found.group(2) else 1)


@click.command()
@target_options
@place_options
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only benchmarks whose name has this in it, or is matched by it (`*`).",
)
@click.option("--all", "every", is_flag=True, help="All benchmarks, whatever the change reaches.")
@click.option(
    "--budget", type=Seconds(), help="Most time to measure, builds apart.  [default: 120s]"
)
@click.option(
    "--fail-above",
    type=Share(),
    help="A confirmed slow-down of at least this fails.  [default: 5%]",
)
@click.option("--strict", is_flag=True, help="Exit 4 where an answer is `unsure`.")
@click.option(
    "--counts/--no-counts",
    default=None,
    help="Count instructions, too (perf events, or valgrind).  [default: where they can be had]",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Measure this one, and show where its time goes on both sides: flame graphs in the run folder.",
)
@click.option(
    "--aa", is_flag=True, help="Compare the base with itself: this machine's false alarms."
)
@click.option(
    "--history", metavar="NAME", help="Print what was measured of one before; run nothing."
)
@click.option("--fresh", is_flag=True, help="Build from a clean tree, reuse nothing built before.")
@click.option(
    "--output",
    type=click.Choice(["auto", "rich", "plain", "github", "json"]),
    default="auto",
    show_default=True,
    help="How to print; json prints bench.json at the end and nothing else.",
)
def bench(
    output: str,
    *,
    only: tuple[str, ...],
    every: bool,
    budget: float | None,
    fail_above: float | None,
    strict: bool,
    counts: bool | None,
    profile: str | None,
    aa: bool,
    history: str | None,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Compare microbenchmarks of base and head, and say how sure the answer is.

    Both sides are built, in two environments, and measured in pairs of fresh processes that take turns
    every few milliseconds on one core. Each benchmark ends as `slower`, `faster`, `same` or `unsure`.
    What was slower is measured once more; only a slow-down that shows again, and is at least
    --fail-above, fails.

    asv suites, files for pytest-benchmark and pytest-codspeed, scripts with torch.utils.benchmark and
    programs that the configuration names (`[[bench.command]]`) are found by themselves. Those run that
    the change can reach; head's benchmark files run on both sides.

    Exit codes: 0 nothing is slower, or nothing to compare; 1 a confirmed slow-down, or a benchmark that
    fails on head alone; 2 usage; 3 could not compare; 4 nothing was measured; 130 interrupted.
    """
    from presubmit.bench.values import BenchAsk  # noqa: PLC0415
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415
    from presubmit.run import cmd_run  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.values import Tier  # noqa: PLC0415

    if history is not None:
        return print_history(history)
    if aa and profile:
        raise UsageError("--aa compares the base with itself", hint="leave --profile out")
    if aa and (every or strict):
        raise UsageError("--aa compares the base with itself", hint="leave --all and --strict out")
    told = {"bench.budget": budget, "bench.fail_above": fail_above}
    options = make_options(values)
    options = msgspec.structs.replace(
        options,
        only=("bench",),
        tier=Tier.FULL,
        check_base="never",
        bench=BenchAsk(
            only=(*only, profile) if profile else only,
            profile=profile is not None,
            every=every,
            self_test=aa,
            strict=strict,
            counts={None: "auto", True: "yes", False: "no"}[counts],
        ),
        config={**options.config, **{name: it for name, it in told.items() if it is not None}},
    )
    stream = sys.stdout or io.StringIO()
    chosen = "quiet" if output == "json" else choose_output(output, os.environ, stream)
    with Terminal(chosen) as terminal:
        code = cmd_run(options, terminal, os.environ)
    if output == "json":
        print_comparison()
    return int(code)


def print_comparison() -> None:
    """Print the newest run's bench.json; its run.json where nothing was compared."""
    from presubmit.bench.values import BENCH_FILE  # noqa: PLC0415
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.report.folder import find_run  # noqa: PLC0415

    path = find_run(read_repository(Path.cwd()).top, None) / BENCH_FILE
    if path.is_file():
        click.echo(path.read_text(encoding="utf-8"))
    else:
        print_run()


def print_history(name: str) -> int:
    """Print the line of one benchmark: when, tree, value, change to its base; raises UsageError for an unknown one."""
    import difflib  # noqa: PLC0415

    from presubmit.bench.rows import quantity  # noqa: PLC0415
    from presubmit.bench.values import Kind  # noqa: PLC0415
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.history import History  # noqa: PLC0415

    repository = read_repository(Path.cwd())
    with History(repository.own_dir / "history.db") as known:
        points = known.benchmark_points(name)
        names = known.benchmark_names()
    if not points:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else "presubmit bench"
        raise UsageError(f"nothing was measured of a benchmark `{name}`", hint=hint)
    for at, tree, value, ratio in points:
        click.echo(
            f"{at}  tree {tree[:7]}  {quantity(value, Kind.TIME, 'seconds'):>9}  {ratio - 1:+.1%}"
        )
    return 0
