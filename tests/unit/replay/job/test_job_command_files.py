from __future__ import annotations

import os
from pathlib import Path

import pytest

from presubmit.replay.job.command_files import (
    SUMMARY_LIMIT,
    CommandFiles,
    FileCommands,
    FormatError,
    make_command_files,
    parse_pairs,
    read_command_files,
)


@pytest.fixture
def files(tmp_path: Path) -> CommandFiles:
    return make_command_files(tmp_path, "/runner/_temp/")


def read(files: CommandFiles, **written: str | bytes) -> FileCommands:
    for name, text in written.items():
        path = Path(files.host[name])
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_command_files(files)


def test_each_step_gets_fresh_files_under_names_of_the_box(tmp_path: Path) -> None:
    first, second = make_command_files(tmp_path, "/t"), make_command_files(tmp_path, "/t")
    assert set(first.variables) == {
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_STATE",
        "GITHUB_PATH",
        "GITHUB_STEP_SUMMARY",
    }
    name = Path(first.host["env"]).name
    assert first.variables["GITHUB_ENV"] == f"/t/_runner_file_commands/{name}"
    assert first.host["env"] != second.host["env"]
    assert Path(first.host["env"]).read_bytes() == b""


def test_nothing_written_is_nothing(files: CommandFiles) -> None:
    assert read(files) == FileCommands()
    assert not Path(files.host["env"]).exists()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("A=b=c\n", [("A", "b=c")]),
        ("A==abc", [("A", "=abc")]),
        ("A=\n", [("A", "")]),
        ("\n\nA=1\n\nB=2\n", [("A", "1"), ("B", "2")]),
        ("A= spaced \n", [("A", " spaced ")]),
        ("A=1\nA=2\n", [("A", "1"), ("A", "2")]),
        ("A=x<<y\n", [("A", "x<<y")]),
        ("A<<EOF\none\n\ntwo\nEOF\nB=2", [("A", "one\n\ntwo"), ("B", "2")]),
        ("A<<EOF\nEOF\n", [("A", "")]),
        ("A<<EOF\n\nEOF\n", [("A", "")]),
        ("A<<=EOF\nx=1\n=EOF\n", [("A", "x=1")]),
        ("A<<<EOF\nx\n<EOF\n", [("A", "x")]),
        ("A<<EOF\n EOF\nEOF", [("A", " EOF")]),
        # A return belongs to the line on Linux.
        ("A=b\r\nN<<EOF\r\nx\r\nEOF\r\n", [("A", "b\r"), ("N", "x\r")]),
    ],
)
def test_names_and_values(text: str, pairs: list[tuple[str, str]]) -> None:
    assert list(parse_pairs(text)) == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just text", "Invalid format 'just text'"),
        ("=x", "Invalid format '=x'. Name must not be empty"),
        ("<<EOF\nEOF", "Name must not be empty and delimiter must not be empty"),
        ("A<<\nx", "Name must not be empty and delimiter must not be empty"),
        ("A<<EOF\nx\n", "Invalid value. Matching delimiter not found 'EOF'"),
        ("A<<EOF", "Invalid value. Matching delimiter not found 'EOF'"),
        ("A<<EOF\nx\nEOF ", "Invalid value. EOF marker missing new line."),
    ],
)
def test_faults_are_said_as_github_does(text: str, message: str) -> None:
    with pytest.raises(FormatError) as error:
        list(parse_pairs(text))
    assert message in str(error.value)


def test_what_stands_before_a_fault_counts_and_the_step_fails(files: CommandFiles) -> None:
    found = read(files, env="A=1\nbroken\nB=2\n", output="x=1")
    assert found.env == (("A", "1"),)
    assert found.outputs == (("x", "1"),)
    assert found.failures == (
        "Unable to process file command 'env' successfully.",
        "Invalid format 'broken'",
    )


def test_state_and_outputs_are_read(files: CommandFiles) -> None:
    found = read(files, state="s=1\n", output="out=false\nout<<E\n1\n2\nE\n")
    assert found.state == (("s", "1"),)
    assert dict(found.outputs) == {"out": "1\n2"}


def test_node_options_are_refused_without_failing_the_step(files: CommandFiles) -> None:
    found = read(files, env="node_options=--inspect\nA=1\n")
    assert found.env == (("A", "1"),)
    assert found.failures == ()
    assert found.errors == (
        "Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.",
    )


def test_paths_are_lines_whatever_ends_them(files: CommandFiles) -> None:
    assert read(files, path="/a\r\n\n/b b\r/c").paths == ("/a", "/b b", "/c")


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfA=\xc3\xa9\n", "A=é\n".encode("utf-16"), b"\xfe\xff\x00A\x00=\x00\xe9\x00\n"],
)
def test_byte_order_marks_are_obeyed(files: CommandFiles, data: bytes) -> None:
    assert read(files, env=data).env == (("A", "é"),)


def test_junk_bytes_become_replacements(files: CommandFiles) -> None:
    assert read(files, env=b"A=\xff\xfe\x00\n").env == (("A", "\ufffd\ufffd\0"),)


def test_a_link_is_not_followed(files: CommandFiles, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A=secret\n")
    for name in ("env", "path", "step_summary"):
        Path(files.host[name]).unlink()
        Path(files.host[name]).symlink_to(tmp_path / "secret")
    found = read_command_files(files)
    assert (found.env, found.paths, found.summary) == ((), (), "")
    assert sum("not followed" in text for text in (*found.failures, *found.errors)) == 3
    assert (tmp_path / "secret").exists()


def test_a_pipe_or_a_folder_in_its_place_is_a_failure_and_no_hang(files: CommandFiles) -> None:
    Path(files.host["env"]).unlink()
    os.mkfifo(files.host["env"])
    Path(files.host["output"]).unlink()
    Path(files.host["output"]).mkdir()
    found = read_command_files(files)
    assert found.failures[1::2] == ("It is no plain file.", "It is no plain file.")


def test_a_file_that_is_gone_is_empty(files: CommandFiles) -> None:
    for path in files.host.values():
        Path(path).unlink()
    assert read_command_files(files) == FileCommands()


def test_a_huge_file_is_refused(files: CommandFiles) -> None:
    os.truncate(files.host["output"], 60 << 20)
    found = read_command_files(files)
    assert found.outputs == ()
    assert "62,914,560 bytes" in found.failures[1]


def test_a_summary_is_given_whole_up_to_githubs_limit(files: CommandFiles) -> None:
    text = "x" * (SUMMARY_LIMIT - 1) + "\n"
    found = read(files, step_summary=text)
    assert (found.summary, found.errors) == (text, ())


def test_a_summary_beyond_the_limit_is_cut_and_that_is_said(files: CommandFiles) -> None:
    line = "y" * 99 + "\n"
    found = read(files, step_summary=line * 104_858)
    assert len(found.summary) < SUMMARY_LIMIT + 200
    assert found.summary.startswith(line)
    assert found.summary.rstrip().endswith("of 10,485,800 bytes are left out")
    assert found.failures == ()
    assert found.errors[0].startswith(
        "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, got 10240k."
    )
