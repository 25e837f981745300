from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.errors import ExitCode, PresubmitError, UsageError
from presubmit.report.folder import (
    find_run,
    list_runs,
    new_run_folder,
    own_folder,
    point_last,
    process_mark,
    read_run,
    settle_dead_runs,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TREE = "0123456789abcdef"
BOOT = "this-boot"


def make_run(top: Path, name: str = "20260101T000000-0123456", **run: Any) -> Path:
    folder = top / ".presubmit/runs" / name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def running(pid: int, mark: str | None, *, boot: str = BOOT) -> dict[str, Any]:
    return {"state": "running", "exit": None, "pid": pid, "process": mark, "boot": boot}


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


# --- the folder -----------------------------------------------------------------------------------------------------


def test_the_folder_hides_itself_from_git(tmp_path: Path) -> None:
    own_folder(tmp_path)
    assert (tmp_path / ".presubmit/.gitignore").read_text() == "*\n"


def test_a_gitignore_that_is_there_stays(tmp_path: Path) -> None:
    own_folder(tmp_path)
    (tmp_path / ".presubmit/.gitignore").write_text("*\n# mine\n")
    own_folder(tmp_path)
    assert (tmp_path / ".presubmit/.gitignore").read_text() == "*\n# mine\n"


@pytest.mark.parametrize("name", [".presubmit", ".presubmit/runs", ".presubmit/.gitignore"])
def test_a_link_in_the_folders_place_is_refused_and_nothing_is_written_through_it(
    tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "top" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "x" if name.endswith("gitignore") else outside)
    with pytest.raises(PresubmitError, match="is a link"):
        own_folder(tmp_path / "top")
    assert list(outside.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / ".presubmit").write_text("a file")
    with pytest.raises(PresubmitError, match="cannot write") as caught:
        own_folder(tmp_path)
    assert caught.value.exit_code == ExitCode.ENVIRONMENT


def test_a_run_folder_is_named_by_time_and_tree(tmp_path: Path) -> None:
    run = new_run_folder(tmp_path, TREE)
    assert run.is_dir()
    assert re.fullmatch(r"\d{8}T\d{6}-0123456", run.name)


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    assert len({new_run_folder(tmp_path, TREE) for _ in range(5)}) == 5


def test_a_run_folder_that_cannot_be_made_is_told(
    as_other_user: Callable[[Callable[[], object]], str], open_folder: Path
) -> None:
    runs = own_folder(open_folder) / "runs"
    assert "cannot make" in as_other_user(lambda: new_run_folder(open_folder, TREE))
    assert list(runs.iterdir()) == []


def test_last_points_to_the_newest_run(tmp_path: Path) -> None:
    point_last(new_run_folder(tmp_path, TREE))
    newest = new_run_folder(tmp_path, TREE)
    point_last(newest)
    assert str((tmp_path / ".presubmit/last").readlink()) == f"runs/{newest.name}"
    assert find_run(tmp_path, None) == newest.resolve()


def test_json_is_replaced_as_a_whole_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"a": "\udcff"})
    write_json(path, {"b": 1})
    assert (json.loads(path.read_text()), list(tmp_path.iterdir())) == ({"b": 1}, [path])


# --- finding a run --------------------------------------------------------------------------------------------------


def test_without_a_run_there_is_none_to_find(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run yet"):
        find_run(tmp_path, None)


def test_a_run_is_found_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    run = make_run(tmp_path, "20260101T000000-aaaaaaa")
    make_run(tmp_path, "20260102T000000-aaaaaaa")
    assert find_run(tmp_path, "20260101") == run


def test_a_whole_name_is_found_though_another_begins_with_it(tmp_path: Path) -> None:
    run = make_run(tmp_path, "20260101T000000-aaaaaaa")
    make_run(tmp_path, "20260101T000000-aaaaaaa-1")
    assert find_run(tmp_path, "20260101T000000-aaaaaaa") == run


def test_a_beginning_that_several_runs_have_is_an_error_that_lists_them(tmp_path: Path) -> None:
    make_run(tmp_path, "20260101")
    make_run(tmp_path, "20260102")
    with pytest.raises(UsageError, match="more than one run is called 2026") as caught:
        find_run(tmp_path, "2026")
    assert caught.value.hint == "the newest: 20260101, 20260102"


def test_a_run_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run is called 2026") as caught:
        find_run(tmp_path, "2026")
    assert caught.value.hint == "the newest: none"


def test_a_run_is_read(tmp_path: Path) -> None:
    assert read_run(make_run(tmp_path, state="passed")) == {"state": "passed"}


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null"])
def test_a_run_that_is_damaged_is_an_error(tmp_path: Path, content: bytes) -> None:
    folder = make_run(tmp_path)
    (folder / "run.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"run\.json"):
        read_run(folder)


def test_a_run_without_its_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_run(tmp_path)


# --- dead runs ------------------------------------------------------------------------------------------------------


def test_a_run_whose_process_is_gone_is_interrupted(tmp_path: Path) -> None:
    pid = dead_pid()
    folder = make_run(tmp_path, **running(pid, f"{pid}:1"), kept="x")
    assert settle_dead_runs(tmp_path, boot=BOOT) == [folder.name]
    run = read_run(folder)
    assert (run["state"], run["exit"], run["kept"]) == ("interrupted", 130, "x")


def test_a_run_whose_process_lives_stays(tmp_path: Path) -> None:
    folder = make_run(tmp_path, **running(os.getpid(), process_mark(os.getpid())))
    assert settle_dead_runs(tmp_path, boot=BOOT) == []
    assert read_run(folder)["state"] == "running"


@pytest.mark.parametrize(
    "given",
    [
        running(os.getpid(), f"{os.getpid()}:1"),
        running(os.getpid(), process_mark(os.getpid()), boot="an earlier boot"),
        {**running(1, None), "pid": "1"},
        {"state": "running"},
    ],
    ids=["the number of another process", "another boot", "no number", "says nothing"],
)
def test_a_run_that_this_process_is_not_is_interrupted(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    make_run(tmp_path, **given)
    assert len(settle_dead_runs(tmp_path, boot=BOOT)) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b'"running"', b'{"state": "passed"}']
)
def test_a_run_that_does_not_say_running_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = make_run(tmp_path) / "run.json"
    path.write_bytes(content)
    assert settle_dead_runs(tmp_path, boot=BOOT) == []
    assert path.read_bytes() == content


def test_without_any_run_nothing_is_settled(tmp_path: Path) -> None:
    assert settle_dead_runs(tmp_path, boot=BOOT) == []


@pytest.mark.parametrize("name", [".presubmit", ".presubmit/runs", ".presubmit/runs/r"])
def test_a_dead_run_behind_a_link_is_left_alone(tmp_path: Path, name: str) -> None:
    real = tmp_path / "real"
    folder = make_run(real, "r", **running(1, "gone"))
    link = tmp_path / "top" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(real / name)
    assert settle_dead_runs(tmp_path / "top", boot=BOOT) == []
    assert read_run(folder)["state"] == "running"


def test_a_process_that_is_gone_has_no_mark() -> None:
    assert process_mark(dead_pid()) is None


def test_a_process_has_one_mark_as_long_as_it_lives() -> None:
    assert process_mark(os.getpid()) == process_mark(os.getpid()) is not None


def test_runs_are_listed_oldest_first(tmp_path: Path) -> None:
    newer = make_run(tmp_path, "20260102")
    older = make_run(tmp_path, "20260101")
    (tmp_path / ".presubmit/runs/20260103").mkdir()
    assert list_runs(tmp_path) == [older, newer]
