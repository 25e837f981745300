"""Asks a worker which benchmarks a suite has, and which functions each of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from presubmit.bench.values import Bench, Broken, Kind
from presubmit.values import Value, builtins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from presubmit.bench.talk import Side, Talk
    from presubmit.values import Suite

_LIST_SECONDS: Final = 600.0
"""For importing a whole suite."""
_SLICE: Final = 1.0


class Listed(Value, frozen=True, kw_only=True):
    """What suites have."""

    benches: tuple[Bench, ...] = ()
    broken: tuple[Broken, ...] = ()
    skipped: dict[str, str] = {}
    """Benchmarks that say of themselves that they do not run here, and why."""
    python: str = ""

    def with_more(self, other: Listed) -> Listed:
        """Give both together; of two benchmarks with one name the second cannot be told apart, and is broken."""
        known = {it.id: it for it in self.benches}
        twice = tuple(
            Broken(
                id=it.id,
                side="both",
                error=f"{known[it.id].file} and {it.file} both have a benchmark of this name: rename one",
            )
            for it in other.benches
            if it.id in known
        )
        return Listed(
            benches=(*self.benches, *(it for it in other.benches if it.id not in known)),
            broken=(*self.broken, *other.broken, *twice),
            skipped={**self.skipped, **other.skipped},
            python=other.python or self.python,
        )


class Ran(Value, frozen=True, kw_only=True):
    """What one benchmark ran, its set-up included."""

    functions: dict[str, tuple[str, ...]]
    """Qualified names by path in the tree."""


def list_suite(side: Side, suite: Suite) -> Listed:
    """Name the benchmarks of a suite; raises EngineError where no worker can be started."""
    job = {"mode": "list", "suite": builtins_of(suite), "ids": [], "watch": []}
    talk = side.start(job, env={"PYTHONHASHSEED": "0"})
    benches: list[Bench] = []
    broken: list[Broken] = []
    skipped: dict[str, str] = {}
    python = ""
    try:
        ended = False
        for heard in _heard(talk, _LIST_SECONDS):
            match heard:
                case {"say": "hello"}:
                    python = str(heard.get("python", ""))
                case {"say": "bench", "id": str(name)}:
                    benches.append(_bench(suite, name, heard))
                case {"say": "broken", "id": str(name)}:
                    broken.append(Broken(id=name, side="head", error=str(heard.get("error"))))
                case {"say": "skipped", "id": str(name)}:
                    skipped[name] = str(heard.get("why") or "it skips itself")
                case {"say": "end"}:
                    ended = True
                case _:
                    pass
        if not ended:
            error = talk.errors or f"it did not end within {_LIST_SECONDS:.0f} s"
            broken.append(Broken(id=suite.origin, side="head", error=error))
    finally:
        talk.close()
    return Listed(benches=tuple(benches), broken=tuple(broken), skipped=skipped, python=python)


def _bench(suite: Suite, name: str, heard: dict[str, Any]) -> Bench:
    kind = Kind.VALUE if heard.get("kind") == "value" else Kind.TIME
    return Bench(
        id=name,
        adapter=suite.adapter,
        root=suite.root,
        file=str(heard.get("file") or (suite.files[0] if suite.files else "")),
        kind=kind,
        unit=str(heard.get("unit") or "seconds"),
    )


def trace_suite(
    side: Side,
    suite: Suite,
    benches: Sequence[Bench],
    watch: Sequence[str],
    *,
    check: Callable[[], None] = lambda: None,
) -> dict[str, Ran]:
    """Run each benchmark once, in one process, and note the functions; what failed or was not reached is absent."""
    job = {
        "mode": "trace",
        "suite": builtins_of(suite),
        "ids": [it.id for it in benches],
        "watch": list(watch),
        "timeout": suite.timeout,
    }
    talk = side.start(job, env={"PYTHONHASHSEED": "0"})
    found: dict[str, Ran] = {}
    try:
        for heard in _heard(talk, suite.timeout + _LIST_SECONDS):
            check()
            match heard:
                case {"say": "ran", "elsewhere": True}:
                    pass  # what ran in its other processes was not seen
                case {"say": "ran", "id": str(name), "functions": dict(functions)}:
                    found[name] = Ran(
                        functions={
                            str(path): tuple(map(str, names))
                            for path, names in functions.items()
                            if isinstance(names, list)
                        }
                    )
                case _:
                    pass
    finally:
        talk.close()
    return found


def _heard(talk: Talk, seconds: float) -> Iterator[dict[str, Any]]:
    """Give what it says until its end, or until it has been silent for so long."""
    silent = 0.0
    while silent < seconds:
        try:
            heard = talk.receive(_SLICE)
        except TimeoutError:
            silent += _SLICE
            continue
        if heard is None:
            return
        silent = 0.0
        yield heard
        if heard.get("say") == "end":
            return
