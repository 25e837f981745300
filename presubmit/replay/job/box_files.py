"""Looks at files of the workspace from outside: it may be an overlay that only the box can see."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from presubmit.replay.job.machine import MOST_ASKED
from presubmit.upstream.expressions import ExpressionError, hash_files, matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.job.machine import Machine

# A link counts where it leads to a file, or to nothing (which fails below, as it does on GitHub).
_LIST: Final = r"find . -name .git -prune -o \( -type f -o -type l ! -exec test -d {} \; \) -print"
# Read from a file, since there may be more names than fit on a command line; the hash is of what a link leads to.
_HASH: Final = 'while IFS= read -r name; do sha256sum < "$name" || exit 1; done < "$1"'


def hash_of(machine: Machine, patterns: Sequence[str]) -> str:
    """Give what `hashFiles(patterns…)` gives in the box now, with find and sha256sum alone (hashFiles.ts needs node)."""
    workspace = machine.cell.workspace
    code, listed = machine.ask(
        ("sh", "-c", _LIST), env=machine.process_environment({}), cwd=workspace
    )
    if code != 0 or len(listed) == MOST_ASKED:
        raise ExpressionError("hashFiles: the files of the workspace cannot be listed")
    names = [
        line.removeprefix("./") for line in listed.decode("utf-8", "surrogateescape").splitlines()
    ]
    found = matches(patterns, names, workspace=workspace, home=machine.home)
    if not found:
        return ""
    list_name = f"hash-{secrets.token_hex(4)}"
    inside = machine.put(list_name, "".join(f"{name}\n" for name in found))
    code, printed = machine.ask(
        ("sh", "-c", _HASH, "sh", inside), env=machine.process_environment({}), cwd=workspace
    )
    digests = [line.split()[0].decode() for line in printed.splitlines() if line.strip()]
    if code != 0 or len(digests) != len(found):
        raise ExpressionError("hashFiles: a file that matches cannot be read")
    return hash_files(dict(zip(found, digests, strict=True)))
