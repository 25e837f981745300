"""Hides secrets in everything that is shown: logs, annotations, summaries, outputs.

What counts as a secret's text is what actions/runner masks (SecretMasker.cs, ValueEncoders.cs): the value, each of its
lines, and their usual encodings. A value of one letter is masked, too, as it is there, whatever becomes of the log.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import quote
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MASK: Final = "***"
_QUOTED: Final = 8
"""A value in double quotes that is longer than this is masked without them as well."""


class Masks:
    """The secrets of one cell; more may come at any time."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._texts: set[str] = set()
        self.longest = 0
        """Characters of the longest text that is hidden."""
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hide a secret from now on: the whole, each of its lines, and what encoders make of them."""
        found = {text for part in _parts(secret) for text in _encodings(part)} - self._texts
        if not found:
            return
        self._texts |= found
        self.longest = max(map(len, self._texts))

    def hides(self, text: str) -> bool:
        """Whether something in a text has to be hidden; GitHub drops a job output of which that is true."""
        # Much faster than one regular expression with all of them.
        return any(word in text for word in self._texts)

    def mask(self, text: str) -> str:
        """Give a text without its secrets; those that touch or overlap become one `***`."""
        if not self.hides(text):
            return text
        shown: list[str] = []
        position = 0
        for start, end in self.spans(text):
            shown += (text[position:start], MASK)
            position = end
        return "".join((*shown, text[position:]))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Give where secrets are in a text: in order, apart from each other."""
        places = sorted(
            (start, start + len(word)) for word in self._texts for start in _places(word, text)
        )
        current: tuple[int, int] | None = None
        for start, end in places:
            if current is None:
                current = (start, end)
            elif start <= current[1]:
                current = (current[0], max(current[1], end))
            else:
                yield current
                current = (start, end)
        if current is not None:
            yield current


class MaskStream:
    """Masks a text that comes in pieces; holds back only what may be the beginning of a secret."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._held = ""

    def feed(self, text: str) -> str:
        """Take the next piece; give what can be shown of what came so far."""
        text = self._held + text
        cut = max(0, len(text) - max(0, self._masks.longest - 1))
        for start, end in self._masks.spans(text) if self._masks.hides(text) else ():
            if start < cut < end:
                # What is hidden may go on, where secrets overlap; one at the very beginning has waited long enough.
                cut = start or end
        self._held = text[cut:]
        return self._masks.mask(text[:cut])

    def flush(self) -> str:
        """Give the rest: the text has ended."""
        rest, self._held = self._held, ""
        return self._masks.mask(rest)


def _parts(secret: str) -> Iterator[str]:
    """Give the whole, and each line on its own: output is masked line by line."""
    yield secret
    yield secret.strip()
    yield from (line.strip() for line in re.split(r"[\r\n]+", secret))


def _encodings(text: str) -> Iterator[str]:
    if not text:
        return
    yield text
    data = text.encode("utf-8", "surrogateescape")
    # `user:secret` in base64 shows the secret from another bit on: hence the shifts.
    for shift in range(3):
        yield b64encode(data[shift:] if len(data) > shift else data).decode()
    yield text.replace('"', '\\"')
    yield text.replace("'", "''")
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(data, safe="")
    yield escape(text, {'"': "&quot;", "'": "&apos;"})
    if len(text) > _QUOTED and text.startswith('"') and text.endswith('"'):
        yield text[1:-1]


def _places(word: str, text: str) -> Iterator[int]:
    start = text.find(word)
    while start >= 0:
        yield start
        start = text.find(word, start + 1)
