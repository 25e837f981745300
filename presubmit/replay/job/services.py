"""Starts a job's service containers in a network of their own, and brings their ports to where the job looks for them.

On GitHub a job that runs on the runner reaches a service at `localhost` and its published port, one with a `container:`
by the service's name (docs: "Communicating with Docker service containers"). Here both work: the job's box is in the
services' network, and for the first a small forwarder listens inside the box's own network namespace.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.container.companions import (
    Forwarder,
    ServiceSpec,
    remove_service,
    service_log,
    service_state,
    start_service,
)
from presubmit.container.model import Limits
from presubmit.container.networks import make_network, remove_network
from presubmit.errors import EngineError, ImageError
from presubmit.replay.job.action import LackingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from presubmit.container.companions import ServiceState
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.replay.job.service_options import ContainerWish, Port

_POLL: Final = 0.1
_FIRST_FREE: Final = 32768
"""Where docker begins when it may choose a port."""
_HEALTH_SECONDS: Final = 300.0
_FORWARDER_SECONDS: Final = 20.0
_SHM: Final = 64 << 20


class _Running(msgspec.Struct, frozen=True, kw_only=True):
    """One service: its container, and how each of its ports is reached from the runner."""

    name: str
    container: str
    ports: tuple[tuple[Port, int], ...]


class Services:
    """The services of one cell while they run."""

    def __init__(self, engine: Engine, network: str, *, run: str, repo: str, cell: str) -> None:
        self.network = network
        """For `BoxSpec.network` of the job's box."""
        self.notes: list[str] = []
        self._engine = engine
        self._labels = {"run": run, "repo": repo, "lane": cell}
        self._running: list[_Running] = []
        self._forwarder: Forwarder | None = None

    def context(self) -> dict[str, Any]:
        """Give `job.services`, and the network for `job.container` (ContainerOperationProvider.cs)."""
        services = {
            one.name: {
                "id": one.container,
                "network": self.network,
                "ports": {str(port.container): str(host) for port, host in one.ports},
            }
            for one in self._running
        }
        return {"services": services, "container": {"network": self.network}}

    def publish(self, box: str, *, image: ImageRef, python: str) -> None:
        """Make the services' published ports answer at `localhost` inside a box; for a job without `container:`.

        `image` is one with a Python at `python`: that of the box will do.
        """
        ports = {
            host: (self._address(one), port.container)
            for one in self._running
            for port, host in one.ports
            if port.protocol == "tcp"
        }
        self.notes += [
            f"port {port.container}/{port.protocol} of service {one.name} does not answer at localhost"
            for one in self._running
            for port, _ in one.ports
            if port.protocol != "tcp"
        ]
        if not ports:
            return
        if not python:
            raise LackingError("a Python in the image (to reach services at localhost)")
        self._forwarder = Forwarder(self._engine, image, box, ports, python=python, **self._labels)
        until = time.monotonic() + _FORWARDER_SECONDS
        while not self._forwarder.ready():
            if (fault := self._forwarder.fault()) or time.monotonic() > until:
                raise EngineError(
                    f"the services' ports cannot be reached from the box: {fault or 'no answer'}"
                )
            time.sleep(_POLL)

    def start(self, name: str, wish: ContainerWish, image: ImageRef) -> None:
        """Start one service."""
        container = start_service(
            self._engine,
            ServiceSpec(
                image=image,
                alias=name,
                network=self.network,
                env=wish.env,
                entrypoint=wish.entrypoint,
                command=wish.command,
                hostname=wish.hostname,
                aliases=wish.aliases,
                user=wish.user or wish.options.user,
                tmpfs=wish.tmpfs,
                health=wish.health,
                limits=wish.options.limits_over(Limits(shm=_SHM)),
                **self._labels,
            ),
        )
        taken = {host for one in self._running for _, host in one.ports}
        ports: list[tuple[Port, int]] = []
        for port in wish.ports:
            host = port.host or _free(taken)
            taken.add(host)
            ports.append((port, host))
        self._running.append(_Running(name=name, container=container, ports=tuple(ports)))
        self.notes += wish.notes

    def wait(self, *, timeout: float) -> None:
        """Wait until every service with a health check is healthy; the others must have been started, no more."""
        until = time.monotonic() + timeout
        for one in self._running:
            while (state := self._state(one)).running and state.health == "starting":
                if time.monotonic() > until:
                    break
                time.sleep(_POLL)
            if state.health and state.health != "healthy":
                raise EngineError(
                    f"service {one.name} is {state.health if state.running else 'not running'}"
                    f"{'' if state.running else f' (exit code {state.exit_code})'}: {self._last_words(one)}"
                )
            if not state.running:
                # GitHub's runner warns, and goes on.
                self.notes.append(
                    f"service {one.name} ended at once with {state.exit_code}: {self._last_words(one)}"
                )

    def close(self, *, log: Path | None) -> None:
        """End everything; the box may still be in the network, it is waited for."""
        if self._forwarder is not None:
            self._forwarder.close()
        for one in self._running:
            self._keep_log(one, log)
            remove_service(self._engine, one.container)
        self._running = []

    def _address(self, one: _Running) -> str:
        return self._state(one).address or one.name

    def _state(self, one: _Running) -> ServiceState:
        return service_state(self._engine, one.container, self.network)

    def _last_words(self, one: _Running) -> str:
        lines = service_log(self._engine, one.container, lines=5).strip().splitlines()
        return " | ".join(lines) or "it printed nothing"

    def _keep_log(self, one: _Running, log: Path | None) -> None:
        if log is None:
            return
        text = service_log(self._engine, one.container)
        if text:
            with log.open("a", encoding="utf-8") as file:
                file.write("".join(f"[service {one.name}] {line}\n" for line in text.splitlines()))


@contextmanager
def start_services(
    engine: Engine,
    wishes: Mapping[str, ContainerWish],
    *,
    run: str,
    repo: str,
    cell: str,
    find_image: Callable[[str], ImageRef] | None = None,
    log: Path | None = None,
    timeout: float = _HEALTH_SECONDS,
) -> Iterator[Services]:
    """Start a cell's services and wait until they are healthy; they end with the context. Close the box before.

    `find_image` gives the image of a name, else one that is on this machine already: LackingError where it is not.
    What services print goes to `log` when they end.
    """
    images = {name: _image(engine, name, wish, find_image) for name, wish in wishes.items()}
    network = make_network(engine, run=run, repo=repo, lane=cell)
    services = Services(engine, network, run=run, repo=repo, cell=cell)
    try:
        for name, wish in wishes.items():
            services.start(name, wish, images[name])
        services.wait(timeout=timeout)
        yield services
    finally:
        # What cannot go now is swept before the next run; a first error is not to be hidden.
        with suppress(EngineError, OSError):
            services.close(log=log)
        with suppress(EngineError):
            remove_network(engine, network)


def _image(
    engine: Engine, name: str, wish: ContainerWish, find: Callable[[str], ImageRef] | None
) -> ImageRef:
    try:
        return find(wish.image) if find else engine.image(wish.image, origin=f"service {name}")
    except ImageError as error:
        raise LackingError(
            f"image {wish.image} of service {name} (presubmit image pull {wish.image})"
        ) from error


def _free(taken: set[int]) -> int:
    return next(port for port in range(_FIRST_FREE, 1 << 16) if port not in taken)
