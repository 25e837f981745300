"""Reads the two streams of a command from the engine's attach socket."""

from __future__ import annotations

from typing import Any, Final

_HEADER: Final = 8
_READ: Final = 1 << 16
_FRAME_LIMIT: Final = 1 << 30


class FrameError(OSError):
    """What came is not a stream of frames."""


class Frames:
    """Takes bytes as they come; gives (stream, bytes) without waiting for a frame to be complete."""

    def __init__(self) -> None:
        self._header = b""
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> tuple[tuple[int, bytes], ...]:
        """Take the next bytes of the connection."""
        chunks: list[tuple[int, bytes]] = []
        view = memoryview(data)
        while view:
            if self._left == 0:
                taken = _HEADER - len(self._header)
                self._header += bytes(view[:taken])
                view = view[taken:]
                if len(self._header) == _HEADER:
                    self._open_frame()
                continue
            part = bytes(view[: self._left])
            view = view[len(part) :]
            self._left -= len(part)
            chunks.append((self._stream, part))
        return tuple(chunks)

    def _open_frame(self) -> None:
        stream, size = self._header[0], int.from_bytes(self._header[4:], "big")
        if stream > 3 or self._header[1:4] != b"\0\0\0" or size > _FRAME_LIMIT:  # noqa: PLR2004 - the frame format
            raise FrameError(f"the engine sent {self._header!r} where a frame begins")
        # 3 is the engine's own word on an error; it belongs with standard error.
        self._stream, self._left, self._header = (1 if stream <= 1 else 2), size, b""


class Connection:
    """The hijacked connection of an exec or an attach, whatever docker-py gave for it."""

    def __init__(self, hijacked: Any) -> None:  # noqa: ANN401 - SocketIO, SSLSocket, or an ssh channel
        self._hijacked = hijacked
        self._socket = getattr(hijacked, "_sock", hijacked)
        self._early = _early_bytes(hijacked, self._socket)

    def receive(self, wait: float) -> bytes | None:
        """Give what comes within `wait` seconds (b"" for nothing), None at the end. Raises OSError."""
        if self._early:
            early, self._early = self._early, b""
            return early
        self._socket.settimeout(max(wait, 0.001))
        try:
            return self._socket.recv(_READ) or None
        except TimeoutError:
            return b""

    def send(self, data: bytes, wait: float) -> None:
        """Write to the command's standard input; raises OSError, also where nothing is taken for `wait` seconds."""
        self._socket.settimeout(wait)
        self._socket.sendall(data)

    def close(self) -> None:
        """Close it and the HTTP response that it came with; harmless when closed."""
        response = getattr(self._hijacked, "_response", None)
        # The response first: closing it afterwards would flush a closed file.
        for thing in (response, self._hijacked, self._socket):
            if thing is not None:
                thing.close()


def _early_bytes(hijacked: Any, socket: Any) -> bytes:  # noqa: ANN401 - as above
    """Bytes that http.client read ahead along with the headers; docker-py would lose them."""
    response = getattr(hijacked, "_response", None)
    reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    if reader is None or not hasattr(reader, "peek"):
        return b""
    socket.settimeout(0)
    try:
        ahead = reader.peek(1)
        return reader.read(len(ahead)) if ahead else b""
    except (OSError, ValueError):
        return b""
