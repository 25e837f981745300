"""Tells a step that failed for want of a host, or of an interpreter to download, from one that the change broke."""

from __future__ import annotations

import re
from typing import Final

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_HOST: Final = (
    # curl, git
    re.compile(r"Could not resolve host: ([\w.-]+)"),
    re.compile(
        r"unable to access 'https?://([\w.-]+)[^']*': (?:Could not|Failed to connect|Recv failure)"
    ),
    re.compile(r"ssh: Could not resolve hostname ([\w.-]+)"),
    # wget, apt
    re.compile(r"wget: unable to resolve host address .([\w.-]+)"),
    re.compile(r"Temporary failure resolving '([\w.-]+)'"),
    # npm, node
    re.compile(r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)"),
    # requests, urllib3
    re.compile(
        r"HTTPSConnectionPool\(host='([\w.-]+)'.*(?:NameResolutionError|Failed to resolve)"
    ),
)
_PYTHON: Final = (
    # uv, which gets its interpreters from python-build-standalone
    re.compile(
        r"(?:Failed to (?:download|install)|error sending request for url)[^\n]*?(cpython-[\d.]+\w*|pypy-?[\d.]+)"
    ),
    re.compile(r"No interpreter found for ([^\n]+?) in [^\n]*"),
    re.compile(r"(python-build-standalone)"),
)


def lacking(tail: str) -> str:
    """Say what a failed step could not reach, by its last lines; empty where nothing says so."""
    text = _COLOUR.sub("", tail)
    for pattern in _PYTHON:
        found = pattern.search(text)
        if found:
            name = found.group(1)
            return f"an interpreter that uv would download ({name})"
    for pattern in _HOST:
        found = pattern.search(text)
        if found:
            return f"the host {found.group(1)}, which cannot be reached from here"
    return ""
