"""Lays the tree's Python over an installed build, in the lane's environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.change.git import fields, git
from presubmit.errors import GitError
from presubmit.overlay import Laid, Seen, lay_out, names_of
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from presubmit.container.model import ExecResult
    from presubmit.replay.assignment import Lane
    from presubmit.values import Overlay

FOLDER: Final = "presubmit-overlay"
"""The folder of an environment that is put before its site-packages."""
SAFE_PATH: Final = {"PYTHONSAFEPATH": "1"}
"""Else `python -m pytest` would import the tree's packages, which nobody has built (Python 3.11 and later)."""


def lay_over(
    overlay: Overlay, lane: Lane, run: Callable[..., ExecResult], python: str
) -> tuple[Laid | None, ExecResult]:
    """Compare what is installed with the tree and lay the tree's files over it; `run` runs a command in the lane's box.

    None where a command failed: its end is the second. Raises OverlayRefusedError where the build is another tree's.
    """
    question: dict[str, Any] = {
        "source": lane.source,
        "overlay": f"{lane.environment}/{FOLDER}",
        "packages": list(overlay.packages),
    }
    done, told = _ask("look", question, lane, run, python)
    if not done.ok or told is None:
        return None, done
    seen = msgspec.convert(told, dict[str, Seen])
    laid = lay_out(overlay, seen, _since(seen, Path(lane.host_source)))
    question["packages"] = {name: it.installed for name, it in seen.items() if it.installed}
    question |= {"laid": laid.files, "hidden": laid.hidden}
    done, _ = _ask("lay", question, lane, run, python)
    return (laid if done.ok else None), done


def import_packages(
    overlay: Overlay, lane: Lane, run: Callable[..., ExecResult], python: str
) -> ExecResult:
    """Import every package; ends with 3 where one does not come from the overlay."""
    return run(
        (python, "-I", "-c", _PROOF, f"{lane.environment}/{FOLDER}", *names_of(overlay)),
        env={},
        shown="# import what is laid over the build",
    )


def _ask(
    verb: str, question: dict[str, Any], lane: Lane, run: Callable[..., ExecResult], python: str
) -> tuple[ExecResult, object]:
    with OutputFolder(lane) as out:
        asked = out.write("question.json", json.dumps(question).encode())
        done = run(
            (python, "-I", "-c", script("overlay"), verb, asked, f"{out.inside}/answer.json"),
            env={},
            cwd=out.inside,
            shown=f"# overlay: {verb}",
        )
        copy = Path(lane.host_output) / f"overlay-{verb}.json"
        if not done.ok or out.take("answer.json", copy):
            return done, None
        try:
            return done, json.loads(copy.read_bytes())
        finally:
            copy.unlink(missing_ok=True)


def _since(seen: dict[str, Seen], tree: Path) -> Iterable[str] | None:
    """Give the files that differ between the build's commit and the checked-out tree; None where git cannot say."""
    commit = next((it.commit for it in seen.values() if it.commit), "")
    if not commit:
        return None
    try:
        done = git("diff", "--name-only", "--no-renames", "-z", commit, "--", cwd=tree)
    except GitError:
        return None
    return fields(done.stdout)


_PROOF: Final = """
import importlib
import importlib.util
import os
import sys
overlay = os.path.abspath(sys.argv[1]) + os.sep
for name in sys.argv[2:]:
    if importlib.util.find_spec(name) is None:
        continue
    module = importlib.import_module(name)
    file = getattr(module, "__file__", None) or ""
    if not os.path.abspath(file).startswith(overlay):
        print(name, "is imported from", file, "and not from the overlay", file=sys.stderr)
        sys.exit(3)
"""
