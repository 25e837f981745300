from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.selector.graph import Graph
from presubmit.selector.recorded import Past, about, folders_of, with_recordings
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_spread import Changed
from presubmit.selector.recording import Ran
from presubmit.values import ChangedFile, ChosenTest, FileStatus, Mode, Reason, Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

A, B, C = "tests/test_a.py", "tests/test_b.py", "tests/test_c.py"
NOTHING = Selection(mode=Mode.NONE, tests=(), known=3)


class Reach:
    def __init__(self, at_import: Mapping[str, tuple[str, ...]], unsure: tuple[str, ...]) -> None:
        self.at_import = at_import
        self.unsure = unsure


class Names:
    """What a test says that names lead to."""

    def __init__(
        self,
        *,
        at_import: Collection[str] = (),
        unsure: tuple[str, ...] = (),
        state: Mapping[tuple[str, str], str] | None = None,
        users: Mapping[tuple[str, str], Collection[tuple[str, str]]] | None = None,
    ) -> None:
        self._reach = Reach({path: (path,) for path in at_import}, unsure)
        self._state = state or {}
        self._users = users or {}

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reach:
        del changed
        return self._reach

    def users(self, path: str, qualname: str) -> frozenset[tuple[str, str]]:
        return frozenset(self._users.get((path, qualname), ()))

    def keeps_state(self, path: str, qualname: str) -> str:
        return self._state.get((path, qualname), "")

    def is_function(self, path: str, qualname: str) -> bool:
        return bool(path) and "=" not in qualname

    def makers(self, path: str, qualname: str) -> frozenset[tuple[str, str]]:
        return frozenset({(path, f"{qualname}.__init__")})

    def lives_on(self, path: str, qualname: str) -> bool:
        return bool(path and qualname)


def case(name: str, *functions: str, **facts: Any) -> Ran:
    ran: dict[str, list[str]] = {}
    for one in functions:
        path, _, qualname = one.partition("::")
        ran.setdefault(path, []).append(qualname)
    return Ran(
        context=f"test:{name}", functions={p: tuple(names) for p, names in ran.items()}, **facts
    )


def past(*contexts: Ran, **facts: Any) -> Past:
    files = {it.context.removeprefix("test:").partition("::")[0] for it in contexts}
    rows = pack(contexts)
    plain: dict[str, Any] = {
        "index": Index(lambda keys: {key: rows[key] for key in keys if key in rows}),
        "number": 1,
        "whole": frozenset(files),
        "since": Changed(),
        "stale": frozenset(),
        "folders": frozenset(),
        "about": "recorded just now",
    }
    return Past(**{**plain, **facts})


def static(*paths: str, mode: Mode = Mode.SCOPED, rule: str = "imports") -> Selection:
    tests = tuple(
        ChosenTest(
            path=path, reasons=(Reason(rule=rule, text="imports it", chain=("a.py", path)),)
        )
        for path in paths
    )
    return Selection(mode=mode, tests=tests, known=3)


def body(*elements: str) -> Changed:
    found: dict[str, set[str]] = {}
    for one in elements:
        path, _, name = one.partition("::")
        found.setdefault(path, set()).add(name)
    return Changed(
        bodies={path: frozenset(names) for path, names in found.items()}, paths=frozenset(found)
    )


def choose(
    selection: Selection,
    changed: Changed,
    *pasts: Past,
    rest: Selection = NOTHING,
    names: Names | None = None,
    dependents: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, tuple[str, ...]]:
    found = with_recordings(
        selection,
        rest,
        changed,
        pasts,
        names=names or Names(),
        graph=Graph(dependents or {}, frozenset([A, B, C])),
    )
    return {it.path: tuple(one.partition("::")[2] for one in it.ids) for it in found.tests}


RUN = (
    case(f"{A}::x", "a.py::f"),
    case(f"{A}::y", "a.py::g"),
    case(f"{B}::z", "a.py::g"),
)


def test_a_changed_body_chooses_the_tests_that_ran_it() -> None:
    assert choose(static(A, B), body("a.py::f"), past(*RUN)) == {A: ("x",)}


def test_a_file_of_which_every_test_stays_is_chosen_whole() -> None:
    assert choose(static(A, B), body("a.py::f", "a.py::g"), past(*RUN)) == {A: (), B: ()}


def test_no_test_that_ran_it_is_no_test() -> None:
    assert choose(static(A, B), body("a.py::h"), past(*RUN)) == {}


def test_what_the_static_choice_of_the_rest_holds_stays_whole() -> None:
    assert choose(static(A, B), body("a.py::f"), past(*RUN), rest=static(B)) == {A: ("x",), B: ()}


def test_a_file_without_a_record_stays_whole() -> None:
    assert choose(static(A, C), body("a.py::f"), past(*RUN)) == {A: ("x",), C: ()}


def test_a_file_that_was_recorded_in_part_stays_whole() -> None:
    run = past(*RUN, whole=frozenset([B]))
    assert choose(static(A, B), body("a.py::f"), run) == {A: ()}


def test_a_file_that_later_changes_reach_stays_whole() -> None:
    run = past(*RUN, stale=frozenset([A]))
    assert choose(static(A, B), body("a.py::f"), run) == {A: ()}


def test_a_test_whose_functions_differ_since_the_run_stays() -> None:
    run = past(*RUN, since=body("a.py::g"))
    assert choose(static(A, B), body("a.py::h"), run) == {A: ("y",), B: ()}


def test_a_difference_since_the_run_adds_no_file() -> None:
    run = past(*RUN, since=body("a.py::g"))
    assert choose(static(A), body("a.py::f"), run) == {A: ()}


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_test_that_did_not_pass_stays(outcome: str) -> None:
    """A test that was skipped ran nothing; where it is run, it may do anything."""
    run = past(case(f"{A}::x", outcome=outcome), case(f"{A}::y"))
    assert choose(static(A), body("a.py::f"), run) == {A: ("x",)}


def test_a_newer_failure_outweighs_an_older_pass() -> None:
    newer = past(case(f"{A}::x", outcome="failed"), number=2, whole=frozenset())
    older = past(case(f"{A}::x"), case(f"{A}::y"), number=1)
    assert choose(static(A), body("a.py::f"), older, newer) == {A: ("x",)}


def test_a_newer_pass_takes_the_place_of_an_older_failure() -> None:
    newer = past(case(f"{A}::x"), number=2, whole=frozenset())
    older = past(case(f"{A}::x", outcome="failed"), case(f"{A}::y"), number=1)
    assert choose(static(A), body("a.py::f"), older, newer) == {}


def test_a_record_that_is_not_all_of_it_proves_nothing() -> None:
    run = past(case(f"{A}::x", open="forked"), case(f"{A}::y"))
    assert choose(static(A), body("a.py::f"), run) == {A: ("x",)}


def test_what_a_program_read_for_the_session_matters_where_data_changed() -> None:
    git = Ran(context="session:", open="programs read what is not recorded (git)")
    run = past(git, case(f"{A}::x", "a.py::f"), case(f"{A}::y"))
    assert choose(static(A), body("a.py::f"), run) == {A: ("x",)}
    assert choose(static(A), Changed(paths=frozenset(["data.txt"])), run) == {A: ()}


def test_a_test_that_got_a_fixture_that_ran_it_is_chosen() -> None:
    run = past(
        Ran(context="fixture:tests/conftest.py::db", functions={"a.py": ("f",)}),
        Ran(context="fixture:tests/conftest.py::app", uses=("fixture:tests/conftest.py::db",)),
        case(f"{A}::x", uses=("fixture:tests/conftest.py::app",)),
        case(f"{A}::y"),
        whole=frozenset([A]),
    )
    assert choose(static(A), body("a.py::f"), run) == {A: ("x",)}


def test_what_ran_while_a_file_was_collected_chooses_all_of_its_tests() -> None:
    run = past(
        Ran(context=f"collect:{A}", functions={"a.py": ("f",)}),
        case(f"{A}::x"),
        case(f"{B}::z"),
        whole=frozenset([A, B]),
    )
    assert choose(static(A, B), body("a.py::f"), run) == {A: ()}


def test_what_ran_in_the_session_chooses_every_test() -> None:
    run = past(Ran(context="session:", functions={"a.py": ("f",)}), *RUN, whole=frozenset([A, B]))
    assert choose(static(A, B), body("a.py::f"), run) == {A: (), B: ()}


def test_a_module_whose_import_ran_it_chooses_all_who_import_the_module() -> None:
    run = past(
        Ran(context=f"collect:{A}", functions={"a.py": ("f",)}, modules=("b.py",)),
        case(f"{A}::x"),
        case(f"{B}::z"),
        case(f"{C}::w"),
        whole=frozenset([A, B, C]),
    )
    found = choose(
        static(A, B, C),
        body("a.py::f"),
        run,
        names=Names(at_import=["b.py"]),
        dependents={"b.py": (A, B)},
    )
    assert found == {A: (), B: ()}


def test_a_module_is_counted_in_where_names_are_not_sure() -> None:
    run = past(
        case(f"{A}::x", "a.py::f", modules=("b.py",)),
        case(f"{B}::z"),
        whole=frozenset([A, B]),
    )
    found = choose(
        static(A, B),
        body("a.py::f"),
        run,
        names=Names(unsure=("exec",)),
        dependents={"b.py": (B,)},
    )
    assert found == {A: (), B: ()}


def test_a_test_that_a_cache_serves_is_chosen() -> None:
    # The cache was filled in x; y never ran f, nor the cached function's body.
    run = past(case(f"{A}::x", "a.py::f", "a.py::cached", f"{A}::x"), case(f"{A}::y", f"{A}::y"))
    names = Names(
        state={("a.py", "cached"): "decorated with lru_cache"},
        users={
            ("a.py", "f"): [("a.py", "cached")],
            ("a.py", "cached"): [(A, "=cached")],
            (A, "=cached"): [(A, "x"), (A, "y")],
        },
    )
    assert choose(static(A), body("a.py::f"), run, names=names) == {A: ()}


def test_a_cache_that_did_not_run_with_it_is_no_reason() -> None:
    run = past(
        case(f"{A}::x", "a.py::f"), case(f"{A}::y", "a.py::cached"), case(f"{A}::z", f"{A}::z")
    )
    names = Names(
        state={("a.py", "cached"): "decorated with lru_cache"},
        users={("a.py", "f"): [("a.py", "cached")], ("a.py", "cached"): [(A, "z")]},
    )
    assert choose(static(A), body("a.py::f"), run, names=names) == {A: ("x",)}


def test_what_was_registered_at_import_chooses_who_looks_it_up() -> None:
    run = past(
        Ran(context=f"collect:{A}", functions={"a.py": ("f",), "registry.py": ("register",)}),
        case(f"{A}::x"),
        case(f"{B}::finds", "registry.py::find"),
        case(f"{B}::other"),
        whole=frozenset([A, B]),
    )
    names = Names(
        state={("registry.py", "register"): "writes the global KNOWN"},
        users={("registry.py", "KNOWN"): [("registry.py", "find")]},
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_an_object_that_outlives_its_module_is_seen_by_who_calls_its_methods() -> None:
    run = past(
        Ran(context=f"collect:{A}", functions={"a.py": ("f",), "r.py": ("Registry.add",)}),
        case(f"{A}::x"),
        case(f"{B}::finds", "r.py::Registry.find"),
        case(f"{B}::other", "r.py::helper"),
        whole=frozenset([A, B]),
    )
    names = Names(
        state={("r.py", "Registry.add"): "writes to a Registry that lives as long as its module"}
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_an_object_that_only_tests_made_is_not_seen_by_others() -> None:
    seen = ("a.py::f", "r.py::Registry.__init__", "r.py::Registry.add")
    run = past(case(f"{A}::x", *seen), case(f"{B}::finds", "r.py::Registry.find"))
    names = Names(
        state={("r.py", "Registry.add"): "writes to a Registry"},
        users={("a.py", "f"): [("r.py", "Registry.add")]},
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: ()}


def test_an_object_that_a_shared_fixture_made_is_seen_by_others() -> None:
    run = past(
        Ran(context="fixture:conftest.py::shared", functions={"r.py": ("Registry.__init__",)}),
        case(f"{A}::x", "a.py::f", "r.py::Registry.add"),
        case(f"{B}::finds", "r.py::Registry.find"),
        case(f"{B}::other", "r.py::helper"),
    )
    names = Names(
        state={("r.py", "Registry.add"): "writes to a Registry"},
        users={("a.py", "f"): [("r.py", "Registry.add")]},
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_an_object_that_a_test_stored_in_a_global_is_seen_by_others() -> None:
    seen = ("a.py::f", "r.py::Registry.__init__", "r.py::Registry.add", "r.py::make")
    run = past(
        case(f"{A}::x", *seen),
        case(f"{B}::finds", "r.py::Registry.find"),
        case(f"{B}::other", "r.py::helper"),
    )
    names = Names(
        state={
            ("r.py", "Registry.add"): "writes to a Registry",
            ("r.py", "make"): "writes the global _one",
        },
        users={
            ("a.py", "f"): [("r.py", "Registry.add")],
            ("r.py", "Registry"): [("r.py", "make")],
        },
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_an_object_that_a_test_stored_in_one_that_lasts_is_seen_by_others() -> None:
    run = past(
        Ran(context="session:", functions={"c.py": ("Cache.__init__",)}, modules=("c.py",)),
        case(f"{A}::x", "a.py::f", "r.py::Page.set", "c.py::Cache.__setitem__"),
        case(f"{B}::finds", "r.py::Page.text"),
        case(f"{B}::other", "r.py::helper"),
    )
    names = Names(
        state={
            ("r.py", "Page.set"): "writes to a Page",
            ("c.py", "Cache.__setitem__"): "writes to a Cache",
        },
        users={("a.py", "f"): [("r.py", "Page.set")]},
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_what_a_test_leaves_comes_too_late_for_what_was_imported_before() -> None:
    run = past(
        Ran(context="session:", functions={"r.py": ("add",)}, modules=("r.py",)),
        case(f"{A}::x", "a.py::f", "r.py::add"),
        case(f"{B}::finds", "r.py::add"),
        case(f"{B}::other", "r.py::helper"),
    )
    names = Names(
        state={("r.py", "add"): "writes the global _all"},
        users={("a.py", "f"): [("r.py", "add")]},
    )
    assert choose(static(A, B), body("a.py::f"), run, names=names) == {A: (), B: ("finds",)}


def test_a_test_that_only_the_record_knows_is_added() -> None:
    assert choose(static(A), body("a.py::g"), past(*RUN)) == {A: ("y",), B: ("z",)}


def test_a_test_that_was_deleted_since_is_not_added() -> None:
    run = past(*RUN, case("tests/test_gone.py::w", "a.py::g"))
    assert choose(static(A), body("a.py::g"), run) == {A: ("y",), B: ("z",)}


def read(*paths: str, moved: Collection[str] = ()) -> Changed:
    rest = tuple(ChangedFile(path=path, status=FileStatus.ADDED) for path in moved)
    return Changed(paths=frozenset([*paths, *moved]), moved=frozenset(moved), rest=rest)


def test_a_data_file_chooses_its_readers() -> None:
    run = past(case(f"{A}::x", opened=("data/x.json",)), case(f"{A}::y"), case(f"{B}::z"))
    assert choose(static(A, B), read("data/x.json"), run) == {A: ("x",)}


def test_a_data_file_that_would_select_all_chooses_its_readers_and_who_has_no_record() -> None:
    run = past(case(f"{A}::x", opened=("data/x.json",)), case(f"{A}::y"), case(f"{B}::z"))
    every = static(A, B, C, mode=Mode.ALL)
    assert choose(every, read("data/x.json"), run) == {A: ("x",), C: ()}


def test_a_data_file_that_the_session_read_selects_all() -> None:
    run = past(Ran(context="session:", opened=("data/x.json",)), *RUN, whole=frozenset([A, B]))
    found = with_recordings(
        static(A),
        NOTHING,
        read("data/x.json"),
        [run],
        names=Names(),
        graph=Graph({}, frozenset([A, B, C])),
    )
    assert (found.mode, {it.path for it in found.tests}) == (Mode.ALL, {A, B, C})


def test_a_quiet_edit_chooses_a_test_that_reads_the_source() -> None:
    run = past(case(f"{A}::x", opened=("a.py",)), case(f"{A}::y"))
    assert choose(NOTHING, read("a.py"), run) == {A: ("x",)}


def test_a_new_file_chooses_who_listed_its_folder() -> None:
    run = past(case(f"{A}::x", listed=("pkg/plugins",)), case(f"{A}::y"), case(f"{B}::z"))
    changed = read(moved=["pkg/plugins/new.py"])
    run = past(*run.index.all_contexts(), folders=frozenset(["pkg", "pkg/plugins"]))
    assert choose(NOTHING, changed, run) == {A: ("x",)}


def test_a_file_in_a_new_folder_chooses_who_listed_the_folder_around_it() -> None:
    run = past(
        case(f"{A}::x", listed=("pkg",)),
        case(f"{B}::z", listed=(".",)),
        folders=frozenset(["pkg"]),
    )
    assert choose(NOTHING, read(moved=["pkg/plugins/new.py"]), run) == {A: ("x",)}


def test_a_test_that_runs_nearly_everything_is_left_out_where_it_does_not_run_the_change() -> None:
    every = [f"a.py::f{number}" for number in range(40)]
    run = past(case(f"{A}::most", *every), case(f"{A}::y"), case(f"{B}::z", *every[:5]))
    assert choose(static(A, B), body("a.py::unrun"), run) == {}


def test_a_mode_that_is_unsure_stays_as_it_is() -> None:
    every = Selection(mode=Mode.ALL, tests=static(A, B).tests, known=3, unsure=("no base",))
    assert choose(every, body("a.py::f"), past(*RUN)) == {A: (), B: ()}


def test_a_rest_that_selects_all_selects_all() -> None:
    found = choose(
        static(A, B, mode=Mode.ALL), body("a.py::f"), past(*RUN), rest=static(A, mode=Mode.ALL)
    )
    assert found == {A: (), B: ()}


def test_a_test_file_that_is_configured_to_run_always_stays_whole() -> None:
    assert choose(static(A, rule="always"), body("a.py::h"), past(*RUN)) == {A: ()}


def test_the_reason_names_what_ran_and_the_static_chain_stays() -> None:
    found = with_recordings(
        static(A),
        NOTHING,
        body("a.py::f"),
        [past(*RUN)],
        names=Names(),
        graph=Graph({}, frozenset([A, B])),
    )
    (chosen,) = found.tests
    assert [it.rule for it in chosen.reasons] == ["recorded", "imports"]
    assert chosen.reasons[0].chain == ("a.py::f", f"{A}::x")


def test_a_test_that_is_what_sees_the_state_stands_in_the_chain_once() -> None:
    run = (case(f"{A}::x", "a.py::f", f"{A}::x"), case(f"{B}::y", f"{B}::y"))
    found = with_recordings(
        static(A, B),
        NOTHING,
        body("a.py::f"),
        [past(*run)],
        names=Names(
            state={("a.py", "f"): "writes the global R"}, users={("a.py", "R"): [(B, "y")]}
        ),
        graph=Graph({}, frozenset([A, B])),
    )
    chains = {test.path: test.reasons[0].chain for test in found.tests}
    assert chains[B] == ("a.py::f", f"{B}::y")


def test_a_file_that_is_left_out_says_that_the_record_did_it() -> None:
    found = with_recordings(
        static(A, B),
        NOTHING,
        body("a.py::f"),
        [past(*RUN)],
        names=Names(),
        graph=Graph({}, frozenset([A, B])),
    )
    assert [(it.path, it.reasons[0].rule) for it in found.left_out] == [(B, "recorded")]
    assert found.why == (
        "1 of 3 test files: 1 of 3 recorded tests may see what changed; recorded just now"
    )


def test_only_folders_that_every_tree_has_are_common() -> None:
    assert folders_of(["a/b/c.py", "x.py"], ["a/d.py"]) == {"a"}


def test_the_age_of_a_run_is_told() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    ages = [timedelta(0), timedelta(minutes=1), timedelta(hours=5), timedelta(days=2)]
    said = [about(at=now - age, now=now, commit="3f2a91c77", differ=14) for age in ages]
    assert said == [
        "recorded just now at 3f2a91c, 14 files differ since",
        "recorded 1 minute ago at 3f2a91c, 14 files differ since",
        "recorded 5 hours ago at 3f2a91c, 14 files differ since",
        "recorded 2 days ago at 3f2a91c, 14 files differ since",
    ]


def test_a_foreign_run_is_said_to_be_one() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    found = about(at=now, now=now, commit="", differ=1, origin="ci.rec")
    assert found == "recorded just now, imported from ci.rec, 1 file differs since"
