"""What several suites have, put together."""

from __future__ import annotations

from presubmit.bench.listing import Listed
from presubmit.bench.values import Adapter, Bench


def bench(name: str, file: str) -> Bench:
    return Bench(id=name, adapter=Adapter.ASV, root=file.partition("/")[0], file=file)


def test_of_two_benchmarks_with_one_name_the_second_is_broken_and_both_files_are_named() -> None:
    one = Listed(benches=(bench("ops.time_add", "a/ops.py"), bench("ops.time_sub", "a/ops.py")))
    other = Listed(benches=(bench("ops.time_add", "b/ops.py"), bench("ops.time_mul", "b/ops.py")))
    both = one.with_more(other)
    assert [it.id for it in both.benches] == ["ops.time_add", "ops.time_sub", "ops.time_mul"]
    assert both.benches[0].file == "a/ops.py"
    (broken,) = both.broken
    assert (broken.id, broken.side) == ("ops.time_add", "both")
    assert "a/ops.py and b/ops.py both have a benchmark of this name" in broken.error
