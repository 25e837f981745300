"""The order in which cells run, and what their results decide; the cells themselves are made up."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.job.graph import Ended, Graph, Order
from presubmit.replay.job.values import CellResult, Conclusion
from presubmit.upstream.cells import CellState
from presubmit.upstream.forecast import forecast
from tests.unit.upstream.made import setting, workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.replay.job.graph import Stopper

Outcomes = dict[str, Any]


class Replayed:
    """What came of a graph: the cells in the order of their ends."""

    def __init__(self, ended: Sequence[Ended], orders: Mapping[str, Order]) -> None:
        self.ended = list(ended)
        self.orders = orders

    @property
    def ids(self) -> list[str]:
        return [one.cell.id for one in self.ended]

    def state(self, name: str) -> CellState:
        return next(one.cell.state for one in self.ended if one.cell.id == name)

    def conclusion(self, name: str) -> str:
        found = next(one.result for one in self.ended if one.cell.id == name)
        assert found is not None
        return str(found.conclusion)


def replay(
    text: str,
    results: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    *,
    chosen: Sequence[str] | None = None,
    parallel: int = 4,
    fail_fast: bool = True,
    during: Callable[[Order], None] = lambda _: None,
) -> Replayed:
    """Run a workflow whose cells end as `results` says: a conclusion, or a conclusion with outputs."""
    made = workflow(text)
    judged = setting(files)
    orders: dict[str, Order] = {}

    def run(order: Order, stoppers: Sequence[Stopper]) -> CellResult:
        del stoppers
        orders[order.cell.id] = order
        during(order)
        given = (results or {}).get(order.cell.id, Conclusion.SUCCESS)
        if isinstance(given, CellResult):
            return given
        if isinstance(given, dict):
            return CellResult(cell=order.cell.id, conclusion=Conclusion.SUCCESS, outputs=given)
        return CellResult(cell=order.cell.id, conclusion=given)

    ended: list[Ended] = []
    cells = [c for c in forecast([made], judged) if chosen is None or c.id in chosen]
    graph = Graph(
        judged,
        chosen=cells,
        run=run,
        ended=ended.append,
        parallel=parallel,
        fail_fast=fail_fast,
    )
    graph.go([made])
    return Replayed(ended, orders)


def jobs(*texts: str) -> str:
    return "on: pull_request\njobs:\n" + "".join(texts)


def job(name: str, *lines: str) -> str:
    more = "".join(f"    {line}\n" for line in lines)
    return f"  {name}:\n    runs-on: ubuntu-latest\n{more}    steps:\n      - run: 'true'\n"


def matrix(name: str, values: str, *lines: str) -> str:
    return job(name, "strategy:", "  matrix:", f"    part: {values}", *lines)


def test_jobs_run_after_those_that_they_need() -> None:
    done = replay(jobs(job("c", "needs: [a, b]"), job("b", "needs: a"), job("a")))
    assert done.ids == ["ci.yml/a", "ci.yml/b", "ci.yml/c"]


def test_outputs_reach_the_jobs_that_need_them_and_only_those() -> None:
    done = replay(jobs(job("a"), job("b"), job("c", "needs: a")), {"ci.yml/a": {"word": "built"}})
    assert done.orders["ci.yml/c"].contexts["needs"] == {
        "a": {"result": "success", "outputs": {"word": "built"}}
    }


def test_a_job_after_a_failure_is_filtered_with_the_reason() -> None:
    done = replay(jobs(job("a"), job("b", "needs: a")), {"ci.yml/a": Conclusion.FAILURE})
    assert done.state("ci.yml/b") is CellState.FILTERED
    assert done.ended[-1].cell.reason == "needs a (failure)"


def test_always_runs_after_a_failure() -> None:
    done = replay(
        jobs(job("a"), job("b", "needs: a", "if: always()")), {"ci.yml/a": Conclusion.FAILURE}
    )
    assert done.conclusion("ci.yml/b") == "success"


def test_failure_sees_the_failure_of_an_ancestor() -> None:
    text = jobs(
        job("a"), job("b", "needs: a", "if: always()"), job("c", "needs: b", "if: failure()")
    )
    assert replay(text, {"ci.yml/a": Conclusion.FAILURE}).conclusion("ci.yml/c") == "success"
    assert replay(text).state("ci.yml/c") is CellState.FILTERED


def test_a_tolerated_failure_lets_the_next_job_run() -> None:
    text = jobs(job("a", "continue-on-error: true"), job("b", "needs: a"))
    done = replay(text, {"ci.yml/a": Conclusion.FAILURE})
    assert done.conclusion("ci.yml/b") == "success"
    assert done.ended[0].tolerated


def test_a_matrix_comes_out_of_a_jobs_output() -> None:
    text = jobs(job("a"), matrix("b", "${{ fromJSON(needs.a.outputs.list) }}", "needs: a"))
    done = replay(text, {"ci.yml/a": {"list": '["x", "y"]'}})
    assert sorted(done.ids[1:]) == ["ci.yml/b(part=x)", "ci.yml/b(part=y)"]
    assert done.orders["ci.yml/b(part=x)"].contexts["matrix"] == {"part": "x"}


def test_a_matrix_out_of_a_missing_output_fails_its_job_and_the_others_go_on() -> None:
    text = jobs(
        job("a"), matrix("b", "${{ fromJSON(needs.a.outputs.list) }}", "needs: a"), job("c")
    )
    done = replay(text)
    assert done.conclusion("ci.yml/b") == "failure"
    assert done.conclusion("ci.yml/c") == "success"


def test_a_condition_on_an_output_is_decided_by_the_run() -> None:
    text = jobs(job("a"), job("b", "needs: a", "if: needs.a.outputs.go == 'yes'"))
    assert replay(text, {"ci.yml/a": {"go": "yes"}}).conclusion("ci.yml/b") == "success"
    assert replay(text, {"ci.yml/a": {"go": "no"}}).state("ci.yml/b") is CellState.FILTERED


def test_a_failing_cell_cancels_the_rest_of_its_matrix() -> None:
    text = jobs(matrix("a", "[1, 2, 3]"), job("b"))
    done = replay(text, {"ci.yml/a(part=1)": Conclusion.FAILURE}, parallel=1)
    ends = {one.cell.id: one.result and str(one.result.conclusion) for one in done.ended}
    first = next(name for name in done.orders if name.startswith("ci.yml/a"))
    if first == "ci.yml/a(part=1)":
        assert ends["ci.yml/a(part=2)"] == ends["ci.yml/a(part=3)"] == "cancelled"
    assert ends["ci.yml/b"] == "success"


def test_a_cell_that_runs_hears_that_its_matrix_failed() -> None:
    text = jobs(matrix("a", "[1, 2]"))
    made, judged = workflow(text), setting()
    told = threading.Event()

    def run(order: Order, stoppers: Sequence[Stopper]) -> CellResult:
        if order.values["part"] == 1.0 or order.values["part"] == 1:
            return CellResult(cell=order.cell.id, conclusion=Conclusion.FAILURE)
        for stopper in stoppers:
            stopper.on_stop(told.set)
        assert told.wait(5)
        return CellResult(cell=order.cell.id, conclusion=Conclusion.CANCELLED)

    ended: list[Ended] = []
    cells = forecast([made], judged)
    Graph(judged, chosen=cells, run=run, ended=ended.append, parallel=2).go([made])
    assert sorted(str(one.result.conclusion) for one in ended if one.result) == [
        "cancelled",
        "failure",
    ]


@pytest.mark.parametrize("line", ["  fail-fast: false", ""])
def test_without_fail_fast_every_cell_runs(line: str) -> None:
    strategy = (
        ("strategy:", line, "  matrix:", "    part: [1, 2, 3]")
        if line
        else (
            "strategy:",
            "  matrix:",
            "    part: [1, 2, 3]",
        )
    )
    text = jobs(job("a", *strategy))
    done = replay(text, {"ci.yml/a(part=1)": Conclusion.FAILURE}, parallel=1, fail_fast=bool(line))
    assert len(done.orders) == 3


def test_max_parallel_holds() -> None:
    running: list[str] = []
    most: list[int] = []
    lock = threading.Lock()

    def during(order: Order) -> None:
        with lock:
            running.append(order.cell.id)
            most.append(len(running))
        threading.Event().wait(0.02)
        with lock:
            running.remove(order.cell.id)

    text = jobs(
        job("a", "strategy:", "  max-parallel: 2", "  matrix:", "    part: [1, 2, 3, 4, 5]")
    )
    done = replay(text, parallel=8, during=during)
    assert len(done.ids) == 5
    assert max(most) <= 2


def test_only_the_chosen_cells_run() -> None:
    text = jobs(matrix("a", "[1, 2]"), job("b"))
    assert replay(text, chosen=["ci.yml/a(part=2)"]).ids == ["ci.yml/a(part=2)"]


def test_a_cell_that_lacks_something_only_then_is_not_replayed() -> None:
    result = CellResult(cell="ci.yml/a", conclusion=Conclusion.FAILURE, lacks="action x/y")
    done = replay(jobs(job("a"), job("b", "needs: a")), {"ci.yml/a": result})
    assert done.state("ci.yml/a") is CellState.NOT_REPLAYED
    assert done.state("ci.yml/b") is CellState.BLOCKED
    assert done.ended[-1].cell.reason == "needs a, which is not replayed: action x/y"


def test_a_job_that_fails_over_results_that_are_not_here_says_nothing_of_the_change() -> None:
    lacks = CellResult(cell="ci.yml/a", conclusion=Conclusion.FAILURE, lacks="Python 3.14")
    text = jobs(job("a"), job("b"), job("all-green", "needs: [a, b]", "if: always()"))
    done = replay(text, {"ci.yml/a": lacks, "ci.yml/all-green": Conclusion.FAILURE})
    assert done.state("ci.yml/all-green") is CellState.BLOCKED
    assert done.ended[-1].cell.reason == "needs a, which is not replayed: Python 3.14"


def test_a_job_that_fails_over_a_matrix_replayed_in_part_says_nothing_either() -> None:
    lacks = CellResult(cell="x", conclusion=Conclusion.FAILURE, lacks="Python 3.14")
    green = job("all-green", "needs: a", "if: always()").replace(
        "'true'", "echo '${{ toJSON(needs) }}'"
    )
    text = jobs(matrix("a", "[1, 2]"), green)
    done = replay(text, {"ci.yml/a(part=2)": lacks, "ci.yml/all-green": Conclusion.FAILURE})
    assert done.state("ci.yml/all-green") is CellState.BLOCKED


def test_a_job_that_only_comes_after_a_matrix_replayed_in_part_fails_by_itself() -> None:
    lacks = CellResult(cell="x", conclusion=Conclusion.FAILURE, lacks="Python 3.14")
    text = jobs(matrix("a", "[1, 2]"), job("tests", "needs: a"))
    done = replay(text, {"ci.yml/a(part=2)": lacks, "ci.yml/tests": Conclusion.FAILURE})
    assert done.state("ci.yml/tests") is CellState.REPLAYED
    assert done.conclusion("ci.yml/tests") == "failure"


CALLED = {
    ".github/workflows/inner.yml": """
        on:
          workflow_call:
            inputs:
              word: {type: string}
            outputs:
              said:
                value: ${{ jobs.inner.outputs.said }}-${{ inputs.word }}
        jobs:
          inner:
            runs-on: ubuntu-latest
            outputs:
              said: x
            steps:
              - run: "true"
    """
}
CALL = jobs(
    "  call:\n    uses: ./.github/workflows/inner.yml\n    with:\n      word: hello\n",
    job("after", "needs: call"),
)


def test_a_called_workflows_outputs_come_back_to_the_caller() -> None:
    done = replay(CALL, {"ci.yml/call/inner": {"said": "inner"}}, CALLED)
    assert done.orders["ci.yml/call/inner"].contexts["inputs"] == {"word": "hello"}
    assert done.orders["ci.yml/after"].contexts["needs"]["call"] == {
        "result": "success",
        "outputs": {"said": "inner-hello"},
    }


def test_a_failure_inside_a_call_is_the_calls_failure() -> None:
    done = replay(CALL, {"ci.yml/call/inner": Conclusion.FAILURE}, CALLED)
    assert done.ended[-1].cell.reason == "needs call (failure)"


def test_the_last_cell_of_a_matrix_that_sets_an_output_wins_and_empty_ones_do_not() -> None:
    text = jobs(matrix("a", "[1, 2]"), job("b", "needs: a"))
    done = replay(
        text,
        {"ci.yml/a(part=1)": {"x": "one", "y": "one"}, "ci.yml/a(part=2)": {"x": "two", "y": ""}},
    )
    assert done.orders["ci.yml/b"].contexts["needs"]["a"]["outputs"] == {"x": "two", "y": "one"}


def test_a_crash_of_ours_is_raised() -> None:
    def during(_order: Order) -> None:
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        replay(jobs(job("a"), job("b", "needs: a")), during=during)


def test_an_interrupt_stops_what_runs_and_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from presubmit.replay.job import graph as module  # noqa: PLC0415 - its own wait is replaced

    stopped = threading.Event()
    started = threading.Event()
    real = module._wait

    def wait(future: Any, seconds: float = 0.2) -> bool:
        if not stopped.is_set() and started.wait(5):
            stopped.set()
            raise KeyboardInterrupt
        return real(future, seconds)

    monkeypatch.setattr(module, "_wait", wait)
    made, judged = workflow(jobs(job("a"))), setting()

    def run(order: Order, stoppers: Sequence[Stopper]) -> CellResult:
        told = threading.Event()
        stoppers[0].on_stop(told.set)
        started.set()
        assert told.wait(5)
        return CellResult(cell=order.cell.id, conclusion=Conclusion.CANCELLED)

    ended: list[Ended] = []
    graph = Graph(judged, chosen=forecast([made], judged), run=run, ended=ended.append, parallel=1)
    with pytest.raises(KeyboardInterrupt):
        graph.go([made])
    assert [str(one.result.conclusion) for one in ended if one.result] == ["cancelled"]
