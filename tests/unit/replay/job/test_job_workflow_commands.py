from __future__ import annotations

import pytest

from presubmit.replay.job.masks import Masks
from presubmit.replay.job.values import Annotation
from presubmit.replay.job.workflow_commands import (
    Commands,
    may_be_command,
    may_hold_command,
    parse_command,
)


def commands(**env: str) -> Commands:
    return Commands(Masks(), env=env, workspace="/w/repo", step="Test")


@pytest.mark.parametrize(
    ("line", "name", "properties", "data"),
    [
        ("::error::text", "error", {}, "text"),
        ("  \t::ERROR File=a.py::text", "error", {"file": "a.py"}, "text"),
        ("::error file=a.py,line=3::", "error", {"file": "a.py", "line": "3"}, ""),
        # A space belongs to the key, so the second one says nothing.
        ("::error file=a.py, line=3::t", "error", {"file": "a.py", " line": "3"}, "t"),
        ("::error file=,line==3,=x,y::t", "error", {"line": "3"}, "t"),
        ("::error title=a=b::t", "error", {"title": "a=b"}, "t"),
        (
            "::error title=a%3Ab%2Cc%0Ad%25::x%0Ay%253A%3A",
            "error",
            {"title": "a:b,c\nd%"},
            "x\ny%3A%3A",
        ),
        ("::group::a::b", "group", {}, "a::b"),
        (
            "anything ##[warning file=x;line=2]te%5Dxt",
            "warning",
            {"file": "x", "line": "2"},
            "te]xt",
        ),
        ("##[add-mask]secret%3B", "add-mask", {}, "secret;"),
    ],
)
def test_commands_are_read(line: str, name: str, properties: dict[str, str], data: str) -> None:
    found = parse_command(line)
    assert found is not None
    assert (found.name, found.properties, found.data) == (name, properties, data)


@pytest.mark.parametrize(
    "line",
    ["", "::", "::error", "text ::error::x", "::unknown::x", "::error file=x", "##[error", "##[nope]x",
     "tests/a.py::test_x PASSED", "::1", "Foo::error::bar"],
)  # fmt: skip
def test_other_lines_are_no_commands(line: str) -> None:
    assert parse_command(line) is None
    assert commands().obey(line) == line


@pytest.mark.parametrize(
    "line", ["::error::x", "x ##[error]y", *(f"{s}::error::x" for s in " \t\v\f\xa0\u3000")]
)
@pytest.mark.parametrize("before", ["", "text\n", "\n"])
def test_a_look_at_many_lines_misses_no_command(line: str, before: str) -> None:
    assert may_hold_command(before + line)
    assert not may_hold_command(before + "tests/a.py::test_x PASSED")


def test_a_quick_look_misses_no_command() -> None:
    assert may_be_command("  ::error::x")
    assert may_be_command("x ##[error]y")
    assert not may_be_command("tests/a.py::test_x PASSED")


def test_an_annotation_says_where() -> None:
    one = commands()
    shown = one.obey(
        "::error file=src/a.py,line=3,endLine=3,col=5,endColumn=7,title=T::it%0Abroke"
    )
    assert shown == "##[error]it\nbroke"
    assert one.annotations == [
        Annotation(
            level="error", message="it\nbroke", title="T", file="src/a.py",
            line=3, end_line=3, column=5, step="Test",
        )
    ]  # fmt: skip
    assert one.failures == []


def test_files_of_the_workspace_are_named_from_its_root() -> None:
    one = commands()
    one.obey("::warning file=/w/repo/a/../b.py::x")
    one.obey("::notice file=/elsewhere/c.py::x")
    assert [(a.level, a.file) for a in one.annotations] == [
        ("warning", "b.py"),
        ("notice", "/elsewhere/c.py"),
    ]


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        ("line=x", (None, None, None)),
        ("line=99999999999", (None, None, None)),
        ("endLine=4", (4, 4, None)),
        ("line=5,endLine=4", (None, None, None)),
        ("line=1,endColumn=4", (1, None, 4)),
        ("col=4", (None, None, None)),
        ("line=1,endLine=2,col=4", (1, 2, None)),
        ("line=1,col=9,endColumn=4", (1, None, None)),
    ],
)
def test_places_that_contradict_themselves_are_dropped(
    properties: str, place: tuple[int | None, ...]
) -> None:
    one = commands()
    one.obey(f"::error {properties}::x")
    found = one.annotations[0]
    assert (found.line, found.end_line, found.column) == place


def test_a_step_shows_ten_annotations_of_a_level_and_counts_the_rest() -> None:
    one = commands()
    for number in range(12):
        assert one.obey(f"::error::{number}") == f"##[error]{number}"
    one.obey("::notice::x")
    assert len(one.annotations) == 11
    assert one.left_out == {"error": 2}


def test_a_message_is_masked_and_bounded() -> None:
    masks = Masks(["hunter2"])
    one = Commands(masks, env={}, workspace="/w")
    one.obey("::error title=hunter2,file=hunter2::" + "hunter2 " * 2000)
    found = one.annotations[0]
    assert (found.title, found.file, found.message[:8]) == ("***", "***", "*** *** ")
    assert len(found.message) == 4096


def test_groups_are_shown_and_debug_is_not() -> None:
    one = commands()
    assert one.obey("::group::Build it") == "##[group]Build it"
    assert one.obey("::endgroup::") == "##[endgroup]"
    assert one.obey("::debug::x") is None


def test_a_mask_hides_each_of_its_lines_and_is_not_shown() -> None:
    masks = Masks()
    one = Commands(masks, env={}, workspace="/w")
    assert one.obey("::add-mask::first line%0Asecond line") is None
    assert masks.mask("a second line") == "a ***"
    assert one.obey("::add-mask:: ") == (
        "##[warning]Can't add secret mask for empty string in ##[add-mask] command."
    )


def test_the_old_outputs_still_work_with_one_warning() -> None:
    one = commands()
    assert one.obey("::set-output name=A::b%0Ac") is None
    one.obey("::set-output name=A::d=e")
    one.obey("::save-state name=s::1")
    assert (one.outputs, one.state) == ({"A": "d=e"}, {"s": "1"})
    assert [a.level for a in one.annotations] == ["warning", "warning"]
    assert one.annotations[0].message.startswith("The `set-output` command is deprecated")


def test_an_output_without_a_name_fails_the_step() -> None:
    one = commands()
    shown = one.obey("::set-output::x")
    assert shown == (
        "##[error]Unable to process command '::set-output::x' successfully.\n"
        "##[error]Required field 'name' is missing in ##[set-output] command."
    )
    assert one.failures == ["Required field 'name' is missing in ##[set-output] command."]


def test_variables_and_paths_are_refused_unless_the_workflow_allows_them() -> None:
    one = commands()
    one.obey("::set-env name=A::1")
    one.obey("::add-path::/x")
    assert (one.env, one.paths, len(one.failures)) == ({}, [], 2)
    assert one.failures[0].startswith("The `set-env` command is disabled.")
    allowed = commands(ACTIONS_ALLOW_UNSECURE_COMMANDS="True")
    for line in ("::set-env name=A::1", "::add-path::/x", "::add-path::/y", "::add-path::/x"):
        assert allowed.obey(line) is None
    assert (allowed.env, allowed.paths, allowed.failures) == ({"A": "1"}, ["/y", "/x"], [])
    allowed.obey("::set-env name=node_options::x")
    assert "node_options" not in allowed.env
    assert allowed.failures == []


def test_echo_repeats_commands() -> None:
    one = commands()
    assert one.obey("::echo::on") is None
    assert one.obey("::save-state name=a::b") == "::save-state name=a::b"
    assert one.obey("::add-mask::hunter2") == "::add-mask::***"
    assert one.obey("::error::x") == "##[error]x"
    assert one.obey("::echo::OFF ") == "::echo::OFF "
    assert one.obey("::save-state name=a::b") is None
    one.obey("::echo::maybe")
    assert one.failures[0].startswith("Invalid echo command value.")


def test_commands_can_be_stopped_and_resumed() -> None:
    masks = Masks()
    one = Commands(masks, env={}, workspace="/w")
    assert one.obey("::stop-commands::my-token-1") == "::stop-commands::my-token-1"
    assert one.obey("::error::not one") == "::error::not one"
    assert one.obey("##[error]not one") == "##[error]not one"
    assert one.obey("::MY-TOKEN-1::") == "::MY-TOKEN-1::"
    assert one.annotations == []
    one.obey("::error::one")
    assert len(one.annotations) == 1
    # A token of more than six letters is no longer shown.
    assert masks.mask("my-token-1") == "***"
    assert one.obey("::my-token-1::") == "::my-token-1::"


@pytest.mark.parametrize("token", ["", "pause-logging", "error", "Set-Env"])
def test_a_bad_token_stops_nothing_and_fails_the_step(token: str) -> None:
    one = commands()
    one.obey(f"::stop-commands::{token}")
    assert one.failures[0].startswith("You cannot use a endToken that is an empty string")
    one.obey("::error::x")
    assert one.annotations[-1].message == "x"
    allowed = commands(ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS="true")
    allowed.obey(f"::stop-commands::{token}")
    assert allowed.failures == []


def test_a_problem_matcher_is_said_not_to_be_applied() -> None:
    one = commands()
    assert one.obey("::add-matcher::.github/python.json") is None
    assert one.obey("::remove-matcher owner=python::") is None
    assert one.notes == ["problem matcher .github/python.json is not applied"]
