"""What a recorded run was made in, as far as that is known without starting anything: another place may run other code."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.config import Config

HOST: Final = "host"
_WORDS: Final = {
    "image": "another image",
    "python": "another interpreter (container.python)",
    "build": "another build (the [build] table)",
    "variables": "other variables (container.env)",
}


def facts_of(config: Config, image: str) -> dict[str, str]:
    """Give what is known of the place; `image` is the image's id, HOST, or empty where no engine was asked."""
    container = config.container
    found = {
        "image": image,
        "python": "" if image == HOST else container.python,
        "build": _digest(config.build),
        "variables": _digest(container.env),
    }
    return {name: value for name, value in found.items() if value}


def changed_facts(recorded: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Say in what two places differ; what is not known of either of them makes no difference."""
    return tuple(
        words
        for name, words in _WORDS.items()
        if name in recorded and name in now and recorded[name] != now[name]
    )


def say_changed(changes: Iterable[tuple[str, ...]]) -> str:
    """Say why recorded runs are not used, and what helps."""
    words = ", ".join(dict.fromkeys(word for one in changes for word in one))
    return f"what is recorded was made with {words}, and is not used: `presubmit record` records it anew"


def _digest(table: object) -> str:
    return hashlib.sha256(repr(table).encode("utf-8", "backslashreplace")).hexdigest()[:24]
