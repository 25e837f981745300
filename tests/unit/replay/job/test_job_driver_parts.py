from __future__ import annotations

import subprocess

import pytest

from presubmit.replay.job.driver import (
    DEFAULT_MOST,
    WORD_LIMIT,
    Sink,
    most_words,
    why_not_passed,
)
from presubmit.replay.job.driver_script import BOOT, Marks, step_command

WORD = "0123456789abcdef"
MARK = b"\x1e" + WORD.encode()


def split(*chunks: bytes) -> list[bytes | tuple[bytes, ...]]:
    marks = Marks(WORD)
    return [item for chunk in chunks for item in marks.feed(chunk)]


def test_output_and_answers_are_told_apart() -> None:
    found = split(b"out" + MARK + b" end 0 none\nrest")
    assert found == [b"out", (b"end", b"0", b"none"), b"rest"]


@pytest.mark.parametrize("size", [1, 2, 5, 17, 40])
def test_an_answer_may_come_in_pieces(size: int) -> None:
    data = b"a\n" + MARK + b" begin\nno final line end" + MARK + b" end 7\n" + b"later"
    found = split(*(data[at : at + size] for at in range(0, len(data), size)))
    answers = [item for item in found if isinstance(item, tuple)]
    assert answers == [(b"begin",), (b"end", b"7")]
    printed = b"".join(item for item in found if isinstance(item, bytes))
    assert printed == b"a\nno final line endlater"


def test_what_only_looks_like_an_answer_is_output_and_is_not_held() -> None:
    for data in (b"\x1e", b"\x1e\x1e", b"\x1e0123", b"\x1eother end 0\n", b"\x1e" * 100_000):
        assert (
            b"".join(item for item in split(data, b"x") if isinstance(item, bytes)) == data + b"x"
        )
    assert split(b"x" * 10) == [b"x" * 10]


def test_a_step_command_is_quoted_for_any_text() -> None:
    command = step_command("t", "m", ["A=it's\n$x `y`", ""], place="/a b", path="", program="x")
    assert command == b"step 't' 'm' '/a b' '' 'x' 'A=it'\\''s\n$x `y`' ''\n"


def test_the_script_is_one_that_a_posix_shell_takes() -> None:
    done = subprocess.run(["sh", "-n"], input=BOOT.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_process_can_be_started_with() -> None:
    assert why_not_passed(["x"], {"INPUT_FETCH-DEPTH": "\n'"}, most=DEFAULT_MOST) == ""
    assert why_not_passed(["x", "y" * WORD_LIMIT], {}, most=DEFAULT_MOST) == ""


@pytest.mark.parametrize(
    ("argv", "env", "reason"),
    [
        ([], {}, "there is no command"),
        ([""], {}, "there is no command"),
        (["x", "a\0"], {}, "an argument of x contains a NUL byte"),
        (["x"], {"A": "\0"}, "the variable A contains a NUL byte"),
        (["x"], {"": "1"}, "'' cannot be the name of a variable"),
        (["x"], {"A=B": "1"}, "'A=B' cannot be the name of a variable"),
        (["x", "y" * (WORD_LIMIT + 1)], {}, "an argument has 131,072 bytes"),
        (["x"], {"BIG": "é" * 70_000}, "the variable BIG has 140,004 bytes"),
        (["x"], {f"A{n}": "y" * 100_000 for n in range(30)}, "Linux passes at most 2,097,152"),
    ],
)
def test_what_a_process_cannot_be_started_with(
    argv: list[str], env: dict[str, str], reason: str
) -> None:
    assert reason in why_not_passed(argv, env, most=2 << 20)


def test_the_room_for_words_is_a_quarter_of_the_stack_and_never_more_than_six_megabytes() -> None:
    assert most_words(8 << 20) == 2 << 20
    assert most_words(1 << 40) == 6 << 20


def test_a_full_disk_is_heard_also_in_pieces_and_per_stream() -> None:
    sink = Sink(lambda *_: None)
    sink.feed(1, b"cp: No space left")
    sink.feed(2, b" on device")
    assert not sink.said_no_space
    for byte in b" on device":
        sink.feed(1, bytes([byte]))
    assert sink.said_no_space


def test_a_muted_sink_hands_on_nothing() -> None:
    heard: list[tuple[int, bytes]] = []
    sink = Sink(lambda *given: heard.append(given))
    sink.feed(1, b"a")
    sink.mute()
    sink.feed(1, b"b")
    assert heard == [(1, b"a")]
