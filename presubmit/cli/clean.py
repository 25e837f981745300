"""`presubmit clean`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import rich_click as click


class Days(click.ParamType[float]):
    """An age: `14d`, `12h`."""

    name = "AGE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Give seconds; a usage error for anything else."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+)\s*([dh])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not an age; write 14d or 12h", param, ctx)
        return float(found.group(1)) * {"d": 86_400, "h": 3_600}[found.group(2)]


@click.command()
@click.option("--older-than", type=Days(), default="14d", show_default=True, help="Age to keep.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="All runs but the newest, and all caches of this repository.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def clean(older_than: float, *, everything: bool, dry_run: bool) -> int:
    """Remove old runs and environments of this repository, and containers of dead runs."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.change.repository import repository_id  # noqa: PLC0415
    from presubmit.clean import plan_removals, refuse_while_running, remove  # noqa: PLC0415
    from presubmit.errors import PresubmitError  # noqa: PLC0415
    from presubmit.reading import cache_root  # noqa: PLC0415

    repository = read_repository(Path.cwd())
    cache = cache_root(os.environ) / repository_id(str(repository.common_dir))
    if not dry_run:
        refuse_while_running(cache)
    failed = False
    freed = 0
    for removal in plan_removals(
        repository.top, cache, older_than=older_than, everything=everything
    ):
        problem = "" if dry_run else remove(removal)
        failed = failed or bool(problem)
        freed += 0 if problem else removal.size
        word = "would remove" if dry_run else "removed" if not problem else "could not remove"
        click.echo(
            f"{word} {removal.path} ({removal.size >> 20} MiB, {removal.why}) {problem}".rstrip()
        )
    try:
        from presubmit.container.engine import connect  # noqa: PLC0415 - docker costs 0.3 s

        with connect() as engine:
            for name in engine.sweep(dry_run=dry_run):
                click.echo(f"{'would remove' if dry_run else 'removed'} container {name}")
    except PresubmitError:
        click.echo("no container engine answers: no containers looked for")
    click.echo(f"{'would free' if dry_run else 'freed'} {freed >> 20} MiB")
    return 1 if failed else 0
