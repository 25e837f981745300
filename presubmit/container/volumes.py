"""Overlay volumes: a folder that a box may write to while what lies below it stays as it is.

Docker's local driver mounts them, as root, when the first container with the volume starts; no right is needed here.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final

from presubmit.container import owner as ownership
from presubmit.container.faults import calling, engine_faults, explain
from presubmit.container.model import BoxMount, BoxSpec
from presubmit.errors import EngineError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from docker.api.client import APIClient

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef

_IN_USE: Final = 409
_WAIT_SECONDS: Final = 20.0
# The option string is cut at commas and the list of lower folders at colons.
_UNFIT: Final = frozenset(",:\\\n")
_PROBE: Final = "cd /probe && read -r text <below/file && test $text = below && echo above >below/file && mv below moved"


class Layers(Value, frozen=True, kw_only=True):
    """What an overlay is made of, as paths on the host; all of it must lie on one file system."""

    lower: tuple[str, ...]
    """The topmost first; none of them may change while the overlay is mounted."""
    upper: str
    """Takes what is written; the owner of this folder owns the top of the mount."""
    work: str
    """An empty folder beside `upper`, for the kernel; root's leavings in it are removed by `scrub`."""


def make_overlay(engine: Engine, layers: Layers, *, run: str, repo: str, lane: str) -> str:
    """Make an overlay volume and give its name; nothing is mounted before a box starts with it."""
    name = f"presubmit-{ownership.slug(run)}-{ownership.slug(lane)}-{secrets.token_hex(4)}"
    with calling("cannot make a volume"):
        engine.api.create_volume(
            name,
            driver="local",
            # Without redirect_dir a folder from below cannot be renamed (EXDEV), as builds do.
            driver_opts={
                "type": "overlay",
                "device": "overlay",
                "o": f"lowerdir={':'.join(layers.lower)},upperdir={layers.upper},workdir={layers.work}"
                ",redirect_dir=on,metacopy=on",
            },
            labels=ownership.labels_now(run=run, repo=repo, lane=lane),
        )
    return name


def remove_volume(engine: Engine, name: str) -> None:
    """Remove a volume; waits for the box that used it, which the engine takes down by itself."""
    until = time.monotonic() + _WAIT_SECONDS
    while (fault := _try_to_remove(engine.api, name)) is not None:
        if time.monotonic() > until:
            raise EngineError(f"cannot remove volume {name}: {fault}")
        time.sleep(0.05)


def why_no_overlay(engine: Engine, image: ImageRef, folder: Path) -> str:
    """Say why no overlay can be used in `folder`; empty where one can. Tries it with a box (0.5 s)."""
    if engine.info.kind != "docker" or engine.info.rootless or engine.info.userns:
        return f"not with {engine.info.kind}{', rootless' if engine.info.rootless else ''}"
    if _UNFIT & set(str(folder)):
        return f"the path {str(folder)!r} cannot be written in mount options"
    layers = Layers(
        lower=(str(folder / "lower"),), upper=str(folder / "upper"), work=str(folder / "work")
    )
    for path in (folder / "lower" / "below", folder / "upper", folder / "work"):
        path.mkdir(parents=True, exist_ok=True)
    (folder / "lower" / "below" / "file").write_text("below\n", encoding="ascii")
    volume = make_overlay(engine, layers, run="probe", repo="", lane="probe")
    try:
        return _try_overlay(engine, image, volume, folder)
    finally:
        remove_volume(engine, volume)


def scrub(engine: Engine, image: ImageRef, folder: Path) -> None:
    """Remove everything in `folder`, also what belongs to root: an overlay's work folder, what a root box wrote.

    Done by a container that sees this folder alone and runs nothing but the image's `sh` and `rm`.
    """
    with calling(f"cannot clean {folder}"):
        made = engine.api.create_container(
            image.id,
            entrypoint=["sh", "-c", "rm -rf /scrub/* /scrub/.[!.]* /scrub/..?*"],
            command=None,
            user="0:0",
            network_disabled=True,
            labels=ownership.labels_now(run="", repo="", lane="scrub"),
            use_config_proxy=False,
            host_config={
                "CapDrop": ["ALL"],
                "CapAdd": ["DAC_OVERRIDE", "FOWNER"],
                "SecurityOpt": [
                    "no-new-privileges",
                    *(["label=disable"] if engine.info.selinux else []),
                ],
                "NetworkMode": "none",
                "Mounts": [{"Type": "bind", "Source": str(folder), "Target": "/scrub"}],
            },
        )
        try:
            engine.api.start(made["Id"])
            engine.api.wait(made["Id"])
        finally:
            engine.api.remove_container(made["Id"], force=True, v=True)
    left = [path.name for path in folder.iterdir()]
    if left:
        raise EngineError(f"cannot clean {folder}: {', '.join(left[:3])} is still there")


def sweep_volumes(api: APIClient, *, dry_run: bool) -> tuple[str, ...]:
    """Remove the volumes that dead presubmit processes of this host left; gives their names."""
    with calling("cannot list volumes"):
        found = api.volumes(filters={"label": f"{ownership.PREFIX}owner"}).get("Volumes") or []
    orphans = [
        str(one["Name"]) for one in found if ownership.is_left_behind(one.get("Labels") or {})
    ]
    # One that a kept box uses stays with it.
    return tuple(name for name in orphans if dry_run or _try_to_remove(api, name) is None)


def _try_overlay(engine: Engine, image: ImageRef, volume: str, folder: Path) -> str:
    spec = BoxSpec(
        image=image,
        lane="probe",
        run="probe",
        repo="",
        workdir="/tmp",  # noqa: S108 - inside the box
        network="none",
        mounts=(BoxMount(source=volume, target="/probe", kind="volume"),),
    )
    try:
        box = engine.start(spec)
    except EngineError as error:
        return str(error)
    try:
        done = box.exec(("sh", "-c", _PROBE), log=folder / "log", timeout=30)
    finally:
        box.close()
    return "" if done.ok else f"a trial gave {done.exit_code}: {done.tail.strip()[-200:]}"


def _try_to_remove(api: APIClient, name: str) -> str | None:
    """Remove a volume if nothing uses it; gives what uses it, None where it is gone."""
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker costs 0.3 s

    try:
        api.remove_volume(name)
    except NotFound:
        return None
    except APIError as error:
        if error.status_code == _IN_USE:
            return explain(error)
        raise EngineError(f"cannot remove volume {name}: {explain(error)}") from error
    except engine_faults():
        return None  # the engine is gone; the next run sweeps
    return None


def unmountable(paths: Sequence[Path]) -> bool:
    """Whether one of these paths cannot be written in an overlay's options."""
    return any(_UNFIT & set(str(path)) for path in paths)
