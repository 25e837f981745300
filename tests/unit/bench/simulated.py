"""Workers that follow the protocol of `presubmit bench` in simulated time, with noise from a seed."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

from presubmit.bench.measure import measure
from presubmit.bench.stage import Pinning
from presubmit.bench.values import Adapter, Bench, Kind, Measured, Settings, Suite
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.bench.progress import Event
    from presubmit.bench.talk import Talk

IMPORT_SECONDS = 0.5
SUITE = Suite(
    adapter=Adapter.ASV, root="benchmarks", files=("benchmarks/a.py",), origin="asv.conf.json"
)


class Program(Value, frozen=True, kw_only=True):
    """What one benchmark does."""

    seconds: float = 0.001
    change: float = 0.0
    """How much slower head is."""
    again: float | None = None
    """The same once the boxes were renewed; None: as before."""
    sd: float = 0.003
    """Of a pair's log ratio."""
    sleeps: bool = False
    threads: int = 1
    value: tuple[object, object] | None = None
    fails: Mapping[str, str] = {}
    """By side: the command (`at`, `warm`, `turn`, …) at which it fails."""
    skips: bool = False
    """Where it would fail, it says that it is to be left out."""
    dies: Mapping[str, str] = {}
    hangs: Mapping[str, str] = {}
    absent: tuple[str, ...] = ()
    fixed: int | None = None
    from_process: int = 0
    """The side's process from which on `fails` and `dies` hold."""


class World:
    """Time, the order in which everything happens, and who is asked for what."""

    def __init__(self, programs: Mapping[str, Program], *, seed: int = 1) -> None:
        self.time = 0.0
        self.programs = dict(programs)
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.log: list[tuple[str, str, str]] = []
        """(side, what, benchmark)."""
        self.jobs: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.events: list[Event] = []
        self.refuses: Callable[[Event], bool] = lambda _: False
        self.renewed = 0
        self.stop_at = math.inf
        self.dead_at_start: Callable[[str, int], bool] = lambda _side, _number: False
        self.dead_between: Callable[[str, int], bool] = lambda _side, _number: False
        self.own_order: tuple[str, ...] = ()
        self.open = 0

    @property
    def sides(self) -> tuple[FakeSide, FakeSide]:
        return FakeSide("base", self), FakeSide("head", self)

    def count(self, side: str) -> int:
        return sum(1 for name, _, _ in self.jobs if name == side)

    def happened(self, what: str) -> list[tuple[str, str]]:
        return [(side, bench) for side, word, bench in self.log if word == what]

    def hear(self, event: Event) -> None:
        self.events.append(event)
        if self.refuses(event):
            raise RefusedError


class RefusedError(Exception):
    """What a listener may raise."""


class FakeSide:
    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self._world = world

    def start(self, job: Mapping[str, object], *, env: Mapping[str, str]) -> Talk:
        number = self._world.count(self.name)
        self._world.jobs.append((self.name, dict(job), dict(env)))
        self._world.log.append((self.name, "start", ""))
        return FakeTalk(self.name, self._world, dict(job), number)


class FakeTalk:
    def __init__(self, side: str, world: World, job: dict[str, Any], number: int) -> None:
        self._side = side
        self._world = world
        self._number = number
        self.errors = ""
        self._ended = self._hangs = self._closed = False
        self._queue: list[dict[str, Any]] = []
        order = [one for one in world.own_order if one in job["ids"]] or job["ids"]
        self._ids = [one for one in order if side not in world.programs[one].absent]
        self._at = ""
        self._factor = 1.0
        world.open += 1
        if world.dead_at_start(side, number):
            self._die("ImportError: no module")
            return
        world.time += IMPORT_SECONDS
        self._queue.append({"say": "hello", "pid": 1, "python": "3.11", "pinned": side == "base"})
        self._go_on()

    def send(self, message: Mapping[str, Any]) -> None:
        if self._ended or self._hangs:
            return
        what = str(message["do"])
        assert self._at, "told to do something where it is at no benchmark"
        if what == "next":
            if self._world.dead_between(self._side, self._number):
                self._die("Fatal Python error: Segmentation fault")
                return
            self._go_on()
            return
        self._world.log.append((self._side, what, self._at))
        if not self._has_trouble(what):
            self._queue.append(
                {"say": {"calibrate": "loops"}.get(what, what), **self._do(what, message)}
            )

    def receive(self, seconds: float) -> dict[str, Any] | None:
        if self._queue:
            return self._queue.pop(0)
        if self._ended:
            return None
        self._world.time += seconds
        raise TimeoutError

    def close(self) -> None:
        self._world.open -= not self._closed
        self._closed = True
        self._world.log.append((self._side, "close", self._at))
        self._ended = True

    def _go_on(self) -> None:
        self._at = self._ids.pop(0) if self._ids else ""
        if not self._at:
            proof = {"module": "pkg", "file": "pkg/a.py", "blob": self._side}
            self._queue.append({"say": "end", "proof": [proof, {"junk": 1}]})
            self._ended = True
            return
        self._world.log.append((self._side, "at", self._at))
        program = self._program
        self._factor = math.exp(self._world.random.gauss(0.0, program.sd / math.sqrt(2)))
        self._world.time += 0.001
        if not self._has_trouble("at"):
            self._queue.append({"say": "at", "id": self._at})

    @property
    def _program(self) -> Program:
        return self._world.programs[self._at]

    def _has_trouble(self, what: str) -> bool:
        program = self._program
        if self._number < program.from_process:
            return False
        if program.fails.get(self._side) == what:
            said = {"say": "failed", "error": f"ValueError in {what}"}
            if program.skips:
                said = {"say": "skipped", "why": f"NotImplementedError in {what}"}
            self._queue.append({"id": self._at, **said})
            self._go_on()
            return True
        if program.dies.get(self._side) == what:
            self._die("Fatal Python error: Aborted")
            return True
        self._hangs = program.hangs.get(self._side) == what
        return self._hangs

    def _die(self, said: str) -> None:
        self.errors = f"line\n{said}"
        self._ended = True

    def _do(self, what: str, message: Mapping[str, Any]) -> dict[str, Any]:
        program = self._program
        change = program.change
        if self._world.renewed and program.again is not None:
            change = program.again
        call = program.seconds * self._factor * (1 + change if self._side == "head" else 1.0)
        match what:
            case "warm":
                self._world.time += call * message["calls"]
                return {"seconds": call}
            case "calibrate":
                self._world.time += message["seconds"]
                loops = max(1, round(message["seconds"] / (call or 1.0)))
                return {"loops": program.fixed or loops, "fixed": program.fixed is not None}
            case "turn":
                self._world.time += call * message["loops"]
                waits = call * self._world.random.random()  # as much again in the run queue
                if program.sleeps:
                    return {"wall": call + waits, "cpu": 1e-5, "wait": waits}
                return {"wall": call + waits, "cpu": call * program.threads, "wait": waits}
            case "value":
                assert program.value is not None
                return {"value": program.value[0 if self._side == "base" else 1]}
            case _:
                raise AssertionError(what)


def bench(name: str, program: Program, *, suite: Suite = SUITE) -> Bench:
    kind = Kind.TIME if program.value is None else Kind.VALUE
    return Bench(id=name, adapter=suite.adapter, root=suite.root, file=suite.files[0], kind=kind)


def run(
    world: World,
    *,
    suites: Sequence[Suite] = (SUITE,),
    benches: Sequence[Bench] | None = None,
    settings: Settings | None = None,
    core: int | None = 1,
) -> Measured:
    """Measure everything in `world`."""

    def renew() -> tuple[FakeSide, FakeSide]:
        world.renewed += 1
        world.time += 1000.0
        return world.sides

    found = measure(
        world.sides,
        [bench(name, program) for name, program in world.programs.items()]
        if benches is None
        else benches,
        suites,
        settings or Settings(),
        tell=world.hear,
        pinning=Pinning(core=core, watch=("pkg",), scratch="/scratch"),
        renew=renew,
        now=lambda: world.time,
        stop=lambda: world.time >= world.stop_at,
    )
    assert world.open == 0, "a worker was left open"
    return found
