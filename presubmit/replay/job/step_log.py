"""Turns what a step prints into log lines: decoded, its commands obeyed, its secrets masked, bounded in every way."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final, Self

from presubmit.replay.job.masks import MaskStream
from presubmit.replay.job.workflow_commands import may_be_command, may_hold_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from presubmit.replay.job.masks import Masks
    from presubmit.replay.job.workflow_commands import Commands

LOG_LIMIT: Final = 64 << 20
"""Bytes that the log of a cell may have."""
LINE_LIMIT: Final = 1 << 20
"""Characters of a line that are held until its end; what is longer goes to the log in parts and is no command."""
TAIL_CHARACTERS: Final = 32_000


class CellLog:
    """The log of a cell: one file for all of its steps, up to a limit."""

    def __init__(
        self, path: Path, *, limit: int = LOG_LIMIT, on_text: Callable[[str], None] | None = None
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._left = limit - self._file.tell()
        self._limit = limit
        self._on_text = on_text
        self._ended = True
        self.is_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, text: str) -> None:
        """Append a text that holds no secret; beyond the limit nothing but one line that says so."""
        if not text or self.is_cut:
            return
        data = text.encode("utf-8", "backslashreplace")
        if len(data) > self._left:
            data = data[: max(0, self._left)]
            data = data[: data.rfind(b"\n") + 1]
            self.is_cut = True
            line = f"presubmit: the log is cut here, at {self._limit:,} bytes; the steps went on\n"
            data += ("" if data or self._ended else "\n").encode() + line.encode()
            text = data.decode()
        self._left -= len(data)
        self._ended = data.endswith(b"\n")
        self._file.write(data)
        if self._on_text is not None:
            self._on_text(text)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class StepLog:
    """Takes the output of one step."""

    def __init__(self, log: CellLog, *, commands: Commands, masks: Masks) -> None:
        self._log = log
        self._commands = commands
        self._masks = masks
        self._streams: dict[int, _Stream] = {}
        self._last = 0
        self._tail: list[str] = []
        self._tail_size = 0
        self._open_line = False
        """The log's last line is a part of a line that is not over yet."""

    @property
    def tail(self) -> str:
        """The last lines that the log was given, masked, at most TAIL_CHARACTERS."""
        kept = self._shorten()
        if len(kept) <= TAIL_CHARACTERS:
            return kept
        cut = kept[-TAIL_CHARACTERS:]
        return cut.split("\n", 1)[-1] if "\n" in cut.rstrip("\n") else cut

    def feed(self, stream: int, data: bytes) -> None:
        """Take the next bytes of a stream; fit for Driver.run."""
        taken = self._streams.get(stream)
        if taken is None:
            taken = self._streams[stream] = _Stream(self._masks)
        self._take(stream, taken, taken.decode(data, final=False))

    def say(self, text: str) -> None:
        """Write lines of presubmit's own; commands in them are not obeyed."""
        self._end_line()
        self._write(self._masks.mask(text.removesuffix("\n")) + "\n")

    def finish(self) -> None:
        """Write what was held back: the step has ended."""
        for stream, taken in self._streams.items():
            self._take(stream, taken, taken.decode(b"", final=True))
            rest = taken.take_rest()
            if taken.in_long_line:
                self._write_part(stream, taken.masked.feed(rest) + taken.masked.flush())
                taken.in_long_line = False
            elif rest:
                self._write_lines(rest + "\n")
        self._streams = {}
        self._end_line()

    def _take(self, stream: int, taken: _Stream, text: str) -> None:
        if taken.in_long_line:
            text = self._go_on(stream, taken, text)
        lines = taken.whole_lines(text)
        if lines:
            self._write_lines(lines)
        if taken.held > LINE_LIMIT:
            taken.in_long_line = True
            self._end_line()
            self._write_part(stream, taken.masked.feed(taken.take_rest()))

    def _go_on(self, stream: int, taken: _Stream, text: str) -> str:
        """Write what belongs to a line that is too long to be held; gives what follows it."""
        part, newline, rest = text.partition("\n")
        shown = taken.masked.feed(part)
        if newline:
            taken.in_long_line = False
            shown += taken.masked.flush()
        self._write_part(stream, shown)
        if newline:
            self._end_line()
        return rest

    def _write_lines(self, text: str) -> None:
        """Write whole lines; those without commands all at once."""
        self._end_line()
        if not may_hold_command(text):
            self._write(self._masks.mask(text))
            return
        plain: list[str] = []
        for line in text[:-1].split("\n"):
            if not may_be_command(line):
                plain.append(line)
                continue
            # What was printed before a new mask was known is shown, as it is on GitHub.
            self._write_all(plain)
            plain = []
            shown = self._commands.obey(line)
            if shown is not None:
                plain.append(shown)
        self._write_all(plain)

    def _write_all(self, lines: list[str]) -> None:
        if lines:
            self._write(self._masks.mask("\n".join(lines)) + "\n")

    def _write_part(self, stream: int, text: str) -> None:
        if not text:
            return
        if self._open_line and self._last != stream:
            self._end_line()
        self._write(text)
        self._open_line, self._last = True, stream

    def _end_line(self) -> None:
        """Do not let a line begin in the middle of the other stream's."""
        if self._open_line:
            self._open_line = False
            self._write("\n")

    def _write(self, text: str) -> None:
        self._log.write(text)
        self._tail.append(text[-2 * TAIL_CHARACTERS :])
        self._tail_size += len(self._tail[-1])
        if self._tail_size > 8 * TAIL_CHARACTERS:
            self._shorten()

    def _shorten(self) -> str:
        """Keep what the tail may need of it; gives that."""
        kept = "".join(self._tail)[-2 * TAIL_CHARACTERS :]
        self._tail, self._tail_size = [kept], len(kept)
        return kept


class _Stream:
    """What is known of one stream between two reads."""

    def __init__(self, masks: Masks) -> None:
        # Junk becomes replacement characters; a character may be split between two reads.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._return = ""
        self._parts: list[str] = []
        self.held = 0
        """Characters of the line that is not over yet."""
        self.in_long_line = False
        self.masked = MaskStream(masks)

    def decode(self, data: bytes, *, final: bool) -> str:
        """Give the text of the next bytes; a return ends a line as well, as it does on GitHub."""
        text = self._return + self._decoder.decode(data, final)
        self._return = ""
        if "\r" not in text:
            return text
        if text.endswith("\r") and not final:
            text, self._return = text[:-1], "\r"
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def whole_lines(self, text: str) -> str:
        """Give the lines that are complete now, and hold the rest."""
        end = text.rfind("\n") + 1
        lines = ""
        if end:
            lines = self.take_rest() + text[:end]
            text = text[end:]
        if text:
            self._parts.append(text)
            self.held += len(text)
        return lines

    def take_rest(self) -> str:
        """Give what is held of a line that has no end yet."""
        rest, self._parts, self.held = "".join(self._parts), [], 0
        return rest
