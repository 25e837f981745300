"""The container engine: finding it, its images, starting boxes, attaching to them, and sweeping up."""

from __future__ import annotations

import os
import re
import secrets
import socket
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from presubmit.container import owner as ownership
from presubmit.container.box import DockerBox, hold, remove
from presubmit.container.faults import (
    START_HINT,
    calling,
    engine_faults,
    explain,
    hint_for,
    why_no_engine,
)
from presubmit.container.identity import HOSTS, identity_files, resolve_user, write_once
from presubmit.container.model import BoxMount, ImageRef
from presubmit.container.networks import sweep_networks
from presubmit.container.scripts import PID_1
from presubmit.container.settings import (
    HOSTNAME,
    IPV6_SYSCTLS,
    environment,
    host_config,
    prepare_mount_points,
)
from presubmit.container.volumes import sweep_volumes
from presubmit.errors import EngineError, ImageError, PresubmitError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from docker.api.client import APIClient
    from docker.client import DockerClient

    from presubmit.container.identity import Identity
    from presubmit.container.model import BoxSpec

_CALL_SECONDS: Final = 120
_KNOCK_SECONDS: Final = 10
_DEFAULT_ADDRESS: Final = "unix:///var/run/docker.sock"
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class EngineInfo(Value, frozen=True):
    """What an engine says of itself."""

    kind: str
    """`docker`, `podman` or `desktop`."""
    version: str
    api: str
    rootless: bool
    userns: bool
    """The daemon maps root to another user (userns-remap)."""
    cgroup: int
    root: str
    """Where it keeps its data."""
    machine: str
    cpus: int
    memory: int
    runtimes: tuple[str, ...] = ()
    gpu: bool = False
    """Whether it says that it can give a GPU to a box (one set up by a hook alone does not say so)."""
    security: tuple[str, ...] = ()

    @property
    def selinux(self) -> bool:
        """Whether SELinux guards containers here."""
        return "selinux" in self.security


class Engine:
    """A container engine that answered; made by `connect`, closed with every box that it started."""

    def __init__(self, client: DockerClient, info: EngineInfo, *, cache: Path) -> None:
        self._client = client
        self._api = client.api
        self._cache = cache
        self._boxes: list[DockerBox] = []
        self.info = info

    @property
    def api(self) -> APIClient:
        """The engine's own interface, for what is not a step: a terminal in a box."""
        return self._api

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def image(self, name: str, *, origin: str) -> ImageRef:
        """Find an image that is already here; never pulls."""
        from docker.errors import ImageNotFound  # noqa: PLC0415 - docker costs 0.3 s

        try:
            found = self._inspect_image(name)
        except EngineError as error:
            if isinstance(error.__cause__, ImageNotFound):
                raise ImageError(
                    f"image {name} (from {origin}) is not on this machine",
                    hint=f"Pull it with `presubmit image pull {name}`, or build one with `presubmit image build`.",
                ) from error
            raise
        return image_ref(found, name=name, origin=origin, machine=self.info.machine)

    def pull(self, name: str, *, origin: str = "--image") -> ImageRef:
        """Fetch an image from its registry; the one place that does."""
        try:
            with calling(f"cannot pull {name}"):
                for _ in self._api.pull(_with_tag(name), stream=True, decode=True):
                    pass
        except EngineError as error:
            raise ImageError(
                str(error), hint="Check the name and that the registry can be reached."
            ) from error
        return self.image(name, origin=origin)

    def build(self, options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Build with the engine's own builder; gives its events as they come. Never pulls, never reads proxies."""
        events: Iterator[Mapping[str, Any]] = self._api.build(
            **options, decode=True, rm=True, forcerm=True, pull=False, use_config_proxy=False
        )
        return events

    def image_label(self, image: ImageRef, label: str) -> str | None:
        """Give one label of an image."""
        value = (self._inspect_image(image.id).get("Config", {}).get("Labels") or {}).get(label)
        return None if value is None else str(value)

    def start(self, spec: BoxSpec, *, keep: bool = False) -> DockerBox:
        """Start a box that ends with this process (or, with `keep`, that stays); no half-made container remains."""
        if spec.image is None:
            raise EngineError("a box in a container needs an image")
        identity, files = self._identity(spec)
        mounts = (*spec.mounts, *files)
        # Checked before anything is made: a missing source must leave no trace on the host.
        host_config_for(self.info, spec, identity, mounts, keep=keep, sysctls=IPV6_SYSCTLS)
        prepare_mount_points(spec.mounts, workdir=spec.workdir)
        box = self._start(spec, identity, mounts, keep=keep)
        self._boxes.append(box)
        return box

    def attach(self, box_id: str) -> DockerBox:
        """Give a box that another process holds: commands can be run in it, closing it ends nothing there."""
        container = box_id.removeprefix("docker:")
        with calling(f"cannot attach to box {container[:12]}"):
            state = self._api.inspect_container(container)
        if not state["State"]["Running"]:
            raise EngineError(f"box {container[:12]} does not run any more")
        return DockerBox(self._api, str(state["Id"]), owned=False)

    def sweep(self, *, dry_run: bool = False) -> tuple[str, ...]:
        """Remove what dead presubmit processes of this host left: containers, networks, volumes; gives their names."""
        with calling("cannot list containers"):
            found = self._api.containers(all=True, filters={"label": ownership.PREFIX + "owner"})
        orphans = [one for one in found if ownership.is_left_behind(one.get("Labels") or {})]
        if not dry_run:
            for one in orphans:
                remove(self._api, one["Id"])
        names = [
            one["Names"][0].lstrip("/") if one.get("Names") else one["Id"][:12] for one in orphans
        ]
        return (
            *names,
            *sweep_networks(self._api, dry_run=dry_run),
            *sweep_volumes(self._api, dry_run=dry_run),
        )

    def close(self) -> None:
        """End every box that was started here, and let go of the engine."""
        boxes, self._boxes = self._boxes, []
        with ExitStack() as stack:
            stack.callback(self._client.close)
            for box in boxes:
                stack.callback(box.close)

    # --- parts of starting ---

    def _inspect_image(self, name: str) -> Mapping[str, Any]:
        with calling(f"cannot look up image {name}"):
            found: Mapping[str, Any] = self._api.inspect_image(name)  # type: ignore[no-untyped-call]
        return found

    def _identity(self, spec: BoxSpec) -> tuple[Identity | None, tuple[BoxMount, ...]]:
        """Give who the box runs as, and the files to mount for it."""
        assert spec.image is not None  # noqa: S101 - checked by start
        hosts = write_once(self._cache / "hosts", HOSTS)
        files = [BoxMount(source=str(hosts), target="/etc/hosts", read_only=True)]
        rootless = self.info.rootless and self.info.kind != "podman"
        numbers = resolve_user(spec.user, uid=os.getuid(), gid=os.getgid(), rootless=rootless)
        if numbers is None:
            return None, tuple(files)
        image_id = spec.image.id
        identity, passwd, group = identity_files(
            self._cache,
            image_id=image_id,
            uid=numbers[0],
            gid=numbers[1],
            read_from_image=lambda path: self._read_file(image_id, path),
        )
        files += [
            BoxMount(source=str(passwd), target="/etc/passwd", read_only=True),
            BoxMount(source=str(group), target="/etc/group", read_only=True),
        ]
        return identity, tuple(files)

    def _read_file(self, image_id: str, path: str) -> bytes:
        """Give the tar with one file of an image, through a container that is never started."""
        from docker.errors import NotFound  # noqa: PLC0415 - docker costs 0.3 s

        with calling("cannot read the image"):
            made = self._api.create_container(
                image_id,
                entrypoint=["sh"],
                network_disabled=True,
                labels=ownership.labels_now(run="", repo="", lane="image"),
            )
            try:
                chunks, _ = self._api.get_archive(made["Id"], path)
                return b"".join(chunks)
            except NotFound:
                return b""
            finally:
                remove(self._api, made["Id"])

    def _start(
        self, spec: BoxSpec, identity: Identity | None, mounts: Sequence[BoxMount], *, keep: bool
    ) -> DockerBox:
        """Create, hold, start; once more without the IPv6 settings where the kernel has none."""
        sysctls: Mapping[str, str] = IPV6_SYSCTLS
        try:
            return self._start_with(spec, identity, mounts, keep=keep, sysctls=sysctls)
        except engine_faults() as error:
            if "ipv6" not in explain(error).lower() and "sysctl" not in explain(error).lower():
                raise _start_error(spec, error) from error
        try:
            return self._start_with(spec, identity, mounts, keep=keep, sysctls={})
        except engine_faults() as error:
            raise _start_error(spec, error) from error

    def _start_with(
        self,
        spec: BoxSpec,
        identity: Identity | None,
        mounts: Sequence[BoxMount],
        *,
        keep: bool,
        sysctls: Mapping[str, str],
    ) -> DockerBox:
        assert spec.image is not None  # noqa: S101 - checked by start
        made = self._api.create_container(
            spec.image.id,
            # The image's own entry point, command and health check have no say.
            entrypoint=["sh", "-c", PID_1],
            command=None,
            healthcheck={"test": ["NONE"]},
            name=_name(spec),
            hostname=HOSTNAME,
            user=identity.user if identity is not None else None,
            working_dir=spec.workdir,
            environment=environment(spec, identity, cpus=self.info.cpus),
            stdin_open=True,
            detach=keep,
            labels=_labels(spec, keep=keep),
            # ~/.docker/config.json may hold proxies with passwords.
            use_config_proxy=False,
            host_config=host_config_for(
                self.info, spec, identity, mounts, keep=keep, sysctls=sysctls
            ),
        )
        container = str(made["Id"])
        holder = None
        try:
            if not keep:
                holder = hold(self._api, container)
            self._api.start(container)
        except BaseException:
            # auto_remove only works for what ran: a container that failed to start stays for ever.
            if holder is not None:
                holder.close()
            remove(self._api, container)
            raise
        return DockerBox(self._api, container, owned=True, keep=keep, holder=holder)


def connect(*, cache: Path | None = None) -> Engine:
    """Connect to the engine of DOCKER_HOST or of docker's current context; raises EngineError with two ways out.

    `cache` keeps the small files that boxes mount.
    """
    try:
        import docker  # noqa: PLC0415 - docker costs 0.3 s
    except ImportError as error:  # pragma: no cover - a dependency of ours
        raise EngineError(
            f"the docker package is not installed: {error}", hint=START_HINT
        ) from error
    address = os.environ.get("DOCKER_HOST") or _context_address()
    try:
        _knock(address)
        client = docker.from_env(timeout=_CALL_SECONDS)
    except engine_faults() as error:
        raise EngineError(why_no_engine(error, address=address), hint=START_HINT) from error
    try:
        info = engine_info(client.api.info(), client.api.version())
    except engine_faults() as error:
        client.close()
        raise EngineError(why_no_engine(error, address=address), hint=START_HINT) from error
    return Engine(client, info, cache=cache or default_cache())


def _context_address() -> str:
    """Give the address of docker's current context, as `docker` itself would use it."""
    from docker.context import ContextAPI  # noqa: PLC0415 - docker costs 0.3 s

    try:
        found = ContextAPI.get_current_context()
    except engine_faults():
        return _DEFAULT_ADDRESS
    return str(getattr(found, "Host", None) or _DEFAULT_ADDRESS)


def _knock(address: str) -> None:
    """Try a Unix socket first: the operating system says what is wrong, docker-py buries it (and leaks a socket)."""
    kind, _, path = address.partition("://")
    if kind in {"unix", "http+unix"}:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            knock.settimeout(_KNOCK_SECONDS)
            knock.connect("/" + path.lstrip("/"))


def attach_docker(box_id: str) -> DockerBox:
    """Attach over a connection of its own, which ends when the box is closed."""
    engine = connect()
    try:
        box = engine.attach(box_id)
    except BaseException:
        engine.close()
        raise
    box.on_close = engine.close
    return box


def default_cache() -> Path:
    """Give the folder for the small files that boxes mount."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "presubmit" / "engine"


def engine_info(info: Mapping[str, Any], version: Mapping[str, Any]) -> EngineInfo:
    """Read the engine's answers to `info` and `version`; pure."""
    components = [str(part.get("Name", "")) for part in version.get("Components") or ()]
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    # `name=seccomp,profile=default`; podman and older engines give the bare name.
    security = tuple(option.split(",")[0].removeprefix("name=") for option in options)
    podman = any("podman" in name.lower() for name in components)
    desktop = "docker desktop" in str(info.get("OperatingSystem", "")).lower()
    runtimes = tuple(sorted(info.get("Runtimes") or ()))
    return EngineInfo(
        kind="podman" if podman else "desktop" if desktop else "docker",
        version=str(version.get("Version", "")),
        api=str(version.get("ApiVersion", "")),
        rootless="rootless" in security or bool(info.get("Rootless")),
        userns="userns" in security,
        cgroup=2 if str(info.get("CgroupVersion", "1")) in {"2", "v2"} else 1,
        root=str(info.get("DockerRootDir", "")),
        machine=str(info.get("Architecture", "")),
        cpus=int(info.get("NCPU") or os.cpu_count() or 1),
        memory=int(info.get("MemTotal") or 0),
        runtimes=runtimes,
        gpu="nvidia" in runtimes or "nvidia" in str(info.get("DiscoveredDevices", "")),
        security=security,
    )


def image_ref(found: Mapping[str, Any], *, name: str, origin: str, machine: str) -> ImageRef:
    """Read the engine's answer on an image; ImageError where it is for another machine. Pure."""
    platform = f"{found.get('Os') or 'linux'}/{found.get('Architecture') or '?'}"
    if found.get("Architecture") not in {"", None, machine, _MACHINES.get(machine, machine)}:
        raise ImageError(
            f"image {name} (from {origin}) is for {platform}, and this engine runs on {machine}",
            hint="Take an image for this machine: results from an emulated one say little.",
        )
    digests = found.get("RepoDigests") or [None]
    return ImageRef(
        id=str(found["Id"]), name=name, digest=digests[0], origin=origin, platform=platform
    )


def host_config_for(
    info: EngineInfo,
    spec: BoxSpec,
    identity: Identity | None,
    mounts: Sequence[BoxMount],
    *,
    keep: bool,
    sysctls: Mapping[str, str],
) -> dict[str, Any]:
    """Give the HostConfig that this engine needs for a box."""
    return host_config(
        spec,
        identity=identity,
        mounts=mounts,
        keep=keep,
        selinux=info.selinux,
        keep_id=info.kind == "podman" and info.rootless and identity is not None,
        cpus=info.cpus,
        sysctls=sysctls,
    )


def _start_error(spec: BoxSpec, error: Exception) -> PresubmitError:
    """Say why a box did not start."""
    text = explain(error)
    image = spec.image.name if spec.image is not None else "?"
    if '"sh": executable file not found' in text or 'exec: "sh"' in text:
        return ImageError(
            f"image {image} has no `sh`, so no step can run in it",
            hint="Take a devel image: `presubmit image build`.",
        )
    if "could not select device driver" in text:
        text = f"GPUs ({spec.gpus}) were asked for, and the engine has no NVIDIA container toolkit ({text})"
    return EngineError(f"cannot start a box from {image}: {text}", hint=hint_for(error))


def _name(spec: BoxSpec) -> str:
    words = "-".join(
        re.sub(r"[^a-zA-Z0-9_.]+", "-", part).strip("-.") for part in (spec.run, spec.lane)
    )
    return f"presubmit-{words}-{secrets.token_hex(4)}"


def _labels(spec: BoxSpec, *, keep: bool) -> dict[str, str]:
    return ownership.labels(
        ownership.this_process(),
        run=spec.run,
        repo=spec.repo,
        lane=spec.lane,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        kept=keep,
    )


def _with_tag(name: str) -> str:
    """Say `:latest` where a name says nothing: the API would fetch every tag."""
    last = name.rpartition("/")[2]
    return name if ":" in last or "@" in name else f"{name}:latest"
