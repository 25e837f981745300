"""Which tests really fail for each mutant: the whole suite, once a mutant, kept from run to run."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.selection import mutants
from benchmarks.selection.mutants import Mutant
from benchmarks.selection.projects import SetupError, Side, build, built, git
from benchmarks.selection.suite import SuiteRun, run_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.store import Store

SEED: Final = 20261130
CONFIRMED: Final = 60
"""Up to so many failing tests are run once more by themselves, to tell flaky ones."""
WEIGHTS: Final = {
    "operator": 5,
    "constant": 5,
    "native": 10,
    "data": 3,
    "return": 4,
    "default": 3,
    "raise": 4,
    "decorator": 2,
}
"""How the kinds share a project's mutants, where it has them; the first few are unlike each other."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is known of a project: its stable tests, and for each kept mutant the tests that fail."""

    stable: tuple[str, ...]
    seconds: dict[str, float]
    plain: float
    """Seconds of the whole suite on the clean tree, the faster of two runs."""
    killed: tuple[tuple[Mutant, frozenset[str]], ...]
    quiet: tuple[Mutant, ...]
    tally: dict[str, int]


class Clock:
    """Times of edits: each later than the one before, since bytecode and tools go by a file's time and size."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        """Give the time of an edit in whole seconds, as bytecode has it."""
        self.last = max(self.last + 2, int(time.time()))
        return self.last


CLOCK = Clock()


@contextmanager
def mutated(side: Side, mutant: Mutant) -> Iterator[None]:
    """Hold a mutant in a side's checkout; afterwards the file is as it was, its time too."""
    path = side.tree / mutant.path
    before, status = path.read_bytes(), path.stat()
    path.write_bytes(mutant.apply(before))
    moment = CLOCK.next()
    os.utime(path, (moment, moment))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def clean_runs(side: Side) -> dict[str, Any]:
    """Run the suite twice; give the tests that passed both times, and their seconds."""
    runs = [run_tests(side), run_tests(side)]
    for run in runs:
        if not Path(run.module).is_relative_to(side.tree):
            where = run.module or "nowhere"
            raise SetupError(f"{side.project.name} is imported from {where}\n{run.text[-1500:]}")
    passed = [{t for t, o in run.outcomes.items() if o == "passed"} for run in runs]
    stable = [t for t in runs[0].outcomes if t in passed[0] & passed[1]]
    if not stable:
        raise SetupError(f"{side.project.name}: no test passes\n{runs[0].text[-1500:]}")
    return {
        "type": "clean",
        "stable": stable,
        "seconds": {t: min(run.seconds[t] for run in runs) for t in stable},
        "wall": min(run.wall for run in runs),
        "unstable": sorted(set(runs[0].outcomes) - set(stable)),
        "module": runs[0].module,
    }


def judge(side: Side, mutant: Mutant, stable: tuple[str, ...], plain: float) -> dict[str, Any]:
    """Run the suite on a mutant; give its row."""
    native = mutant.kind == "native"
    with mutated(side, mutant):
        if native and not build(side):
            return _row(mutant, "does not build", None)
        run = run_tests(side, timeout=max(60.0, 6 * plain))
        if run.timed_out or run.crashed:
            return _row(mutant, "timed out" if run.timed_out else "crashed", run)
        failing = run.failing(stable)
        unconfirmed: tuple[str, ...] = ()
        if 0 < len(failing) <= CONFIRMED:
            again = run_tests(side, only=failing, timeout=max(60.0, 6 * plain))
            unconfirmed = tuple(t for t in failing if again.outcomes.get(t) == "passed")
        failing = tuple(t for t in failing if t not in set(unconfirmed))
    row = _row(mutant, "killed" if failing else "survived", run)
    return row | {
        "failing": failing,
        "gone": run.gone(stable),
        "unconfirmed": unconfirmed,
    }


def _row(mutant: Mutant, outcome: str, run: SuiteRun | None) -> dict[str, Any]:
    wall = run.wall if run else 0.0
    return {"type": "mutant", "id": mutant.id, "mutant": mutant.plain(), "outcome": outcome} | {
        "wall": wall
    }


def find_truth(side: Side, store: Store, wanted: int, say: Callable[[str], None]) -> None:
    """Try mutants, each kind in turn, until `wanted` are killed; what is in the store is not run again."""
    git(side.tree, "checkout", "-q", "--", ".")  # a trial that was killed left its mutant
    clean = store.first("clean")
    if clean is None:
        _save_built(side)
        clean = clean_runs(side)
        store.add(clean)
        say(f"{len(clean['stable'])} stable tests, {clean['wall']:.1f} s")
    stable, plain = tuple(clean["stable"]), clean["wall"]
    known = {row["id"]: row for row in store.rows("mutant")}
    _restore_built(side)

    def look(mutant: Mutant) -> dict[str, Any]:
        if mutant.id not in known:
            row = judge(side, mutant, stable, plain)
            if mutant.kind == "native":
                _restore_built(side)
            known[mutant.id] = row
            store.add(row)
            shown = f"{row['outcome']} {len(row.get('failing', ()))}"
            say(f"{mutant.id} ({mutant.note}): {shown}")
        return known[mutant.id]

    queues = mutants.pick(_sources(side), SEED)
    loud = {kind: queues[kind] for kind in WEIGHTS}
    if sum(row["outcome"] == "killed" for row in known.values()) < wanted:
        take(loud, wanted, lambda m: look(m)["outcome"] == "killed")
    for kind in mutants.QUIET:
        for mutant in queues[kind][:3]:
            if look(mutant)["outcome"] == "survived":
                break


def take(
    queues: Mapping[str, list[Mutant]], wanted: int, killed: Callable[[Mutant], bool]
) -> list[Mutant]:
    """Take mutants from the kinds by weight until `wanted` are killed or none is left.

    The order depends on the mutants and on what becomes of them alone, so a trial that resumes takes the same ones.
    """
    left = {kind: iter(queue) for kind, queue in queues.items() if queue}
    found: list[Mutant] = []
    counts = dict.fromkeys(left, 0)
    tries = dict.fromkeys(left, 0)
    while left and len(found) < wanted:
        kind = min(left, key=lambda k: (counts[k] / WEIGHTS[k], tries[k] / WEIGHTS[k]))
        mutant = next(left[kind], None)
        tries[kind] += 1
        # A kind that the tests hardly see must not take the whole time.
        if mutant is None or tries[kind] > 8 + 4 * counts[kind]:
            del left[kind]
        elif killed(mutant):
            found.append(mutant)
            counts[kind] += 1
    return found


def read_truth(store: Store, wanted: int) -> Truth | None:
    """Give what the store knows: the first `wanted` killed mutants, in the order of the trial."""
    clean = store.first("clean")
    if clean is None:
        return None
    rows = list(store.rows("mutant"))
    killed = [r for r in rows if r["outcome"] == "killed" and r["mutant"]["kind"] in mutants.KINDS]
    quiet = [
        r for r in rows if r["outcome"] == "survived" and r["mutant"]["kind"] in mutants.QUIET
    ]
    tally: dict[str, int] = {}
    for row in rows:
        if row["mutant"]["kind"] in mutants.KINDS:
            tally[row["outcome"]] = tally.get(row["outcome"], 0) + 1
    return Truth(
        stable=tuple(clean["stable"]),
        seconds=clean["seconds"],
        plain=clean["wall"],
        killed=tuple((Mutant(**r["mutant"]), frozenset(r["failing"])) for r in killed[:wanted]),
        quiet=tuple(Mutant(**r["mutant"]) for r in quiet),
        tally=tally,
    )


def _sources(side: Side) -> dict[str, dict[str, bytes]]:
    """Give for each kind the files that it mutates."""
    project = side.project
    special = {"data": project.data, "native": project.native, "readme": (project.readme,)}
    return {
        kind: _read(side, special.get(kind, project.sources))
        for kind in (*mutants.KINDS, *mutants.QUIET)
    }


def _read(side: Side, globs: tuple[str, ...]) -> dict[str, bytes]:
    paths = {p for glob in globs for p in side.tree.glob(glob) if p.is_file()}
    return {p.relative_to(side.tree).as_posix(): p.read_bytes() for p in sorted(paths)}


def _save_built(side: Side) -> None:
    """Keep what was built from the clean tree."""
    for path in built(side) if side.project.build else ():
        copy = side.folder / "built" / path.relative_to(side.tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _restore_built(side: Side) -> None:
    kept = side.folder / "built"
    for copy in kept.rglob("*.so"):
        path = side.tree / copy.relative_to(kept)
        path.unlink(missing_ok=True)
        shutil.copy2(copy, path)
