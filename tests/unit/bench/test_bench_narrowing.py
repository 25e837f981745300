"""Which of the listed benchmarks are measured."""

from __future__ import annotations

from presubmit.bench.listing import Ran
from presubmit.bench.narrowing import in_change, matching
from presubmit.bench.values import Adapter, Bench


def bench(name: str, file: str = "b/ops.py") -> Bench:
    return Bench(id=name, adapter=Adapter.ASV, root="b", file=file)


ALL = (bench("ops.time_add[64]"), bench("ops.time_exp"), bench("io.time_read", "b/io.py"))


def test_without_a_pattern_all_are_asked_for() -> None:
    assert matching(ALL, ()) == ALL


def test_a_pattern_is_a_part_of_a_name_or_matches_it_whole() -> None:
    assert matching(ALL, ("time_add[64]",)) == ALL[:1]
    assert matching(ALL, ("io.*",)) == ALL[2:]


def test_what_runs_none_of_the_changed_functions_is_left_out() -> None:
    ran = {it.id: Ran(functions={"pkg/a.py": ("f", "C.m")}) for it in ALL[:2]}
    ran[ALL[2].id] = Ran(functions={"pkg/a.py": ("g",)})
    out = in_change(ALL, ran, {"pkg/a.py": ("C.m",)}, ())
    assert list(out) == ["io.time_read"]


def test_what_is_not_known_and_what_is_edited_stays() -> None:
    ran = {ALL[2].id: Ran(functions={})}
    assert in_change(ALL, ran, {"pkg/a.py": ("f",)}, ("b/io.py",)) == {}
