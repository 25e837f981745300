"""Tells a step that failed for want of a host, or of an interpreter to download, from one that the change broke."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream import template

if TYPE_CHECKING:
    from presubmit.upstream.model import Step

_TOKENS: Final = frozenset({("secrets", "GITHUB_TOKEN"), ("github", "token")})

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
_MISSING: Final = re.compile(r"(?:^|: )([\w.+-]+): (?:command )?not found$", re.MULTILINE)
_RUNNER_HAS: Final = frozenset(
    {
        *(
            "pip",
            "pip3",
            "pipx",
            "python",
            "node",
            "npm",
            "npx",
            "yarn",
            "gh",
            "jq",
            "yq",
            "curl",
            "wget",
            "zip",
            "unzip",
        ),
        *(
            "cmake",
            "ninja",
            "clang",
            "g++",
            "gcc",
            "gfortran",
            "make",
            "pkg-config",
            "java",
            "mvn",
            "gradle",
            "go",
            "cargo",
        ),
        *(
            "rustc",
            "rustup",
            "ruby",
            "php",
            "docker",
            "sudo",
            "apt-get",
            "rsync",
            "sqlite3",
            "xvfb-run",
            "git-lfs",
            "pwsh",
        ),
    }
)
_PYTHON: Final = (
    # uv, which gets its interpreters from python-build-standalone
    re.compile(
        r"(?:Failed to (?:download|install)|error sending request for url)[^\n]*?(cpython-[\d.]+\w*|pypy-?[\d.]+)"
    ),
    re.compile(r"No interpreter found for ([^\n]+?) in [^\n]*"),
    re.compile(r"(python-build-standalone)"),
)


_TESTS_FAILED: Final = "short test summary info"


def token_wanted(step: Step, tail: str) -> str:
    """Say that a failed step read GitHub's own token, which upstream has even for a fork and nobody has here.

    Not where its tests failed: that is the change's news, whatever else the step wanted.
    """
    if _TESTS_FAILED in tail:
        return ""
    for node in (step.run, step.env, step.inputs):
        for name in template.unknown(node, lambda path: path not in _TOKENS):
            return f"a token of GitHub's ({name})"
    return ""


def lacking(tail: str) -> str:
    """Say what a failed step could not reach, by its last lines; empty where nothing says so."""
    text = _COLOUR.sub("", tail)
    if _TESTS_FAILED in text:
        return ""  # tests that failed are news, whatever they print
    for pattern in _PYTHON:
        found = pattern.search(text)
        if found:
            name = found.group(1)
            return f"an interpreter that uv would download ({name})"
    missing = _MISSING.search(text)
    if missing and missing.group(1) in _RUNNER_HAS:
        return f"{missing.group(1)} in the image (GitHub's runners have it)"
    for pattern in _HOST:
        found = pattern.search(text)
        if found:
            return f"the host {found.group(1)}, which cannot be reached from here"
    return ""
