"""`presubmit image`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import rich_click as click

from presubmit.cli.options import make_options


@click.group()
def image() -> None:
    """Say which image is used and why; build, fetch or check one."""


@image.command("list")
@click.option("--image", "name", metavar="NAME", help="As for `run`.")
@click.option("--trust-head", is_flag=True, help="As for `run`.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(name: str | None, *, trust_head: bool, as_json: bool) -> int:
    """Show which image a run would use, why, and what else names one."""
    from presubmit import images  # noqa: PLC0415
    from presubmit.container.engine import connect  # noqa: PLC0415
    from presubmit.errors import PresubmitError  # noqa: PLC0415
    from presubmit.reading import read_all  # noqa: PLC0415
    from presubmit.values import builtins_of  # noqa: PLC0415

    reading = read_all(make_options({"image": name, "trust_head": trust_head}), os.environ)
    choice = images.choose(reading, cli=name, trust_head=trust_head)
    found, problem, hint = None, "", ""
    try:
        with connect() as engine:
            found, _ = images.resolve(reading, choice, engine)
    except PresubmitError as error:
        problem, hint = str(error), error.hint
    if as_json:
        whole = {"choice": builtins_of(choice), "image": builtins_of(found), "problem": problem}
        click.echo(json.dumps(whole, indent=1))
        return 3 if problem else 0
    if found is not None:
        click.echo(f"{found.name}   {found.id}   from {found.origin}")
    for text in choice.others:
        click.echo(f"not used: {text}")
    for text in choice.notes:
        click.echo(f"note: {text}")
    if problem:
        click.echo(f"presubmit: {problem}\n  -> {hint}", err=True)
        return 3
    return 0


@image.command()
@click.option("--base", metavar="NAME", help="Base image of the default devel image.")
@click.option(
    "--trust-head", is_flag=True, help="Build the Dockerfile of the change, not its base's."
)
@click.option("--pull", is_flag=True, help="Fetch a missing base image from its registry.")
def build(base: str | None, *, trust_head: bool, pull: bool) -> int:
    """Build the project's own Dockerfile, or a default devel image where it has none."""
    from presubmit.imagebuild import build_project_image  # noqa: PLC0415
    from presubmit.reading import read_all  # noqa: PLC0415

    reading = read_all(make_options({"trust_head": trust_head}), os.environ)
    made = build_project_image(
        reading, base=base, trust_head=trust_head, pull=pull, on_output=sys.stdout.write
    )
    click.echo(f"built {made.name}   {made.id}")
    return 0


@image.command()
@click.argument("name")
def pull(name: str) -> int:
    """Fetch an image from its registry (a run never does)."""
    from presubmit.container.engine import connect  # noqa: PLC0415

    with connect() as engine:
        found = engine.pull(name)
    click.echo(f"{found.name}   {found.digest or found.id}")
    return 0


@image.command()
@click.argument("name", required=False)
def check(name: str | None) -> int:
    """Say whether extension modules can be built in an image (devel) or not (runtime).

    Exit 0 for a devel image, 1 for a runtime image, 3 where no Python step can run in it.
    """
    from presubmit import images  # noqa: PLC0415
    from presubmit.container.engine import connect  # noqa: PLC0415
    from presubmit.container.facts import check_image  # noqa: PLC0415
    from presubmit.container.model import BoxSpec  # noqa: PLC0415
    from presubmit.reading import read_all  # noqa: PLC0415

    with connect() as engine, tempfile.TemporaryDirectory(prefix="presubmit-") as folder:
        if name is not None:
            found = engine.image(name, origin="the command line")
        else:
            reading = read_all(make_options({}), os.environ)
            choice = images.choose(reading, cli=None, trust_head=False)
            found, _ = images.resolve(reading, choice, engine)
        spec = BoxSpec(
            image=found,
            lane="check",
            run=f"check-{os.getpid()}",
            repo="image",
            workdir="/",
            network="none",
        )
        box = engine.start(spec)
        try:
            facts = check_image(box, log=Path(folder) / "log")
        finally:
            box.close()
    for field in facts.__struct_fields__:
        value = getattr(facts, field)
        if isinstance(value, str) and value:
            click.echo(f"  {field:<10} {value}")
    for lack in facts.missing:
        click.echo(f"  missing    {lack}")
    kind = (
        "a devel image"
        if facts.is_devel
        else "a runtime image"
        if facts.usable
        else "of no use here"
    )
    click.echo(f"{found.name} is {kind}")
    return 0 if facts.is_devel else 1 if facts.usable else 3
