"""The pre-push hook's first step, run as a file by `python -I -S`: standard library only, since every push waits for it.

It runs the hook that was there before with the same input, lets trees with evidence through, and hands all else to
`presubmit hook run`. git's own variables stay as they are here: plumbing and the earlier hook need them.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presubmit import __version__
from presubmit.evidence_key import SKIP, find_rows, in_words, settings_digest, why_not
from presubmit.push import read_lines

PREVIOUS: Final = "pre-push.presubmit-prev"
"""How the hook that was there before is called, beside ours."""


def main(arguments: Sequence[str]) -> int:
    """Take the hook's file and what git gives it: the remote's name and URL. Give the code for git."""
    hook, given = arguments[0], arguments[1:]
    data = sys.stdin.buffer.read()
    previous = os.path.join(os.path.dirname(os.path.abspath(hook)), PREVIOUS)
    if os.access(previous, os.X_OK):
        code = subprocess.run([previous, *given], input=data, check=False).returncode
        if code:
            return 1
    passed = read_evidence(data, os.environ) if SKIP not in os.environ else None
    if passed is None:
        hand_on(data, given)
    for line in passed:
        print(f"presubmit: {line}", file=sys.stderr)
    return 0


def read_evidence(data: bytes, environ: Mapping[str, str]) -> list[str] | None:
    """Say for every pushed tree what its evidence is; None where one has none, or where anything is odd."""
    try:
        refs = [ref for ref in read_lines(data) if ref.has_code]
        if not refs:
            return []
        ids = list(dict.fromkeys(ref.local_id for ref in refs))
        found = _git("rev-parse", "--git-common-dir", *(f"{it}^{{tree}}" for it in ids))
        path = os.path.join(found[0], "presubmit", "history.db")
        if len(found) != len(ids) + 1 or not os.path.isfile(path):
            return None
        settings = settings_digest(environ)
        connection = sqlite3.connect(path, timeout=2.0)
        try:
            lines = [
                _holding(connection, *it, settings) for it in zip(ids, found[1:], strict=True)
            ]
        finally:
            connection.close()
    except (OSError, ValueError, sqlite3.Error, subprocess.SubprocessError):
        return None
    whole = [line for line in lines if line is not None]
    return whole if len(whole) == len(lines) else None


def _holding(connection: sqlite3.Connection, commit: str, tree: str, settings: str) -> str | None:
    bases: dict[str, str] = {}
    for row in find_rows(connection, tree):
        ref = row["base_ref"]
        if ref not in bases:
            bases[ref] = (_git("merge-base", ref, commit) or [""])[0]
        if not why_not(row, base=bases[ref], settings=settings, tool=__version__):
            return in_words(row)
    return None


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return os.fsdecode(done.stdout).splitlines() if done.returncode == 0 else []


def hand_on(data: bytes, given: Sequence[str]) -> NoReturn:
    """Become `presubmit hook run`, with the same input."""
    import tempfile  # noqa: PLC0415 - it costs a third of the fast path

    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        os.dup2(stream.fileno(), 0)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "presubmit", "hook", "run", *given])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
