"""Takes what a command prints: masks it, writes the log, hands on text, and keeps the last lines."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final, Self

from presubmit.container.redact import Masker, mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

STDOUT: Final = 1
STDERR: Final = 2
TAIL_CHARACTERS: Final = 4000
_NO_SPACE: Final = b"No space left on device"


class Output:
    """The output of one command, both streams; `with` opens and closes its log."""

    def __init__(
        self, log: Path, *, on_output: Callable[[str], None] | None, secrets: Iterable[str]
    ) -> None:
        self._path = log
        self._on_output = on_output
        self._secrets = tuple(secrets)
        self._maskers = {stream: Masker(self._secrets) for stream in (STDOUT, STDERR)}
        # One decoder a stream: a character may be split between two frames.
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: decoder("replace") for stream in (STDOUT, STDERR)}
        self._last = {STDOUT: b"", STDERR: b""}
        self._tail = ""
        self.said_no_space = False

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._log = self._path.open("ab", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    @property
    def tail(self) -> str:
        """The last lines, masked, at most TAIL_CHARACTERS."""
        if len(self._tail) <= TAIL_CHARACTERS:
            return self._tail
        cut = self._tail[-TAIL_CHARACTERS:]
        return cut.split("\n", 1)[-1] if "\n" in cut.rstrip("\n") else cut

    def feed(self, stream: int, data: bytes) -> None:
        """Take the next bytes of a stream."""
        seen = self._last[stream] + data
        self.said_no_space = self.said_no_space or _NO_SPACE in seen
        self._last[stream] = seen[-len(_NO_SPACE) :]
        self._show(stream, self._maskers[stream].feed(data), final=False)

    def finish(self) -> None:
        """Show what was held back; the command has ended."""
        for stream, masker in self._maskers.items():
            self._show(stream, masker.flush(), final=True)

    def mute(self) -> None:
        """Hand on no more text (the log is still written)."""
        self._on_output = None

    def mask(self, text: str) -> str:
        """Mask this command's secrets in any other text."""
        return mask_text(text, self._secrets)

    def _show(self, stream: int, data: bytes, *, final: bool) -> None:
        if data:
            self._log.write(data)
        text = self._decoders[stream].decode(data, final)
        if not text:
            return
        self._tail = (self._tail + text)[-2 * TAIL_CHARACTERS :]
        if self._on_output is not None:
            self._on_output(text)
