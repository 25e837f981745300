"""Messages that steps attach to lines of files, and the log."""

from __future__ import annotations

from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it


def test_annotations_are_relative_to_the_workspace_and_name_their_step(cell: RunCell) -> None:
    ran = cell("""
      - name: tool
        run: |
          echo "::error file=$PWD/src/a.py,line=3,endLine=4,col=1,title=E1::bad%0Aworse"
          echo "   ::warning file=b.py,line=7::odd"
          echo "::notice::plain"
          echo "::debug::un""seen"
    """)
    first, second, third = ran.result.annotations
    assert (first.file, first.line, first.end_line, first.title) == ("src/a.py", 3, 4, "E1")
    assert (first.level, first.message, first.step) == ("error", "bad\nworse", "tool")
    assert (second.level, second.file, second.line, second.message) == (
        "warning",
        "b.py",
        7,
        "odd",
    )
    assert (third.level, third.file, third.message) == ("notice", "", "plain")
    assert "unseen" not in ran.log
    assert ran.ok  # an error annotation fails nothing


def test_ten_of_each_level_and_step_are_kept_and_the_rest_is_counted(cell: RunCell) -> None:
    ran = cell("""
      - {name: many, run: 'for i in $(seq 13); do echo "::warning::w$i"; done; echo "::error::e"'}
      - {name: more, run: 'echo ::warning::x'}
    """)
    assert len([1 for one in ran.result.annotations if one.level == "warning"]) == 11
    assert "3 more warning annotations of many are left out" in ran.result.notes
    assert ran.log.count("##[warning]w") == 13


def test_commands_can_be_stopped(cell: RunCell) -> None:
    ran = cell("""
      - name: a
        run: |
          echo "::stop-commands::token-of-it"
          echo "::error::not one"
          echo "::token-of-it::"
          echo "::error::one"
    """)
    assert ran.annotations == [("error", "one")]


def test_a_command_that_is_disabled_fails_the_step(cell: RunCell) -> None:
    ran = cell("- {id: a, run: 'echo \"::set-env name=A::b\"'}")
    assert ran["a"].exit_code == 0
    assert ran["a"].outcome == "failure"
    assert "The `set-env` command is disabled" in ran["a"].reason
    allowed = cell(
        "- run: echo '::set-env name=A::b'\n- {name: b, run: 'echo $A'}",
        job="env: {ACTIONS_ALLOW_UNSECURE_COMMANDS: true}",
    )
    assert allowed.printed("b") == ["b"]


def test_a_script_cannot_forge_what_the_log_says_of_it(cell: RunCell) -> None:
    ran = cell("""
      - name: a
        run: |
          # ::error::not printed
          echo plain
    """)
    assert ran.annotations == []
    assert "| # ::error::not printed" in ran.log


def test_the_log_shows_each_step_with_its_line(cell: RunCell) -> None:
    ran = cell("- {name: one, run: 'echo 1'}\n- {name: two, run: 'exit 5'}")
    assert "=== one (ci.yml:8)\n| echo 1\nshell: bash -e {0}\n1\n" in ran.log
    assert ran["two"].reason == "exit code 5"


def test_the_last_lines_of_a_failing_step_are_kept(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'seq 5000; exit 1'}\n- {name: b, if: always(), run: 'echo fine'}")
    tail = ran["a"].tail
    assert tail.endswith("4999\n5000\n")
    assert len(tail) <= 32_000
    assert ran["b"].tail == ""
