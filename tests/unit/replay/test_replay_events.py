from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.events import EventReader, write_event

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_events_are_read_in_the_order_they_were_written(path: Path) -> None:
    write_event(path, event="start", id="a")
    write_event(path, event="result", id="a")
    assert EventReader(path).read_new() == [
        {"event": "start", "id": "a"},
        {"event": "result", "id": "a"},
    ]


def test_an_event_is_read_once(path: Path) -> None:
    reader = EventReader(path)
    write_event(path, id=1)
    reader.read_new()
    write_event(path, id=2)
    assert reader.read_new() == [{"id": 2}]


def test_without_a_file_there_are_no_events(path: Path) -> None:
    assert EventReader(path).read_new() == []


def test_a_line_that_is_not_whole_yet_waits(path: Path) -> None:
    reader = EventReader(path)
    path.write_bytes(b'{"id": 1}\n{"id":')
    assert reader.read_new() == [{"id": 1}]
    with path.open("ab") as stream:
        stream.write(b" 2}\n")
    assert reader.read_new() == [{"id": 2}]


@pytest.mark.parametrize("junk", [b"{", b"\xff\xfe", b"[1]", b'"text"', b"", b"null"])
def test_a_line_that_is_no_event_is_passed_over(path: Path, junk: bytes) -> None:
    path.write_bytes(junk + b'\n{"id": 1}\n')
    assert EventReader(path).read_new() == [{"id": 1}]


def test_any_text_survives_an_event(path: Path) -> None:
    text = "a\nb\r\u2028\udcff"
    write_event(path, text=text)
    assert EventReader(path).read_new() == [{"text": text}]


def test_lines_of_several_writers_do_not_mix(path: Path) -> None:
    def write(name: int) -> None:
        for _ in range(50):
            write_event(path, id=name, text="x" * 5000)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = path.read_bytes().splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted([0, 1, 2, 3] * 50)
