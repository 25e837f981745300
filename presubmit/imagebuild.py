"""Builds the image a project is tested in: its own Dockerfile, or presubmit's default one, fitted to its CI."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit import images
from presubmit.container.dockerfile import build_devel_image, build_image
from presubmit.container.engine import connect
from presubmit.errors import ImageError
from presubmit.report.folder import own_folder
from presubmit.where import open_lane_mirror

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.reading import Reading
    from presubmit.trees import TreeReader

_RUNNERS: Final[Mapping[str, str]] = {
    "ubuntu-latest": "ubuntu:24.04",
    "ubuntu-24.04": "ubuntu:24.04",
    "ubuntu-22.04": "ubuntu:22.04",
    "ubuntu-20.04": "ubuntu:20.04",
}
_DEFAULT_BASE: Final = "debian:bookworm"
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def build_project_image(
    reading: Reading,
    *,
    base: str | None,
    trust_head: bool,
    pull: bool,
    on_output: Callable[[str], object],
) -> ImageRef:
    """Build and give the image, under the tag that `run` looks for. Raises ImageError.

    The Dockerfile and its context are those of the base commit, unless `trust_head`: a build runs commands with a
    network, and a change may be someone else's.
    """
    choice = images.choose(reading, cli=None, trust_head=trust_head)
    tag = images.own_tag(reading)
    log = own_folder(Path(reading.change.top)) / "image-build.log"

    def say(text: str) -> None:
        on_output(text)

    with ExitStack() as stack:
        engine = stack.enter_context(connect())
        if choice.image:
            raise ImageError(
                f"the project names an image, {choice.image} ({choice.origin}): there is nothing to build",
                hint=f"presubmit image pull {choice.image}",
            )
        if not choice.dockerfile:
            reader = reading.head_reader if trust_head else reading.base_reader
            wanted = base or upstream_base(reader)
            _provide(engine, wanted, pull=pull)
            return build_devel_image(
                engine,
                tag=tag,
                log=log,
                base=wanted,
                args={"PACKAGES": " ".join(upstream_packages(reader))},
                on_output=say,
            )
        commit = reading.change.target.snapshot if trust_head else reading.change.base.commit
        mirror = stack.enter_context(open_lane_mirror(reading, "image"))
        mirror.checkout(commit, clean=True)
        reader = reading.head_reader if trust_head else reading.base_reader
        return build_image(
            engine,
            dockerfile=mirror.tree / choice.dockerfile,
            context=mirror.tree / choice.context,
            tag=tag,
            log=log,
            args=choice.args,
            target=choice.target,
            context_tree=reader.blobs.get(choice.dockerfile, ""),
            on_output=say,
            origin=choice.origin,
        )


def _provide(engine: Engine, name: str, *, pull: bool) -> None:
    try:
        engine.image(name, origin="the base of the default devel image")
    except ImageError as error:
        if pull:
            engine.pull(name)
            return
        raise ImageError(
            f"the base image {name} is not on this machine",
            hint="presubmit image build --pull, or --base with an image (Debian or Ubuntu) that is here",
        ) from error


def _workflows(reader: TreeReader) -> list[str]:
    names = [
        path
        for path in sorted(reader.blobs)
        if path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml"))
    ]
    return [text for name in names if (text := reader.text(name))]


def upstream_base(reader: TreeReader) -> str:
    """Give the image that is nearest to the runner of upstream's jobs, the most used one first."""
    counted: dict[str, int] = {}
    for text in _workflows(reader):
        for label in re.findall(r"\bubuntu-[\w.]+", text):
            if label in _RUNNERS:
                counted[_RUNNERS[label]] = counted.get(_RUNNERS[label], 0) + 1
    return max(counted, key=lambda name: counted[name]) if counted else _DEFAULT_BASE


def upstream_packages(reader: TreeReader) -> tuple[str, ...]:
    """Give the packages that upstream's jobs install with apt; anything that is no plain name is left out."""
    found: list[str] = []
    for text in _workflows(reader):
        joined = re.sub(r"\\\n\s*", " ", text)
        for words in re.findall(r"\bapt(?:-get)?\s+(?:-\S+\s+)*install\s+([^\n&|;]*)", joined):
            found += [w for w in words.split() if _PACKAGE.fullmatch(w)]
    return tuple(dict.fromkeys(found))
