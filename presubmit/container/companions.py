"""Containers beside a box: services that run their image's own command, and what brings their ports into the box.

They see nothing of the host: no mounts, no host namespaces, and of the capabilities only those with which a service
becomes its own user. The forwarder ends with this process; services are swept (`Engine.sweep`).
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any, Final

from presubmit.container import owner as ownership
from presubmit.container.box import hold, remove
from presubmit.container.faults import calling
from presubmit.container.model import Limits
from presubmit.container.settings import host_config_limits
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.container.stream import Connection

_CAPABILITIES: Final = (
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "NET_BIND_SERVICE",
    "SETGID",
    "SETUID",
)
_SECOND: Final = 1_000_000_000
_UNITS: Final = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")

# Ends with its standard input. Each word: port here, host, port there.
_FORWARD: Final = """
import asyncio, os, socket, struct, sys, threading
def watch():
    while os.read(0, 4096):
        pass
    os._exit(0)
async def pump(reader, writer):
    try:
        while True:
            data = await reader.read(65536)
            if not data:
                break
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()
def forwarder(host, port):
    async def serve(reader, writer):
        try:
            back, forth = await asyncio.open_connection(host, port)
        except OSError:
            # As near to "connection refused" as can be once it is accepted.
            end = writer.get_extra_info("socket")
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()
            return
        await asyncio.gather(pump(reader, forth), pump(back, writer))
        forth.close()
        writer.close()
    return serve
async def main():
    for word in sys.argv[1:]:
        here, host, there = word.split(",")
        serve = forwarder(host, int(there))
        await asyncio.start_server(serve, "0.0.0.0", int(here))
        try:
            await asyncio.start_server(serve, "::", int(here))
        except OSError:
            pass
    print("ready", flush=True)
    threading.Thread(target=watch, daemon=True).start()
    await asyncio.Event().wait()
asyncio.run(main())
"""


class Health(Value, frozen=True, kw_only=True):
    """How a service says that it is up; what is not given is the image's own."""

    command: str = ""
    interval: str = ""
    timeout: str = ""
    retries: str = ""
    start_period: str = ""
    off: bool = False

    def for_engine(self) -> dict[str, Any] | None:
        """Give it as the engine's API has it; None: the image's own. Raises ValueError."""
        if self.off:
            return {"test": ["NONE"]}
        given: dict[str, Any] = {
            name: nanoseconds(text)
            for name, text in (
                ("interval", self.interval),
                ("timeout", self.timeout),
                ("start_period", self.start_period),
            )
            if text
        }
        if self.retries:
            given["retries"] = int(self.retries)
        if self.command:
            given["test"] = ["CMD-SHELL", self.command]
        return given or None


class ServiceSpec(Value, frozen=True, kw_only=True):
    """What a service container is started from."""

    image: ImageRef
    alias: str
    """The name that others in the network have for it."""
    network: str
    run: str
    repo: str
    lane: str
    env: dict[str, str] = {}
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    hostname: str = ""
    aliases: tuple[str, ...] = ()
    user: str = ""
    tmpfs: dict[str, str] = {}
    health: Health = Health()
    limits: Limits = Limits(shm=64 << 20)


class ServiceState(Value, frozen=True, kw_only=True):
    """What the engine says of a service."""

    running: bool
    exit_code: int
    health: str
    """`starting`, `healthy`, `unhealthy`, or empty where it has no health check."""
    address: str
    """In its network."""
    exposed: tuple[str, ...] = ()
    """`5432/tcp`."""


def nanoseconds(text: str) -> int:
    """Read a duration as docker does: `10s`, `1m30s`, `500ms`; raises ValueError."""
    if not text or _DURATION.sub("", text):
        raise ValueError(f"{text!r} is no duration such as 10s or 1m30s")
    return int(sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text)))


def start_service(engine: Engine, spec: ServiceSpec) -> str:
    """Start a service container and give its id; raises EngineError, and leaves nothing then."""
    api = engine.api
    networking: Any = {"EndpointsConfig": {spec.network: {"Aliases": [spec.alias, *spec.aliases]}}}
    with calling(f"cannot start service {spec.alias} from {spec.image.name}"):
        made = api.create_container(
            spec.image.id,
            command=list(spec.command) if spec.command is not None else None,
            entrypoint=list(spec.entrypoint) if spec.entrypoint is not None else None,
            environment=dict(spec.env),
            healthcheck=spec.health.for_engine(),
            hostname=spec.hostname or None,
            user=spec.user or None,
            name=_name(spec.run, spec.lane, spec.alias),
            labels=ownership.labels_now(run=spec.run, repo=spec.repo, lane=spec.lane),
            use_config_proxy=False,
            networking_config=networking,
            host_config={
                "CapDrop": ["ALL"],
                "CapAdd": list(_CAPABILITIES),
                "SecurityOpt": ["no-new-privileges"],
                "NetworkMode": spec.network,
                "Tmpfs": dict(spec.tmpfs),
                **host_config_limits(spec.limits, cpus=engine.info.cpus),
            },
        )
        try:
            api.start(made["Id"])
        except BaseException:
            remove(api, made["Id"])
            raise
    return str(made["Id"])


def service_state(engine: Engine, container: str, network: str) -> ServiceState:
    """Ask the engine for a service's state."""
    with calling(f"cannot look at service container {container[:12]}"):
        found = engine.api.inspect_container(container)
    state, networks = found["State"], found["NetworkSettings"]["Networks"]
    return ServiceState(
        running=bool(state["Running"]),
        exit_code=int(state.get("ExitCode") or 0),
        health=str((state.get("Health") or {}).get("Status", "")).replace("none", ""),
        address=str(networks.get(network, {}).get("IPAddress", "")),
        exposed=tuple(found["Config"].get("ExposedPorts") or ()),
    )


def service_log(engine: Engine, container: str, *, lines: int = 200) -> str:
    """Give the last lines that a service printed."""
    with calling(f"cannot read the log of service container {container[:12]}"):
        data: bytes = engine.api.logs(container, tail=lines)
    return data.decode("utf-8", "replace")


def remove_service(engine: Engine, container: str) -> None:
    """End a service and remove it with its volumes."""
    remove(engine.api, container)


class Forwarder:
    """Listens on ports of a box, for who is inside, and hands on to other machines of its network."""

    def __init__(
        self,
        engine: Engine,
        image: ImageRef,
        box: str,
        ports: Mapping[int, tuple[str, int]],
        *,
        python: str,
        run: str,
        repo: str,
        lane: str,
    ) -> None:
        self._api = engine.api
        words = [f"{here},{host},{there}" for here, (host, there) in ports.items()]
        self._container = self._create(
            image, box, words, python=python, run=run, repo=repo, lane=lane
        )
        self._holder: Connection | None = None
        try:
            with calling("cannot bring the services' ports into the box"):
                self._holder = hold(self._api, self._container)
                self._api.start(self._container)
        except BaseException:
            self.close()
            raise

    def ready(self) -> bool:
        """Whether it listens."""
        with calling("cannot look at the forwarder"):
            return b"ready" in self._api.logs(self._container)

    def fault(self) -> str:
        """Give why it ended; empty while it runs."""
        with calling("cannot look at the forwarder"):
            if self._api.inspect_container(self._container)["State"]["Running"]:
                return ""
            text: bytes = self._api.logs(self._container, tail=3)
        return text.decode("utf-8", "replace").strip() or "it ended"

    def close(self) -> None:
        """End it."""
        remove(self._api, self._container)
        if self._holder is not None:
            self._holder.close()

    def _create(
        self,
        image: ImageRef,
        box: str,
        words: Sequence[str],
        *,
        python: str,
        run: str,
        repo: str,
        lane: str,
    ) -> str:
        with calling("cannot bring the services' ports into the box"):
            made = self._api.create_container(
                image.id,
                entrypoint=[python, "-c", _FORWARD, *words],
                command=None,
                healthcheck={"test": ["NONE"]},
                user="65534:65534",
                name=_name(run, lane, "ports"),
                stdin_open=True,
                labels=ownership.labels_now(run=run, repo=repo, lane=lane),
                use_config_proxy=False,
                host_config={
                    "CapDrop": ["ALL"],
                    "CapAdd": ["NET_BIND_SERVICE"],
                    "SecurityOpt": ["no-new-privileges"],
                    "ReadonlyRootfs": True,
                    "NetworkMode": f"container:{box.removeprefix('docker:')}",
                    "PidsLimit": 64,
                },
            )
        return str(made["Id"])


def _name(run: str, lane: str, what: str) -> str:
    words = "-".join(ownership.slug(text) for text in (run, lane, what))
    return f"presubmit-{words}-{secrets.token_hex(4)}"
