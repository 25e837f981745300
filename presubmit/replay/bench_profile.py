"""Takes the profile of one benchmark on both sides: flame graphs and stacks by py-spy, for torch a trace as well."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit.bench.profiling import keep_busy, moved, shares
from presubmit.bench.values import Profile
from presubmit.errors import EngineError
from presubmit.replay.assignment import BESIDE
from presubmit.results.files import read_bounded
from presubmit.values import Adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Result
    from presubmit.replay.assignment import Lane
    from presubmit.values import Suite

_MOST: Final = 64 << 20
_KINDS: Final = {"raw": "folded.txt", "flamegraph": "svg"}
"""py-spy's formats, and how their files end."""


def take_profile(
    result: Result,
    suite: Suite,
    lanes: Mapping[str, Lane],
    open_side: Callable[[str, tuple[str, ...]], Side],
    folder: Path,
) -> Profile:
    """Profile both sides; what they wrote goes to `profile/` in the run's folder."""
    if suite.adapter is Adapter.COMMAND:
        why = "no profile: a command runs in processes of its own"
        return Profile(id=result.bench.id, problems=(why,))
    files: list[str] = []
    problems: list[str] = []
    stacks: dict[str, str] = {}
    (folder / "profile").mkdir(exist_ok=True)
    for side in ("base", "head"):
        lane = lanes[side]
        for kind, suffix in _KINDS.items():
            name = f"profile-{side}.{suffix}"
            under = _sampler(lane, kind, name)
            why = _run(lambda under=under, side=side: open_side(side, under), suite, result)  # type: ignore[misc]
            data = _fetch(lane, name, why, problems, side)
            if data is None:
                break
            (folder / "profile" / f"{side}.{suffix}").write_bytes(data)
            files.append(f"profile/{side}.{suffix}")
            if kind == "raw":
                stacks[side] = data.decode("utf-8", "replace")
        if suite.adapter is Adapter.TORCH:
            name = f"profile-{side}.trace.json"
            path = f"{lane.output}/{name}"
            why = _run(lambda side=side: open_side(side, ()), suite, result, trace=path)  # type: ignore[misc]
            data = _fetch(lane, name, why, problems, side)
            if data is not None:
                (folder / "profile" / f"{side}.trace.json").write_bytes(data)
                files.append(f"profile/{side}.trace.json")
    both = len(stacks) == len(("base", "head"))
    return Profile(
        id=result.bench.id,
        moved=moved(shares(stacks["base"]), shares(stacks["head"])) if both else (),
        files=tuple(files),
        problems=tuple(dict.fromkeys(problems)),
    )


def _sampler(lane: Lane, kind: str, name: str) -> tuple[str, ...]:
    program = f"{lane.environment}/{BESIDE}/bin/py-spy"
    return (
        *(program, "record", "--rate", "500", "--format", kind),
        *("--output", f"{lane.output}/{name}", "--"),
    )


def _run(open_side: Callable[[], Side], suite: Suite, result: Result, *, trace: str = "") -> str:
    try:
        return keep_busy(open_side(), suite, result, env={}, now=time.monotonic, trace=trace)
    except EngineError as error:
        return str(error)


def _fetch(lane: Lane, name: str, why: str, problems: list[str], side: str) -> bytes | None:
    """Read what was written in a box; None, with the problem, where there is nothing."""
    path = Path(lane.host_output) / name
    data, fault = read_bounded(path, _MOST)
    if fault or not data:
        problems.append(f"no profile of the {side}: {why or fault or 'it is empty'}")
        return None
    return data
