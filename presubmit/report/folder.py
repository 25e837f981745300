"""`.presubmit/` in the checkout: one folder a run, `last` for the newest, and nothing that git would see."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from presubmit.errors import PresubmitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN: Final = ".presubmit"


def own_folder(top: Path) -> Path:
    """Make `.presubmit/` with its own `.gitignore`; raises PresubmitError where that cannot be written."""
    folder = top / OWN
    try:
        for path in (folder, folder / "runs", folder / ".gitignore"):
            if path.is_symlink():
                raise PresubmitError(
                    f"{path} is a link",
                    hint="remove it: presubmit writes there and follows no links",
                )
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise PresubmitError(
            f"cannot write {folder}: {error.strerror}",
            hint="the run's logs and report go there; free space or give yourself write access",
        ) from error
    return folder


def new_run_folder(top: Path, tree: str) -> Path:
    """Make the folder of a new run, `runs/<time>-<tree>`."""
    folder = own_folder(top)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{tree[:7]}"
    for number in range(100):
        path = folder / "runs" / (name if number == 0 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise PresubmitError(
                f"cannot make {path}: {error.strerror}", hint="free disk space (`presubmit clean`)"
            ) from error
        return path
    raise PresubmitError(f"cannot make a folder for the run in {folder / 'runs'}")


def point_last(run: Path) -> None:
    """Let `.presubmit/last` point to this run."""
    link = run.parent.parent / "last"
    temporary = link.with_name(f"last.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        temporary.symlink_to(Path("runs") / run.name)
        temporary.replace(link)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PresubmitError(
            f"cannot write {link}: {error.strerror}",
            hint=f"remove {link}: presubmit makes it anew",
        ) from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(value, indent=1) + "\n")
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def find_run(top: Path, name: str | None) -> Path:
    """Find a run by its folder's name (or the beginning of it), the newest without one. Raises UsageError."""
    runs = top / OWN / "runs"
    if name is None:
        last = top / OWN / "last"
        if not last.exists():
            raise UsageError("there is no run yet in this checkout", hint="presubmit run")
        return last.resolve()
    found = sorted(path for path in runs.glob("*") if path.name.startswith(name))
    found = [path for path in found if path.name == name] or found
    if len(found) != 1:
        known = ", ".join(path.name for path in sorted(runs.glob("*"))[-5:]) or "none"
        what = "no run" if not found else "more than one run"
        raise UsageError(f"{what} is called {name}", hint=f"the newest: {known}")
    return found[0]


def list_runs(top: Path) -> list[Path]:
    """List the folders of all runs that have a run.json, oldest first."""
    return sorted(path.parent for path in (top / OWN / "runs").glob("*/run.json"))


def read_run(folder: Path) -> dict[str, Any]:
    """Read a run's run.json. Raises UsageError where it is missing or damaged."""
    try:
        run = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{folder / 'run.json'} cannot be read: {error}", hint="presubmit run"
        ) from error
    if not isinstance(run, dict):
        raise UsageError(f"{folder / 'run.json'} is not a run", hint="presubmit run")
    return run


def run_digest(folder: Path) -> str:
    """Name what a run wrote for others to read, by its content; a file that is not there counts as empty."""
    digest = hashlib.sha256()
    for name in ("run.json", "review.json", "bench.json"):
        try:
            data = (folder / name).read_bytes()
        except OSError:
            data = b""
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def settle_dead_runs(top: Path, *, boot: str) -> list[str]:
    """Turn the runs that say `running` but whose process is gone into `interrupted`; gives their names."""
    settled: list[str] = []
    if (top / OWN).is_symlink() or (top / OWN / "runs").is_symlink():
        return settled
    for path in sorted((top / OWN / "runs").glob("*/run.json")):
        if path.is_symlink() or path.parent.is_symlink():
            continue
        try:
            run = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        if not isinstance(run, dict) or run.get("state") != "running":
            continue
        if run.get("boot") == boot and _lives(run.get("pid"), run.get("process")):
            continue
        write_json(path, {**run, "state": "interrupted", "exit": 130})
        settled.append(path.parent.name)
    return settled


def _lives(pid: object, process: object) -> bool:
    if not isinstance(pid, int):
        return False
    return process == process_mark(pid)


def process_mark(pid: int) -> str | None:
    """Name a living process so that a later one with its number is another; None where it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return f"{pid}:{stat.rpartition(')')[2].split()[19]}"
