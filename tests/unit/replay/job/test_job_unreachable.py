"""What a failed step's last lines say of hosts and interpreters that cannot be had."""

from __future__ import annotations

import pytest

from presubmit.replay.job.unreachable import lacking


@pytest.mark.parametrize(
    ("tail", "host"),
    [
        ("curl: (6) Could not resolve host: codecov.io", "codecov.io"),
        (
            "fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com",
            "github.com",
        ),
        ("wget: unable to resolve host address 'ftp.gnu.org'", "ftp.gnu.org"),
        (
            "Err:1 http://deb.debian.org x\n  Temporary failure resolving 'deb.debian.org'",
            "deb.debian.org",
        ),
        (
            "npm ERR! request to https://registry.npmjs.org failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
            "registry.npmjs.org",
        ),
        (
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='api.github.com', port=443): Max retries "
            "exceeded with url: / (Caused by NameResolutionError(...))",
            "api.github.com",
        ),
        (
            "\x1b[31mssh: Could not resolve hostname github.com: Name or service not known\x1b[0m",
            "github.com",
        ),
    ],
)
def test_a_host_that_cannot_be_reached_is_named(tail: str, host: str) -> None:
    assert lacking(tail) == f"the host {host}, which cannot be reached from here"


@pytest.mark.parametrize(
    ("tail", "name"),
    [
        (
            "error: Failed to install cpython-3.12.4-linux-x86_64-gnu\n  Caused by: Request failed after 3 retries",
            "cpython-3.12.4",
        ),
        (
            "error: No interpreter found for PyPy 3.10 in managed installations or search path",
            "PyPy 3.10",
        ),
    ],
)
def test_an_interpreter_that_uv_cannot_download_is_named(tail: str, name: str) -> None:
    assert lacking(tail) == f"an interpreter that uv would download ({name})"


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "FAILED tests/test_a.py::test_b - AssertionError",
        "E   ConnectionRefusedError: [Errno 111] Connection refused",
        "could not resolve dependencies",
    ],
)
def test_anything_else_is_the_steps_own_failure(tail: str) -> None:
    assert lacking(tail) == ""
