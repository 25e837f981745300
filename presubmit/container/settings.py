"""Turns a BoxSpec into what the engine's create call wants; pure but for a look at the mounts' sources."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from presubmit.container.identity import HOME
from presubmit.container.seccomp import bench_profile
from presubmit.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.container.identity import Identity
    from presubmit.container.model import BoxMount, BoxSpec, Limits

HOSTNAME: Final = "presubmit"
# nano_cpus is invisible to nproc and os.cpu_count, so build tools are told in their own words.
_CPU_VARIABLES: Final = (
    "MAX_JOBS",
    "CMAKE_BUILD_PARALLEL_LEVEL",
    "OMP_NUM_THREADS",
    "PYTEST_XDIST_AUTO_NUM_WORKERS",
)
COLOUR: Final = {
    "FORCE_COLOR": "1",
    "PY_COLORS": "1",
    "CLICOLOR_FORCE": "1",
    "CMAKE_COLOR_DIAGNOSTICS": "ON",
    "TERM": "xterm-256color",
}
"""Lay this over a command's environment for coloured output: there is no terminal in a box.

Not the default: a project's tests may read FORCE_COLOR as well.
"""
# Loopback has no ::1 in a network-less box unless these are switched on.
IPV6_SYSCTLS: Final = {
    "net.ipv6.conf.all.disable_ipv6": "0",
    "net.ipv6.conf.lo.disable_ipv6": "0",
}
_REFUSED_SOURCES: Final = frozenset(
    {"/", "/proc", "/sys", "/dev", "/run", "/var/run", "/var/lib/docker", "/etc"}
)
_ULIMIT: Final = re.compile(r"(?P<name>[a-z]+)=(?P<soft>-?\d+)(?::(?P<hard>-?\d+))?")


def environment(spec: BoxSpec, identity: Identity | None, *, cpus: int) -> dict[str, str]:
    """Give the environment that every command in the box starts from; the spec's own wins.

    `cpus` is what the machine has.
    """
    own: dict[str, str] = {"GIT_OPTIONAL_LOCKS": "0"}
    if identity is not None:
        own |= {"HOME": HOME, "USER": identity.name, "LOGNAME": identity.name}
    if spec.limits.cpus is not None:
        jobs = str(max(1, min(int(spec.limits.cpus), cpus)))
        own |= dict.fromkeys(_CPU_VARIABLES, jobs)
    return with_safe_directory(own | spec.env)


_ROOT_RIGHTS: Final = (
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("NET_BIND_SERVICE", "SYS_CHROOT"),
)


def with_safe_directory(env: Mapping[str, str]) -> dict[str, str]:
    """Let git work in trees of any owner, next to whatever configuration `env` already carries."""
    count = env.get("GIT_CONFIG_COUNT", "0")
    number = int(count) if count.isdecimal() else 0
    return {
        **env,
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": "safe.directory",
        f"GIT_CONFIG_VALUE_{number}": "*",
    }


def security(spec: BoxSpec, *, selinux: bool) -> tuple[list[str], list[str]]:
    """Give the added capabilities and the security options."""
    options = ["no-new-privileges"]
    added: list[str] = []
    match spec.profile:
        case "hardened":
            pass
        case "ci-parity":
            # As PyTorch's CI: sanitizers and gdb switch off address randomisation, which the default filter refuses.
            options.append("seccomp=unconfined")
            added.append("SYS_PTRACE")
        case "bench":
            # Benchmarks fix their addresses and count instructions; the default filter refuses both.
            options.append(f"seccomp={bench_profile()}")
        case "root":
            # A replayed job that its user lets be root: what package managers need, nothing of the host's.
            added += _ROOT_RIGHTS
        case _:
            raise ConfigError(
                f"container profile {spec.profile!r} is not known",
                hint="It is `hardened` or `ci-parity`.",
            )
    if spec.debug and "SYS_PTRACE" not in added:
        added.append("SYS_PTRACE")
    if selinux:
        # `z` would relabel the user's own files.
        options.append("label=disable")
    return added, options


def ulimits(spec: BoxSpec) -> list[dict[str, Any]]:
    """Give the ulimits as the engine's API has them."""
    found = [_ulimit(text) for text in spec.limits.ulimits]
    if spec.debug and not any(limit["Name"] == "core" for limit in found):
        found.append({"Name": "core", "Soft": -1, "Hard": -1})
    return found


def _ulimit(text: str) -> dict[str, Any]:
    match = _ULIMIT.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"ulimit {text!r} is not `name=soft[:hard]`", hint="For instance nofile=1024:2048."
        )
    soft = int(match["soft"])
    return {"Name": match["name"], "Soft": soft, "Hard": int(match["hard"] or soft)}


def host_config(
    spec: BoxSpec,
    *,
    identity: Identity | None,
    mounts: Sequence[BoxMount],
    keep: bool,
    selinux: bool,
    keep_id: bool,
    cpus: int,
    sysctls: Mapping[str, str],
) -> dict[str, Any]:
    """Give the engine's HostConfig; `keep_id` is rootless podman's mapping, `cpus` what the machine has."""
    added, options = security(spec, selinux=selinux)
    config: dict[str, Any] = {
        "AutoRemove": not keep,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": added,
        "SecurityOpt": options,
        "Sysctls": dict(sysctls),
        "Tmpfs": tmpfs(identity),
        "Mounts": binds(mounts),
        "NetworkMode": spec.network,
        "DeviceRequests": device_requests(spec.gpus),
        **host_config_limits(spec.limits, cpus=cpus),
        "Ulimits": ulimits(spec),
    }
    if keep_id:
        config["UsernsMode"] = "keep-id"
    return config


def host_config_limits(limits: Limits, *, cpus: int) -> dict[str, Any]:
    """Give the limits as HostConfig has them; `cpus` is what the machine has."""
    config: dict[str, Any] = {
        "PidsLimit": limits.pids,
        "ShmSize": limits.shm,
        "Ulimits": [_ulimit(text) for text in limits.ulimits],
    }
    if limits.memory is not None:
        # Left alone, the engine adds as much swap again.
        config |= {"Memory": limits.memory, "MemorySwap": limits.memory}
    if limits.cpus is not None:
        # More than the machine has is refused by the engine; it means `all of them`.
        config["NanoCpus"] = int(min(limits.cpus, float(cpus)) * 1_000_000_000)
    return config


def device_requests(gpus: str) -> list[dict[str, Any]]:
    """Give the engine's device requests for `all` or device ids."""
    if not gpus:
        return []
    if gpus == "all":
        return [
            {"Driver": "", "Count": -1, "DeviceIDs": [], "Capabilities": [["gpu"]], "Options": {}}
        ]
    ids = [part.strip() for part in gpus.split(",") if part.strip()]
    return [{"Driver": "", "Count": 0, "DeviceIDs": ids, "Capabilities": [["gpu"]], "Options": {}}]


def tmpfs(identity: Identity | None) -> dict[str, str]:
    """Give the scratch file systems; the engine's own default is noexec, which breaks builds in /tmp."""
    found = {"/tmp": "exec,mode=1777"}  # noqa: S108 - inside the box
    if identity is not None:
        found[HOME] = f"exec,mode=0700,uid={identity.uid},gid={identity.gid}"
    return found


def binds(mounts: Sequence[BoxMount]) -> list[dict[str, Any]]:
    """Give the mounts as the engine's API has them; every source is there, and none of them widens rights.

    Only the `Mounts` form: the older `Binds` creates a missing source, as root.
    """
    return [_mount(mount) for mount in mounts]


def _mount(mount: BoxMount) -> dict[str, Any]:
    if not PurePosixPath(mount.target).is_absolute() or ".." in PurePosixPath(mount.target).parts:
        raise EngineError(f"mount target {mount.target!r} is not an absolute path")
    plain = {"Target": mount.target, "ReadOnly": mount.read_only}
    if mount.kind == "volume":
        # Without NoCopy the engine fills an empty volume with what the image has at that place.
        return {
            "Type": "volume",
            "Source": mount.source,
            "VolumeOptions": {"NoCopy": True},
            **plain,
        }
    return {"Type": "bind", "Source": str(checked_source(mount)), **plain}


def checked_source(mount: BoxMount) -> Path:
    """Give the real source of a bind mount; refuses what is missing, a socket, or a folder of the system."""
    source = Path(os.path.realpath(mount.source))
    try:
        mode = source.stat().st_mode
    except OSError as error:
        raise EngineError(
            f"cannot mount {mount.source} at {mount.target}: {(error.strerror or str(error)).lower()}",
            hint="Nothing was created. Make the folder, or take the mount out of the configuration.",
        ) from error
    if str(source) in _REFUSED_SOURCES or not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise EngineError(
            f"refused to mount {mount.source} at {mount.target}: "
            "only ordinary files and folders go into a box, no sockets, devices or system folders"
        )
    return source


def prepare_mount_points(mounts: Sequence[BoxMount], *, workdir: str) -> None:
    """Make, as the caller, the folders that the engine would otherwise make as root inside other mounts."""
    for mount in mounts:
        is_folder = mount.kind == "volume" or Path(mount.source).is_dir()
        _prepare(
            mount.target, [other for other in mounts if other is not mount], is_folder=is_folder
        )
    _prepare(workdir, mounts, is_folder=True)


def _prepare(target: str, mounts: Iterable[BoxMount], *, is_folder: bool) -> None:
    inner = PurePosixPath(target)
    outer = [mount for mount in mounts if inner.is_relative_to(mount.target)]
    if not outer:
        return
    closest = max(outer, key=lambda mount: len(PurePosixPath(mount.target).parts))
    if closest.kind == "volume":
        return  # not to be reached from here
    source = Path(os.path.realpath(closest.source))
    place = source / inner.relative_to(closest.target)
    if not Path(os.path.realpath(place)).is_relative_to(source):
        raise EngineError(f"{target} is reached through a link that leads out of {closest.source}")
    if place.exists():
        return
    if closest.read_only:
        raise EngineError(
            f"{target} is not there: {closest.source} has no {inner.relative_to(closest.target)}, "
            f"and it is mounted read-only at {closest.target}"
        )
    if is_folder:
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
