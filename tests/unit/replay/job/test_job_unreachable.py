"""What a failed step's last lines say of hosts and interpreters that cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.replay.job.unreachable import lacking, token_wanted
from tests.unit.upstream.made import workflow

if TYPE_CHECKING:
    from presubmit.upstream.model import Step


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
            "HTTPSConnectionPool(host='api.github.com', port=443): Max retries exceeded (Caused by NameResolutionError(x))",
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
    "tail", ["/tmp/script-1.sh: line 1: pip: command not found", "sh: 1: pip: not found"]
)
def test_a_program_that_githubs_runners_have_is_named(tail: str) -> None:
    assert lacking(tail) == "pip in the image (GitHub's runners have it)"


@pytest.mark.parametrize(
    "tail",
    [
        "sh: 1: mytypo: not found",
        "=== short test summary info ===\ncurl: (6) Could not resolve host: x.org",
        "",
        "FAILED tests/test_a.py::test_b - AssertionError",
        "E   ConnectionRefusedError: [Errno 111] Connection refused",
        "could not resolve dependencies",
    ],
)
def test_anything_else_is_the_steps_own_failure(tail: str) -> None:
    assert lacking(tail) == ""


def step_of(lines: str) -> Step:
    text = f"on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{lines}"
    return workflow(text).jobs[0].steps[0]


@pytest.mark.parametrize(
    "lines",
    [
        "      - run: x\n        env:\n          GH_TOKEN: ${{ secrets.GITHUB_TOKEN }}\n",
        "      - run: curl -H ${{ github.token }} x\n",
        "      - uses: a/b@v1\n        with:\n          token: ${{ secrets.GITHUB_TOKEN }}\n",
    ],
)
def test_a_step_that_reads_githubs_token_lacks_it(lines: str) -> None:
    assert token_wanted(step_of(lines), "error: token is empty").startswith("a token of GitHub's")


def test_failing_tests_are_news_whatever_token_their_step_reads() -> None:
    lines = "      - run: pytest\n        env:\n          T: ${{ secrets.GITHUB_TOKEN }}\n"
    assert token_wanted(step_of(lines), "=== short test summary info ===\nFAILED t.py::t") == ""


def test_another_secret_is_empty_upstream_too() -> None:
    lines = "      - run: x\n        env:\n          T: ${{ secrets.CODECOV_TOKEN }}\n"
    assert token_wanted(step_of(lines), "error") == ""
