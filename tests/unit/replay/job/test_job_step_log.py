from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.job.masks import Masks
from presubmit.replay.job.step_log import LINE_LIMIT, CellLog, StepLog
from presubmit.replay.job.workflow_commands import Commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Bench:
    """A step's log and what belongs to it."""

    def __init__(self, path: Path, **given: int) -> None:
        self.path = path
        self.masks = Masks()
        self.commands = Commands(self.masks, env={}, workspace="/w")
        self.heard = ""
        self.log = CellLog(path, on_text=self.hear, **given)
        self.step = StepLog(self.log, commands=self.commands, masks=self.masks)

    def hear(self, text: str) -> None:
        self.heard = (self.heard + text)[-1000:]

    def written(self, *chunks: bytes | tuple[int, bytes]) -> str:
        for chunk in chunks:
            stream, data = chunk if isinstance(chunk, tuple) else (1, chunk)
            self.step.feed(stream, data)
        self.step.finish()
        return self.path.read_text(encoding="utf-8")


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(**given: int) -> Bench:
        made.append(Bench(tmp_path / "logs" / "cell.log", **given))
        return made[-1]

    yield make
    for one in made:
        one.log.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


def test_lines_are_written_as_they_come(bench: Bench) -> None:
    bench.step.feed(1, b"one\ntw")
    assert bench.path.read_text() == "one\n"
    assert bench.written(b"o\nthree") == "one\ntwo\nthree\n"
    assert bench.heard == "one\ntwo\nthree\n"
    assert bench.step.tail == "one\ntwo\nthree\n"


def test_the_streams_do_not_break_each_others_lines(bench: Bench) -> None:
    assert bench.written((1, b"out"), (2, b"err\n"), (1, b"put\n")) == "err\noutput\n"


def test_a_return_ends_a_line_as_on_github(bench: Bench) -> None:
    assert bench.written(b"10%\r20%\r", b"\n30%\r\n40%\r") == "10%\n20%\n30%\n40%\n"


def test_junk_becomes_replacements_and_split_characters_survive(bench: Bench) -> None:
    assert bench.written(b"\xff\xc3", b"\xa9\0\n", b"\xe2\x82") == "\ufffdé\0\n\ufffd\n"


def test_commands_are_obeyed_and_not_shown(bench: Bench) -> None:
    text = bench.written(
        b"a::b\n::set-output na",
        b"me=x::1\n::notice::bad\n",
        b"tests/a.py::t PASSED\n  ::group::G\n",
    )
    assert text == "a::b\n##[notice]bad\ntests/a.py::t PASSED\n##[group]G\n"
    assert bench.commands.outputs == {"x": "1"}
    assert [one.message for one in bench.commands.annotations][1:] == ["bad"]


def test_a_command_on_the_last_line_needs_no_line_end(bench: Bench) -> None:
    assert bench.written(b"::set-output name=x::1") == ""
    assert bench.commands.outputs == {"x": "1"}


def test_a_command_on_standard_error_counts_too(bench: Bench) -> None:
    assert bench.written((2, b"::warning::w\n")) == "##[warning]w\n"


def test_what_is_masked_is_hidden_from_then_on(bench: Bench) -> None:
    text = bench.written(b"hunter2\n::add-mask::hunter2\nhunter2\n", b"x hun", b"ter2\n")
    assert text == "hunter2\n***\nx ***\n"
    assert bench.step.tail == text
    assert bench.commands.annotations == []


def test_our_own_lines_are_masked_but_not_obeyed(bench: Bench) -> None:
    bench.masks.add("hunter2")
    bench.step.say("::error::hunter2\n")
    assert bench.written() == "::error::***\n"
    assert bench.commands.annotations == []


def test_a_line_without_end_is_not_held(bench: Bench) -> None:
    bench.masks.add("hunter2")
    tracemalloc.start()
    for _ in range(400):
        bench.step.feed(1, b"x" * 65_530 + b"hunter")
        bench.step.feed(1, b"2")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20
    text = bench.written(b"end\n::group::G\n")
    assert text.endswith("***end\n##[group]G\n")
    assert "hunter2" not in text
    assert text.count("***") == 400
    assert text.count("\n") == 2


def test_a_long_line_is_no_command(bench: Bench) -> None:
    bench.written(b"::set-output name=x::", *[b"y" * 1000] * (LINE_LIMIT // 1000 + 1), b"\n")
    assert bench.commands.outputs == {}


def test_a_command_of_half_a_megabyte_is_one(bench: Bench) -> None:
    bench.written(b"::set-output name=x::", *[b"y" * 1000] * 500, b"\n")
    assert len(bench.commands.outputs["x"]) == 500_000


def test_many_small_reads_of_one_line_take_linear_time(bench: Bench) -> None:
    begun = time.process_time()
    for _ in range(900_000):
        bench.step.feed(1, b"x")
    assert bench.written(b"\n") == "x" * 900_000 + "\n"
    assert time.process_time() - begun < 20


def test_the_streams_do_not_mix_within_long_lines(bench: Bench) -> None:
    big = b"x" * (LINE_LIMIT + 1)
    text = bench.written((1, big), (2, b"err\n"), (1, b"y\n"))
    assert text == "x" * len(big) + "\nerr\ny\n"


def test_the_log_is_cut_at_its_limit_with_one_line_that_says_so(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(limit=1000)
    bench.written(*[b"x" * 99 + b"\n"] * 30, b"::error::seen\n")
    other = StepLog(bench.log, commands=bench.commands, masks=bench.masks)
    other.feed(1, b"later\n")
    other.finish()
    lines = bench.path.read_text().splitlines()
    assert len(lines) == 11
    assert lines[-1] == "presubmit: the log is cut here, at 1,000 bytes; the steps went on"
    assert bench.log.is_cut
    assert [one.message for one in bench.commands.annotations] == ["seen"]
    assert bench.step.tail.endswith("##[error]seen\n")
    assert other.tail == "later\n"


def test_a_cut_within_a_long_line_is_on_a_line_of_its_own(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(limit=LINE_LIMIT + 100)
    bench.written(b"x" * (LINE_LIMIT + 1), b"y" * 1000)
    last = bench.path.read_text().splitlines()[-1]
    assert last.startswith("presubmit: the log is cut here")


def test_the_limit_counts_what_earlier_processes_wrote(
    make_bench: Callable[..., Bench], tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "cell.log").write_text("x" * 900 + "\n")
    bench = make_bench(limit=1000)
    assert "cut here" in bench.written(b"y" * 200 + b"\n")


def test_the_tail_is_bounded_and_begins_with_a_whole_line(bench: Bench) -> None:
    bench.written(*[b"line %d\n" % number for number in range(5000)])
    assert len(bench.step.tail) <= 32_000
    assert bench.step.tail.startswith("line ")
    assert bench.step.tail.endswith("line 4999\n")


@pytest.mark.parametrize(
    "line", [b"plain output of a compiler, nothing special\n", b"tests/test_a.py::test_b PASSED\n"]
)
def test_much_output_is_taken_fast(bench: Bench, line: bytes) -> None:
    bench.masks.add("hunter2")
    chunk = line * (65_536 // len(line))
    begun = time.process_time()
    for _ in range(400):  # 26 MB
        bench.step.feed(1, chunk)
    assert time.process_time() - begun < 5
