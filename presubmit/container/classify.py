"""Says how a command in a box ended; pure."""

from __future__ import annotations

from typing import Final

from presubmit.container.model import ExecOutcome

# What engines print (as the command's own output!) when they could not start it; docker, containerd, podman, crun.
_START_FAILURES: Final = (
    "OCI runtime exec failed",
    "unable to find user",
    "unable to find group",
    "Error: crun:",
    "Error: OCI runtime",
    "Error: executable file",
    "exec failed: unable to start container process",
    "cannot exec in a stopped",
)
_START_CODES: Final = frozenset({126, 127, 128, 125})


def classify(
    *,
    exit_code: int | None,
    started: bool,
    tail: str,
    oom_kills: int,
    timed_out: bool,
    timeout: float,
    lost: str,
    full_disks: tuple[str, ...],
) -> tuple[ExecOutcome, str]:
    """Give the outcome and, in words, its reason; empty for EXITED.

    `started`: our own wrapper reached the command. `lost`: why the engine or the box is gone, else empty.
    `full_disks`: file systems that are full *and* that the command complained of.
    137 (or 9) alone says nothing of memory; only the kernel's own count of kills does.
    """
    if exit_code is None and not timed_out and not lost:
        lost = "the engine gives no exit code"
    if timed_out:
        return (
            ExecOutcome.TIMEOUT,
            f"ran longer than {timeout:g} s and was ended with everything it started",
        )
    if oom_kills > 0:
        kills = "a process was" if oom_kills == 1 else f"{oom_kills} processes were"
        return (
            ExecOutcome.OOM,
            f"{kills} killed for lack of memory (the box's limit, or the machine's)",
        )
    if lost:
        return ExecOutcome.ENGINE_LOST, lost
    if not started and (reason := _start_failure(exit_code, tail)):
        return ExecOutcome.START_FAILED, reason
    if exit_code != 0 and full_disks:
        return ExecOutcome.DISK_FULL, f"no space left on {', '.join(full_disks)}"
    return ExecOutcome.EXITED, ""


def _start_failure(exit_code: int | None, tail: str) -> str:
    """Why the command never began; empty where that is not known."""
    text = tail.strip()
    if text.startswith(_START_FAILURES):
        return text.splitlines()[0][:500]
    if exit_code in _START_CODES or exit_code is None:
        return (text.splitlines() or ["the engine could not start it"])[0][:500]
    return ""
