"""Masks secrets in output, also where a secret comes in pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK: Final = "***"


def mask_text(text: str, secrets: Iterable[str]) -> str:
    """Give `text` with each of `secrets` masked."""
    masker = Masker(secrets)
    data = text.encode("utf-8", "surrogatepass")
    return (masker.feed(data) + masker.flush()).decode("utf-8", "surrogatepass")


class Masker:
    """Masks secrets in one stream of bytes; holds back only what may be the start of a secret."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._words = _words(secrets)
        self._pattern = re.compile(b"|".join(map(re.escape, self._words))) if self._words else None
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; give what may be shown now."""
        if self._pattern is None:
            return data
        buffer = self._pending + data
        shown, position = [], 0
        while True:
            held = self._possible_start(buffer, position)
            found = self._pattern.search(buffer, position)
            if found is None or found.start() >= held:
                shown.append(buffer[position:held])
                self._pending = buffer[held:]
                return b"".join(shown)
            shown += [buffer[position : found.start()], MASK.encode()]
            position = found.end()

    def flush(self) -> bytes:
        """Give what was held back: the stream has ended."""
        rest, self._pending = self._pending, b""
        return rest if self._pattern is None else self._pattern.sub(MASK.encode(), rest)

    def _possible_start(self, buffer: bytes, position: int) -> int:
        """Where the tail of `buffer` begins that may grow into a secret, else its end."""
        longest = len(self._words[0])
        for start in range(max(position, len(buffer) - longest + 1), len(buffer)):
            tail = buffer[start:]
            if any(len(word) > len(tail) and word.startswith(tail) for word in self._words):
                return start
        return len(buffer)


def _words(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """Give the byte strings to look for, longest first; a secret of several lines counts line by line as well."""
    texts = {part for secret in secrets for part in (secret, *secret.splitlines()) if part.strip()}
    return tuple(
        sorted((text.encode("utf-8", "surrogateescape") for text in texts), key=len, reverse=True)
    )
