"""A command in a container that presubmit talks with: its standard input stays open, both its streams are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.container.faults import engine_faults, lost
from presubmit.container.scripts import OURS
from presubmit.container.stream import Connection, Frames
from presubmit.container.supervise import LostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docker.api.client import APIClient

_SEND_SECONDS: Final = 60.0


class Duplex:
    """One exec with an open standard input; `DockerBox.open_duplex` starts it."""

    def __init__(self, api: APIClient, container: str, argv: Sequence[str]) -> None:
        self._api = api
        self._frames = Frames()
        try:
            made = api.exec_create(
                container, list(argv), stdin=True, environment={OURS: "1"}, workdir=None
            )
            self._id = str(made["Id"])
            self._connection = Connection(api.exec_start(self._id, socket=True))
        except engine_faults() as error:
            raise lost(error) from error

    def send(self, data: bytes) -> None:
        """Write to its standard input; raises LostError."""
        try:
            self._connection.send(data, _SEND_SECONDS)
        except OSError as error:
            raise self._lost(error) from error

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give what came within `wait` seconds as (stream, bytes); None when it has ended. Raises LostError."""
        try:
            data = self._connection.receive(wait)
            return None if data is None else self._frames.feed(data)
        except OSError as error:
            raise self._lost(error) from error

    def is_running(self) -> bool:
        """Whether the command itself still runs; a child of it may hold the streams longer. Raises LostError."""
        try:
            return bool(self._api.exec_inspect(self._id).get("Running"))
        except engine_faults() as error:
            raise lost(error) from error

    def close(self) -> None:
        """Let go of the connection: its standard input ends, it goes on as long as it likes."""
        self._connection.close()

    def _lost(self, error: OSError) -> LostError:
        return LostError(f"the connection to the engine broke: {error}")
