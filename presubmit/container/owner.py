"""Which process of which machine a container belongs to, so that what a dead one left can be told from a live one's."""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "dev.presubmit."


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A process: its number and start time, the boot it lives in, and the host (with its PID namespace)."""

    process: str
    boot: str
    host: str


def this_process() -> Owner:
    """Give the process that asks."""
    pid = os.getpid()
    return Owner(process=f"{pid}:{_start_time(pid)}", boot=boot_id(), host=_host())


def labels(
    owner: Owner, *, run: str, repo: str, lane: str, created: str, kept: bool
) -> dict[str, str]:
    """Give the labels of a container."""
    values = {
        "run": run,
        "repo": repo,
        "lane": lane,
        "owner": owner.process,
        "boot": owner.boot,
        "host": owner.host,
        "created": created,
    }
    return {
        PREFIX + name: value for name, value in (values | ({"kept": "1"} if kept else {})).items()
    }


def labels_now(*, run: str, repo: str, lane: str) -> dict[str, str]:
    """Give the labels of what this process makes now and removes itself: a volume, a network, a helper."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return labels(this_process(), run=run, repo=repo, lane=lane, created=created, kept=False)


def slug(text: str) -> str:
    """Give a text as it may stand in the engine's names."""
    return re.sub(r"[^a-zA-Z0-9_.]+", "-", text).strip("-.")[:60]


def is_left_behind(found: Mapping[str, str]) -> bool:
    """Whether something with these labels is of this host and the process that made it is gone."""
    alive = is_alive(found.get(PREFIX + "owner", ""))
    return is_orphan(found, here=this_process(), alive=alive)


def is_orphan(found: Mapping[str, str], *, here: Owner, alive: bool) -> bool:
    """Whether a container with these labels is of this host and its owner is gone; `alive`: see `is_alive`.

    Without all of our labels it is not ours to judge. One that was kept on purpose stays until the next boot.
    """
    owner, boot, host = (found.get(PREFIX + name) for name in ("owner", "boot", "host"))
    if not owner or not boot or host != here.host:
        return False
    if boot != here.boot:
        return True
    return not alive and PREFIX + "kept" not in found


def is_alive(process: str) -> bool:
    """Whether `pid:starttime` runs on this host now."""
    pid, _, started = process.partition(":")
    return pid.isdecimal() and bool(started) and _start_time(int(pid)) == started


def boot_id() -> str:
    """Give the id of this boot; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def caller_umask() -> int:
    """Give this process's umask; where the system does not tell, by setting it for a moment."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        status = ""
    for line in status.splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _start_time(pid: int) -> str:
    """Give the process's start in clock ticks since boot; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the name in parentheses, which may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]


def _host() -> str:
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        namespace = 0
    return f"{socket.gethostname()}:{namespace}"
