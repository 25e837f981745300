"""Keeps tokens, passwords and home folders out of a draft, wherever the text comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.container.redact import MASK, mask_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED: Final = (
    r"[A-Za-z0-9_.-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|credentials?|auth)"
)
_PATTERNS: Final = (
    # https://user:password@host, https://token@host
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@'\"<>]+@"), rf"\1{MASK}@"),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})"), MASK),
    (
        re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}|\bpypi-[A-Za-z0-9_-]{16,}|\bhf_[A-Za-z0-9]{16,}"),
        MASK,
    ),
    (re.compile(r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        MASK,
    ),
    (
        re.compile(
            r"(?i)\b((?:proxy-)?authorization:\s*|bearer\s+|basic\s+)[A-Za-z0-9+/=._~-]{8,}"
        ),
        rf"\1{MASK}",
    ),
    # The value of what is named after a secret: NAME=value, name: value, --name value.
    (
        re.compile(rf"(?i)(?<![\w.-])({_NAMED}[\"']?\s*[=:]\s*[\"']?)[^\s\"'`,;&|]{{4,}}"),
        rf"\1{MASK}",
    ),
    (re.compile(rf"(?i)(--{_NAMED}\s+)[^\s\"'`-][^\s\"'`]{{3,}}"), rf"\1{MASK}"),
)
_HOME: Final = re.compile(r"(?<![\w.~-])(?:/home/[^/\s:'\"`]+|/Users/[^/\s:'\"`]+|/root)(?=/|\b)")
_WINDOWS_HOME: Final = re.compile(r"(?i)\b[a-z]:\\Users\\[^\\\s:'\"`]+")
_SHORTEST: Final = 8


def clean(text: str, *, known: tuple[str, ...] = (), homes: tuple[str, ...] = ()) -> str:
    """Give text without secrets; `known` are values that must not be shown, `homes` folders shown as `~`."""
    shown = mask_text(text, known) if known else text
    for pattern, instead in _PATTERNS:
        shown = pattern.sub(instead, shown)
    for home in sorted(homes, key=len, reverse=True):
        shown = shown.replace(home, "~")
    return _WINDOWS_HOME.sub("~", _HOME.sub("~", shown))


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Give the values of the variables that are named after secrets."""
    named = re.compile(rf"(?i)(?:.*_)?(?:{_NAMED})$")
    return tuple(
        value
        for name, value in sorted(environ.items())
        if len(value) >= _SHORTEST and "/" not in value[:1] and named.match(name)
    )
