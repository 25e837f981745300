"""Opens lanes: a mirror checkout, an environment, and the box that both are mounted in."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.checkout import remove
from presubmit.container.host import HostBox
from presubmit.container.model import BoxMount, BoxSpec, Limits
from presubmit.container.network import read_network_settings
from presubmit.container.options import parse_options, size
from presubmit.errors import ConfigError, PresubmitError
from presubmit.replay.assignment import BENCH, RECORDER, Lane
from presubmit.replay.overlaying import SAFE_PATH
from presubmit.runners import apart, django, unittest
from presubmit.runners.pytest import PLUGIN
from presubmit.values import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.change.mirror import Mirror
    from presubmit.config import ContainerConfig
    from presubmit.container.engine import Engine
    from presubmit.container.model import Box, ImageRef
    from presubmit.values import Build

_SOURCE: Final = "/src"
_ENVIRONMENT: Final = "/env"
_OUTPUT: Final = "/out"
_PLUGIN: Final = "/presubmit/plugin"
REBUILDS_AT_IMPORT: Final = ("mesonpy", "scikit_build_core")
"""Backends whose editable installs build when they are imported, and write where they are installed."""
_NETWORKS: Final = {"build": "bridge", "tools": "bridge", "bench": "none"}
"""By purpose; that of tests is configured."""
_TOOLS: Final = "/tools"
_CACHE: Final = "/cache"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one run's lanes live on the host, and what all its boxes have in common."""

    cache: Path
    """`$XDG_CACHE_HOME/presubmit/<repository>/<circle>`."""
    run: str
    repository: str
    engine: Engine | None
    """None on the host."""
    image: ImageRef | None
    container: ContainerConfig
    environ: Mapping[str, str]
    debug: bool = False
    fresh: bool = False
    """Environments are made anew: nothing that an earlier run installed is used."""

    @property
    def environment_kind(self) -> str:
        """What an environment is bound to besides its requirements: the image, or this host's Python."""
        if self.image is None:
            return f"host {platform.python_version()} {platform.machine()}"
        return self.image.id


class OpenLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane with its box, which this process holds."""

    lane: Lane
    box: Box
    mirror: Mirror


def plugin_folder(cache: Path) -> Path:
    """Give a folder that holds nothing but what runs tests, under the names that it is imported by, and two folders.

    The folder is on the tests' import path, so nothing else of presubmit may lie in it; those of the recorder and of
    the worker of benchmarks are folders inside it, which only recorded runs and benchmarks have on their path.
    """
    here = Path(__file__).parent
    files = {f"{PLUGIN}.py": here / "pytest_plugin.py"}
    for name in (unittest.MODULE, django.MODULE, apart.MODULE):
        files[f"{name}.py"] = here / f"inside/{name}.py"
    for source in (here / "inside/sitecustomize.py", *(here / "inside").glob("*/*.py")):
        files[f"{RECORDER}/{source.relative_to(here / 'inside')}"] = source
    worker = here.parent / "bench/inside"
    for source in worker.glob("*/*.py"):
        files[f"{BENCH}/{source.relative_to(worker)}"] = source
    contents = {name: source.read_bytes() for name, source in sorted(files.items())}
    digest = hashlib.sha256(b"".join(name.encode() + it for name, it in contents.items()))
    folder = cache / f"plugin-{digest.hexdigest()[:12]}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="plugin-") as made:
            for name, content in contents.items():
                target = Path(made) / "made" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            with contextlib.suppress(OSError):  # another run of presubmit was quicker
                Path(made, "made").rename(folder)
    return folder


def environment_digest(place: Place, work: Build | None, files: Mapping[str, str]) -> str:
    """Name an environment by all that was installed into it; `files` are the blobs of its constraint files."""
    if work is None:
        return "tools"
    named = [place.environment_kind, *(f"{p} {files.get(p, '')}" for p in work.constraint_files)]
    digest = hashlib.sha256(encode(_dependencies(work)) + "\n".join(named).encode())
    return digest.hexdigest()[:16]


def _dependencies(work: Build) -> Build:
    """Give a build without what does not alter what is installed."""
    return msgspec.structs.replace(
        work,
        key="",
        clean=False,
        record="no",
        beside=(),
        native=(),
        timeout=0.0,
        command="",
        overlay=work.overlay and msgspec.structs.replace(work.overlay, changed=(), base=""),
        otherwise=_dependencies(work.otherwise) if work.otherwise is not None else None,
    )


def environment_folder(
    place: Place, name: str, work: Build | None, files: Mapping[str, str]
) -> Path:
    """Name the folder of a lane's environment on the host."""
    return place.cache / "envs" / f"{name}-{environment_digest(place, work, files)}"


def open_lane(
    place: Place,
    name: str,
    mirror: Mirror,
    work: Build | None,
    files: Mapping[str, str],
    *,
    purpose: str,
) -> OpenLane:
    """Start a lane's box for one purpose: `build`, `test`, `bench` or `tools`.

    What a change's tests could write must not be read by later runs: a test box has the environment read-only, and
    neither tools nor caches. It has the network that the configuration gives to tests; the others have one.
    A box for benchmarks is one for tests that never has a network and may fix its addresses and count instructions.
    """
    folders = {
        "environment": environment_folder(place, name, work, files),
        "output": place.cache / "out" / f"{place.run}-{name}",
        "tools": place.cache
        / "tools"
        / hashlib.sha256(place.environment_kind.encode()).hexdigest()[:12],
        "cache": place.cache / "cache",
    }
    if place.fresh and purpose == "build":
        remove(folders["environment"])
    try:
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PresubmitError(
            f"cannot make {error.filename}: {error.strerror}",
            hint="free disk space (`presubmit clean`) or set XDG_CACHE_HOME",
        ) from error
    own = SAFE_PATH if work is not None and work.overlay is not None else {}
    if place.engine is None:
        return _open_host_lane(place, name, mirror, folders, own)
    writable = work is not None and work.backend.startswith(REBUILDS_AT_IMPORT)
    return _open_container_lane(
        *(place, place.engine, name, mirror, folders, own), purpose=purpose, writable=writable
    )


def _lane(name: str, box: Box, mirror: Mirror, folders: Mapping[str, Path], **inside: str) -> Lane:
    return Lane(
        name=name,
        box=box.id,
        source=inside["source"],
        environment=inside["environment"],
        output=inside["output"],
        plugin=inside["plugin"],
        tools=inside["tools"],
        python=inside["python"],
        host_source=str(mirror.tree),
        host_environment=str(folders["environment"]),
        host_output=str(folders["output"]),
        host_tools=str(folders["tools"]),
        env={},
    )


def _open_container_lane(
    place: Place,
    engine: Engine,
    name: str,
    mirror: Mirror,
    folders: Mapping[str, Path],
    own: Mapping[str, str],
    *,
    purpose: str,
    writable: bool,
) -> OpenLane:
    settings = read_network_settings(place.environ)
    passed = passed_environment(place.container, place.environ)
    env = {**common_environment(_CACHE), **own, **passed}
    options = parse_options(place.container.options, origin="config container.options")
    box = engine.start(
        BoxSpec(
            image=place.image,
            lane=name,
            run=place.run,
            repo=place.repository,
            workdir=_SOURCE,
            mounts=(
                *_mounts(place, mirror, folders, purpose=purpose, writable=writable),
                *settings.mounts,
            ),
            env={**env, **options.env},
            user=options.user or place.container.user,
            network=_NETWORKS.get(purpose) or place.container.network,
            limits=options.limits_over(box_limits(place.container)),
            gpus=options.gpus or place.container.gpus,
            profile=_profile(place, purpose),
            debug=place.debug,
        )
    )
    lane = _lane(
        name,
        box,
        mirror,
        folders,
        source=_SOURCE,
        environment=_ENVIRONMENT,
        output=_OUTPUT,
        plugin=_PLUGIN,
        tools=_TOOLS,
        python=place.container.python,
    )
    return OpenLane(lane=msgspec.structs.replace(lane, env=env), box=box, mirror=mirror)


def _profile(place: Place, purpose: str) -> str:
    """Let benchmarks fix their addresses and count, where nothing wider is configured."""
    profile = place.container.profile
    return "bench" if purpose == "bench" and profile == "hardened" else profile


def _mounts(
    place: Place, mirror: Mirror, folders: Mapping[str, Path], *, purpose: str, writable: bool
) -> tuple[BoxMount, ...]:
    objects = tuple(
        BoxMount(source=str(path), target=str(path), read_only=True)
        for path in mirror.object_folders
        if path.is_dir()
    )
    environment = BoxMount(
        source=str(folders["environment"]),
        target=_ENVIRONMENT,
        read_only=purpose in {"test", "bench"} and not writable,
    )
    cache = BoxMount(source=str(folders["cache"]), target=_CACHE)
    own: dict[str, tuple[BoxMount, ...]] = {
        "build": (environment, cache),
        "test": (environment,),
        "bench": (environment,),
        "tools": (BoxMount(source=str(folders["tools"]), target=_TOOLS), cache),
    }
    return (
        BoxMount(source=str(mirror.tree), target=_SOURCE),
        *objects,
        *own[purpose],
        BoxMount(source=str(folders["output"]), target=_OUTPUT),
        BoxMount(source=str(plugin_folder(place.cache)), target=_PLUGIN, read_only=True),
    )


def _open_host_lane(
    place: Place,
    name: str,
    mirror: Mirror,
    folders: Mapping[str, Path],
    own: Mapping[str, str],
) -> OpenLane:
    env = {
        **common_environment(str(folders["cache"])),
        **own,
        **passed_environment(place.container, place.environ),
    }
    box = HostBox(workdir=str(mirror.tree), env=env)
    lane = _lane(
        name,
        box,
        mirror,
        folders,
        source=str(mirror.tree),
        environment=str(folders["environment"]),
        output=str(folders["output"]),
        plugin=str(plugin_folder(place.cache)),
        tools=str(folders["tools"]),
        python=place.container.python,
    )
    changed = msgspec.structs.replace(lane, env=env, on_host=True)
    return OpenLane(lane=changed, box=box, mirror=mirror)


def common_environment(cache: str) -> dict[str, str]:
    """Give the variables of every box: CI's own, and where pip and ccache keep what they have."""
    return {
        "CI": "true",
        "LANG": "C.UTF-8",
        "PIP_CACHE_DIR": f"{cache}/pip",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_NO_WARN_SCRIPT_LOCATION": "1",
        "CCACHE_DIR": f"{cache}/ccache",
        "CCACHE_MAXSIZE": "5G",
        "PYTHONUNBUFFERED": "1",
    }


def passed_environment(container: ContainerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Give the variables that `container.env` names: passed from the host, or set."""
    given = {}
    for entry in container.env:
        name, equals, value = entry.partition("=")
        if equals:
            given[name] = value
        elif name in environ:
            given[name] = environ[name]
    return given


def box_limits(container: ContainerConfig) -> Limits:
    """Give what a box may use, as configured."""
    return Limits(
        memory=_bytes(container.memory, "container.memory"),
        cpus=container.cpus or None,
        pids=container.pids,
        shm=_bytes(container.shm, "container.shm") or (2 << 30),
    )


def _bytes(text: str, option: str) -> int | None:
    if not text:
        return None
    try:
        return size(text)
    except ValueError as error:
        raise ConfigError(
            f"`{option}` is {text!r}, not a size", hint="write 512m or 8g"
        ) from error
