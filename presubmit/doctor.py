"""Looks at everything a run needs, in layers: host, git, engine, image, GPU, disk."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit import __version__, images
from presubmit.change.git import git
from presubmit.container.facts import check_image
from presubmit.container.model import BoxSpec
from presubmit.container.network import read_network_settings
from presubmit.errors import PresubmitError
from presubmit.process import run
from presubmit.reading import cache_root, read_all
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.reading import Reading, RunOptions

_LOW_DISK: Final = 5 << 30
_OLD_GIT: Final = (2, 31)


class Finding(Value, frozen=True):
    """One thing that was looked at; `level` is `ok`, `note` or `bad` (a run needs it)."""

    layer: str
    level: str
    text: str
    hint: str = ""


def examine(options: RunOptions, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at each layer in turn; a layer that fails does not hide the next."""
    yield Finding(
        layer="host",
        level="ok",
        text=f"presubmit {__version__}, Python {platform.python_version()}, {platform.platform()}",
    )
    yield from _git()
    reading: Reading | None = None
    try:
        reading = read_all(options, environ)
    except PresubmitError as error:
        yield Finding(layer="change", level="bad", text=str(error), hint=error.hint)
    else:
        base = reading.change.base
        yield Finding(
            layer="change",
            level="ok",
            text=f"{len(reading.change.files)} changed files against {base.ref} ({base.how})",
        )
        if base.warning:
            yield Finding(layer="change", level="note", text=base.warning, hint="git fetch")
    yield from _disk(environ)
    yield from _network(environ)
    driver = list(_gpu())
    yield from driver
    with ExitStack() as stack:
        yield from _engine(reading, options, stack, gpu=bool(driver))


def _git() -> Iterator[Finding]:
    try:
        text = git("--version", cwd=Path.cwd()).text.strip()
    except (PresubmitError, OSError) as error:
        yield Finding(
            layer="git", level="bad", text=f"git cannot be run: {error}", hint="install git"
        )
        return
    numbers = tuple(int(n) for n in text.split()[2].split(".")[:2])
    if numbers < _OLD_GIT:
        yield Finding(
            layer="git", level="bad", text=text, hint="presubmit needs git 2.31 or newer"
        )
    else:
        yield Finding(layer="git", level="ok", text=text)


def _disk(environ: Mapping[str, str]) -> Iterator[Finding]:
    folder = cache_root(environ)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    level = "ok" if free > _LOW_DISK else "note"
    hint = "" if level == "ok" else "presubmit clean"
    yield Finding(layer="disk", level=level, text=f"{free >> 30} GiB free at {folder}", hint=hint)


def _network(environ: Mapping[str, str]) -> Iterator[Finding]:
    settings = read_network_settings(environ)
    named = sorted(k for k in settings.env_bare if "proxy" in k.lower() or "INDEX" in k)
    authorities = ", ".join(mount.source for mount in settings.mounts) or "none"
    text = (
        f"certificate authorities {authorities}; passed on: {', '.join(named) or 'nothing else'}"
    )
    hidden = len(settings.secrets)
    if hidden:
        text += "; credentials reach only the stage that downloads dependencies"
    yield Finding(layer="network", level="ok", text=text)


def _gpu() -> Iterator[Finding]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return
    query = ("--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    try:
        done = run((program, *query), timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(layer="gpu", level="note", text=f"nvidia-smi: {error}")
        return
    for line in done.text.strip().splitlines():
        yield Finding(layer="gpu", level="ok" if done.exit_code == 0 else "note", text=line)


def _engine(
    reading: Reading | None, options: RunOptions, stack: ExitStack, *, gpu: bool
) -> Iterator[Finding]:
    from presubmit.container.engine import connect  # noqa: PLC0415 - docker costs 0.3 s

    try:
        engine = stack.enter_context(connect())
    except PresubmitError as error:
        yield Finding(layer="engine", level="bad", text=str(error), hint=error.hint)
        return
    info = engine.info
    kind = "rootless " if info.rootless else ""
    yield Finding(
        layer="engine",
        level="ok",
        text=f"{kind}{info.kind} {info.version}, API {info.api}, cgroup v{info.cgroup}, "
        f"{info.cpus} processors, {info.memory >> 30} GiB",
    )
    if gpu and not info.gpu:
        yield Finding(
            layer="gpu",
            level="note",
            text="the engine cannot give the GPU to a box",
            hint="install the NVIDIA container toolkit",
        )
    if reading is None:
        return
    try:
        choice = images.choose(reading, cli=options.image, trust_head=options.trust_head)
        image, notes = images.resolve(reading, choice, engine)
    except PresubmitError as error:
        yield Finding(layer="image", level="bad", text=str(error), hint=error.hint)
        return
    yield Finding(layer="image", level="ok", text=f"{image.name} ({image.origin}) {image.id[:19]}")
    for note in notes:
        yield Finding(layer="image", level="note", text=note)
    yield from look_into(engine, image, reading.cache.parent.name)


def look_into(engine: Engine, image: ImageRef, repository: str) -> Iterator[Finding]:
    """Start a box of the image and say what is in it."""
    spec = BoxSpec(
        image=image,
        lane="doctor",
        run=f"doctor-{os.getpid()}",
        repo=repository,
        workdir="/",
        network="none",
    )
    with tempfile.TemporaryDirectory(prefix="presubmit-") as folder:
        try:
            box = engine.start(spec)
            try:
                facts = check_image(box, log=Path(folder) / "log")
            finally:
                box.close()
        except PresubmitError as error:
            yield Finding(layer="image", level="bad", text=str(error), hint=error.hint)
            return
    held = [
        f"{name} {value}"
        for name in facts.__struct_fields__
        if isinstance(value := getattr(facts, name), str) and value
    ]
    yield Finding(
        layer="inside", level="ok", text=", ".join(held) or "nothing that presubmit knows"
    )
    for lack in facts.missing:
        level = "note" if facts.usable else "bad"
        yield Finding(
            layer="inside",
            level=level,
            text=f"no {lack}",
            hint="a runtime image cannot build; name a devel image, or `presubmit image build`",
        )
