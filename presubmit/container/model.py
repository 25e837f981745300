"""What a box is and what came of a command in it; the same for containers and for the host."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class ExecOutcome(StrEnum):
    """How a command in a box ended; only EXITED has an exit code that says something about the project."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    OOM = "oom"
    START_FAILED = "start_failed"
    ENGINE_LOST = "engine_lost"
    DISK_FULL = "disk_full"


class ExecResult(Value, frozen=True):
    """What came of one command; `seconds` is wall time, `leaked` names processes that outlived it."""

    argv: tuple[str, ...]
    outcome: ExecOutcome
    exit_code: int | None
    seconds: float
    reason: str = ""
    """In words, for every outcome but EXITED."""
    oom_kills: int = 0
    leaked: tuple[str, ...] = ()
    tail: str = ""
    """The last lines of its output (at most 4,000 characters), redacted."""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end and gave 0."""
        return self.outcome is ExecOutcome.EXITED and self.exit_code == 0


class BoxMount(Value, frozen=True):
    """A folder or file of the host, or a volume of the engine, at `target` inside the box."""

    source: str
    target: str
    read_only: bool = False
    kind: str = "bind"
    """`bind`, or `volume`: then `source` is its name."""


class Limits(Value, frozen=True):
    """What a box may use; memory and shm in bytes (swap is never more than memory)."""

    memory: int | None = None
    cpus: float | None = None
    pids: int = 4096
    shm: int = 2 << 30
    ulimits: tuple[str, ...] = ()
    """`nofile=1024:2048`, as docker's --ulimit."""


class ImageRef(Value, frozen=True):
    """An image that is there: `id` is `sha256:…`; `digest` is `repo@sha256:…` or None for a local image."""

    id: str
    name: str
    digest: str | None = None
    origin: str = ""
    """What named it: `--image`, `config container.image`, `ci.yml:12 container`, …."""
    platform: str = ""


class BoxSpec(Value, frozen=True):
    """Everything a box is started from."""

    image: ImageRef | None
    """None on the host."""
    lane: str
    """`head`, `base` or `lint`."""
    run: str
    repo: str
    workdir: str
    mounts: tuple[BoxMount, ...] = ()
    env: dict[str, str] = {}
    user: str = "caller"
    """`caller`, `image`, or `uid:gid`."""
    network: str = "bridge"
    """`bridge`, `none`, or the name of a network of ours (`networks.make_network`)."""
    limits: Limits = Limits()
    gpus: str = ""
    """Empty, `all`, or device ids: `0,1`."""
    profile: str = "hardened"
    """`hardened`, `ci-parity` (upstream CI's own docker flags), `root` (for jobs that may be root inside) or `bench`."""
    debug: bool = False
    """Allow ptrace and core files, for gdb in `presubmit shell --debug`."""


class Box(Protocol):
    """One running container (or the host): commands are run in it one after another, or side by side."""

    @property
    def id(self) -> str:
        """What another process attaches with: `docker:<container id>` or `host:<json>`."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        on_output: Callable[[str], None] | None = None,
        secrets: Sequence[str] = (),
        grace: float = 5.0,
    ) -> ExecResult:
        """Run `argv` (no shell) to its end, appending what it prints to `log`, live.

        `timeout` and `grace` are seconds; at the deadline the whole process tree gets TERM, after `grace` KILL.
        `on_output` is called with decoded text as it comes; each of `secrets` is masked there, in `log` and in
        the result. KeyboardInterrupt kills the tree in the same way and is raised again.
        """

    def cut_network(self) -> None:
        """Leave only loopback, for good. On the host: does nothing."""

    def close(self) -> None:
        """End everything in the box and remove it; calling it twice is harmless."""
