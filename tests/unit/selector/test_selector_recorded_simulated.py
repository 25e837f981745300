"""Small made-up programs of which the truth is known: no test that a change affects may be left out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.selector.graph import Graph
from presubmit.selector.recorded import Past, with_recordings
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_spread import Changed
from presubmit.selector.recording import Ran
from presubmit.values import ChosenTest, Mode, Reason, Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Name = tuple[str, str]
"""A file and a function of it."""


@dataclass(frozen=True)
class Function:
    """A function: what it calls, which modules it imports first, and whether a C cache stands before it."""

    calls: tuple[Name, ...] = ()
    imports: tuple[str, ...] = ()
    cached: bool = False
    memo: bool = False
    """It keeps its first result in a global, and returns that from then on."""
    writes: bool = False
    """It adds its arguments and what its calls give to its file's registry."""
    reads: bool = False
    """It returns what its file's registry holds."""
    version: int = 0


@dataclass(frozen=True)
class Program:
    """Modules with what they import and call when they are imported; tests with the fixtures that they get."""

    imports: dict[str, tuple[str, ...]]
    at_import: dict[str, tuple[Name, ...]]
    functions: dict[Name, Function]
    tests: dict[str, dict[str, tuple[str, ...]]]
    """For each test file, its tests and the wide fixtures that they get."""
    fixtures: dict[str, Name]

    def changed(self, name: Name, function: Function) -> Program:
        return replace(self, functions={**self.functions, name: function})


@dataclass
class Process:
    """One test process, as the interpreter, pytest and the recorder see it."""

    program: Program
    imported: set[str] = field(default_factory=set)
    globals: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """What each module got at its import; its functions use that."""
    caches: dict[Name, int] = field(default_factory=dict)
    registries: dict[str, tuple[int, ...]] = field(default_factory=dict)
    fixtures: dict[str, int] = field(default_factory=dict)
    stack: list[str] = field(default_factory=lambda: ["session:"])
    ran: dict[str, dict[str, Any]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)

    def seen(self) -> dict[str, Any]:
        return self.ran.setdefault(
            self.stack[-1], {"functions": {}, "modules": [], "uses": [], "context": self.stack[-1]}
        )

    def load(self, path: str) -> None:
        if path in self.imported:
            return
        self.imported.add(path)
        self.seen()["modules"].append(path)
        for other in self.program.imports[path]:
            self.load(other)
        for name in self.program.at_import[path]:
            got = self.globals.get(path, ())
            self.globals[path] = (*got, self.call(name, got))

    def call(self, name: Name, arguments: tuple[int, ...] = ()) -> int:
        function = self.program.functions[name]
        self.load(name[0])
        if function.cached and name in self.caches:
            return self.caches[name]
        self.seen()["functions"].setdefault(name[0], {})[name[1]] = True
        if function.memo and name in self.caches:
            return hash((self.caches[name], function.version))
        for path in function.imports:
            self.load(path)
        given = tuple(self.call(other) for other in function.calls)
        if function.writes:
            kept = (*self.registries.get(name[0], ()), *arguments, *given)
            self.registries[name[0]] = kept
            return function.version
        result = hash((name, given, function.version, self.globals.get(name[0])))
        if function.reads:
            result = hash((result, self.registries.get(name[0])))
        if function.cached or function.memo:
            self.caches[name] = result
        return hash((result, function.version)) if function.memo else result

    def inside(self, context: str) -> Process:
        self.stack.append(context)
        self.seen()
        return self

    def get(self, fixture: str) -> int:
        path, name = self.program.fixtures[fixture]
        context = f"fixture:{path}::{name}"
        self.seen()["uses"].append(context)
        if fixture not in self.fixtures:
            self.inside(context)
            self.fixtures[fixture] = self.call((path, name))
            self.stack.pop()
        return self.fixtures[fixture]

    def run(self, chosen: Collection[str] | None = None) -> Process:
        """Collect all files first, then run the tests, as pytest does."""
        for path, tests in self.program.tests.items():
            if chosen is None or any(f"{path}::{name}" in chosen for name in tests):
                self.inside(f"collect:{path}").load(path)
                self.stack.pop()
        for path, tests in self.program.tests.items():
            for name, fixtures in tests.items():
                test = f"{path}::{name}"
                if chosen is None or test in chosen:
                    before = self.state()
                    self.inside(f"test:{test}")
                    given = tuple(self.get(fixture) for fixture in fixtures)
                    self.outcomes[test] = hash((given, self.call((path, name))))
                    left = {key for key, kept in self.state().items() if before.get(key) != kept}
                    self.seen()["left"] = tuple(sorted(left))
                    self.stack.pop()
        return self

    def state(self) -> dict[str, object]:
        """Give what outlives a test, by the names that the recorder has for it."""
        functions = self.program.functions
        caches = {
            f"{path}::{'_' * functions[path, name].memo}{name}": kept
            for (path, name), kept in self.caches.items()
        }
        return caches | {f"{path}::registry": kept for path, kept in self.registries.items()}

    def contexts(self) -> list[Ran]:
        return [
            Ran(
                context=it["context"],
                functions={path: tuple(names) for path, names in it["functions"].items()},
                modules=tuple(it["modules"]),
                uses=tuple(it["uses"]),
                left=it.get("left"),
            )
            for it in self.ran.values()
        ]


class Reach:
    """What a name graph says."""

    def __init__(self, at_import: Mapping[str, tuple[str, ...]]) -> None:
        self.at_import = at_import
        self.unsure: tuple[str, ...] = ()


class Names:
    """A name graph that knows every call that a program may make."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def users(self, path: str, qualname: str) -> frozenset[Name]:
        functions = self.program.functions
        if qualname == "registry":
            return frozenset(n for n, f in functions.items() if n[0] == path and f.reads)
        if "=" in qualname:
            origin = tuple(qualname.split("="))
            return frozenset(n for n, f in functions.items() if n[0] == path and origin in f.calls)
        users = {n for n, f in functions.items() if (path, qualname) in f.calls}
        # Other files know it by a name that their import binds.
        return frozenset(n if n[0] == path else (n[0], f"{path}={qualname}") for n in users)

    def is_function(self, path: str, qualname: str) -> bool:
        return (path, qualname) in self.program.functions

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reach:
        found = {(path, name) for path, names in changed.items() for name in names}
        while more := {user for name in found for user in self.users(*name)} - found:
            found |= more
        return Reach(
            {path: (path,) for path, names in self.program.at_import.items() if found & {*names}}
        )

    def keeps_state(self, path: str, qualname: str) -> str:
        function = self.program.functions[path, qualname]
        if function.writes:
            return "writes the global registry"
        if function.memo:
            return f"writes the global _{qualname}"
        return "decorated with lru_cache" if function.cached else ""

    def makers(self, path: str, qualname: str) -> frozenset[Name]:
        raise AssertionError((path, qualname))  # there are no classes

    def lives_on(self, path: str, qualname: str) -> bool:
        raise AssertionError((path, qualname))


def make_program(chance: random.Random) -> Program:
    """Make a program; every function calls only those made before it, so that it ends."""
    modules = [f"pkg/m{number}.py" for number in range(chance.randint(2, 5))]
    imports = {
        path: tuple(chance.sample(modules[:number], chance.randint(0, min(2, number))))
        for number, path in enumerate(modules)
    }
    functions: dict[Name, Function] = {}
    plain: list[Name] = []
    writers: list[Name] = []
    for number in range(chance.randint(5, 14)):
        path = chance.choice(modules)
        name = (path, f"f{number}")
        calls = tuple(chance.sample(plain, chance.randint(0, min(3, len(plain)))))
        kind = chance.choice(["plain"] * 4 + ["cached", "cached", "memo", "reads", "writes"])
        functions[name] = Function(
            calls=calls,
            imports=tuple(chance.sample(modules, chance.choice([0, 0, 0, 1]))),
            **({kind: True} if kind != "plain" else {}),
        )
        # What writes is called at import only: tests that leave traces for each other are another matter.
        (writers if kind == "writes" else plain).append(name)
    at_import = {
        path: tuple(
            chance.sample(plain + writers, min(chance.choice([0, 0, 1, 2]), len(plain + writers)))
        )
        for path in modules
    }
    fixtures: dict[str, Name] = {}
    for number in range(chance.randint(0, 3)):
        name = ("tests/conftest.py", f"fixture{number}")
        functions[name] = Function(calls=tuple(chance.sample(plain, chance.randint(0, 2))))
        fixtures[name[1]] = name
    imports["tests/conftest.py"] = ()
    at_import["tests/conftest.py"] = ()
    tests: dict[str, dict[str, tuple[str, ...]]] = {}
    for number in range(chance.randint(2, 4)):
        path = f"tests/test_{number}.py"
        imports[path] = tuple(chance.sample(modules, chance.randint(0, 2)))
        at_import[path] = tuple(chance.sample(plain, chance.choice([0, 0, 0, 1])))
        tests[path] = {}
        for case in range(chance.randint(1, 4)):
            calls = tuple(chance.sample(plain, chance.randint(0, min(3, len(plain)))))
            functions[path, f"test_{case}"] = Function(
                calls=calls, imports=tuple(chance.sample(modules, chance.choice([0, 0, 1])))
            )
            wanted = chance.sample(sorted(fixtures), chance.randint(0, len(fixtures)))
            tests[path][f"test_{case}"] = tuple(wanted)
    return Program(
        imports=imports, at_import=at_import, functions=functions, tests=tests, fixtures=fixtures
    )


def mutant(program: Program, name: Name, chance: random.Random) -> Program:
    """Change a function's body: what it gives and perhaps what it calls."""
    before = program.functions[name]
    order = list(program.functions)
    earlier = [
        it
        for it in order[: order.index(name)]
        if not program.functions[it].writes and it[0].startswith("pkg/")
    ]
    calls = before.calls
    if chance.random() < 0.3:
        calls = tuple(chance.sample(earlier, chance.randint(0, min(3, len(earlier)))))
    return program.changed(
        name, replace(before, version=before.version + chance.randint(1, 9), calls=calls)
    )


def graph_of(program: Program) -> Graph:
    """Give the file closure: every import and every file of which something is called."""
    dependents: dict[str, set[str]] = {}
    for path, names in program.imports.items():
        for other in (*names, *(name[0] for name in program.at_import[path])):
            dependents.setdefault(other, set()).add(path)
    for (path, _), function in program.functions.items():
        for other in (*function.imports, *(name[0] for name in function.calls)):
            dependents.setdefault(other, set()).add(path)
    for path in program.tests:
        dependents.setdefault("tests/conftest.py", set()).add(path)
    return Graph(
        {path: tuple(sorted(it - {path})) for path, it in dependents.items()},
        frozenset(program.tests),
    )


def closure(graph: Graph, changed: Collection[Name]) -> Selection:
    reached = graph.reach({path for path, _ in changed})
    tests = sorted(path for path in reached if path in graph.tests)
    return Selection(
        mode=Mode.SCOPED if tests else Mode.NONE,
        tests=tuple(
            ChosenTest(path=path, reasons=(Reason(rule="imports", text="t"),)) for path in tests
        ),
        known=len(graph.tests),
    )


def bodies(names: Collection[Name]) -> dict[str, frozenset[str]]:
    return {path: frozenset(n for p, n in names if p == path) for path, _ in names}


def past(recorded: Process, since: Collection[Name], number: int = 1) -> Past:
    rows = pack(recorded.contexts())
    program = recorded.program
    ran = {it.context for it in recorded.contexts()}
    return Past(
        index=Index(lambda keys: {key: rows[key] for key in keys if key in rows}),
        number=number,
        whole=frozenset(
            path
            for path, tests in program.tests.items()
            if all(f"test:{path}::{name}" in ran for name in tests)
        ),
        since=Changed(bodies=bodies(since), paths=frozenset(path for path, _ in since)),
        stale=frozenset(),
        folders=frozenset(),
        about="recorded just now",
    )


def chosen(selection: Selection, program: Program) -> set[str]:
    found = set()
    for test in selection.tests:
        found |= {*test.ids} or {f"{test.path}::{name}" for name in program.tests[test.path]}
    return found


def affected(base: Program, head: Program) -> set[str]:
    """Give the tests that come out differently, in company or alone."""
    one, other = Process(base).run().outcomes, Process(head).run().outcomes
    found = {test for test in one if one[test] != other[test]}
    for test in one:
        alone = (Process(side).run({test}).outcomes for side in (base, head))
        if len({*[it[test] for it in alone]}) > 1:
            found.add(test)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_no_affected_test_is_left_out(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - programs, no secrets
    base = make_program(chance)
    name = chance.choice(list(base.functions))
    head = mutant(base, name, chance)
    graph = graph_of(replace(head, functions={**base.functions, **head.functions}))
    merged = Graph(
        {
            path: tuple(
                sorted({*graph.dependents.get(path, ()), *graph_of(base).dependents.get(path, ())})
            )
            for path in {*graph.dependents, *graph_of(base).dependents}
        },
        graph.tests,
    )
    selection = closure(merged, [name])
    found = with_recordings(
        selection,
        Selection(mode=Mode.NONE, tests=(), known=len(graph.tests)),
        Changed(bodies=bodies([name]), paths=frozenset([name[0]])),
        [past(Process(base).run(), [name])],
        names=Names(head),
        graph=merged,
    )
    assert affected(base, head) - chosen(found, head) == set()


@pytest.mark.parametrize("seed", range(300, 500))
def test_a_run_of_another_tree_leaves_out_no_affected_test(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - programs, no secrets
    base = make_program(chance)
    name, *others = chance.sample(list(base.functions), 3)
    head = mutant(base, name, chance)
    recorded = base
    for other in others:
        recorded = mutant(recorded, other, chance)
    some = {f"{path}::{test}" for path, tests in base.tests.items() for test in tests}
    partly = Process(recorded).run({*chance.sample(sorted(some), max(1, len(some) // 2))})
    whole = mutant(base, others[0], chance)
    graphs = [graph_of(it) for it in (base, head, recorded, whole)]
    merged = Graph(
        {
            path: tuple(sorted({it for graph in graphs for it in graph.dependents.get(path, ())}))
            for path in {path for graph in graphs for path in graph.dependents}
        },
        graphs[0].tests,
    )
    found = with_recordings(
        closure(merged, [name]),
        Selection(mode=Mode.NONE, tests=(), known=len(merged.tests)),
        Changed(bodies=bodies([name]), paths=frozenset([name[0]])),
        [
            past(partly, [name, *others], number=2),
            past(Process(whole).run(), [name, others[0]], number=1),
        ],
        names=Names(head),
        graph=merged,
    )
    assert affected(base, head) - chosen(found, head) == set()


def test_the_simulated_choice_is_narrower_than_the_closure() -> None:
    kept = wide = 0
    for seed in range(100):
        chance = random.Random(seed)  # noqa: S311 - programs, no secrets
        base = make_program(chance)
        name = chance.choice(list(base.functions))
        graph = graph_of(base)
        selection = closure(graph, [name])
        found = with_recordings(
            selection,
            Selection(mode=Mode.NONE, tests=(), known=len(graph.tests)),
            Changed(bodies=bodies([name]), paths=frozenset([name[0]])),
            [past(Process(base).run(), [name])],
            names=Names(base),
            graph=graph,
        )
        kept += len(chosen(found, base))
        wide += len(chosen(selection, base))
    assert kept < wide * 0.7
