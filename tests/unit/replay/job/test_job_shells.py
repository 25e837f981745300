from __future__ import annotations

import pytest

from presubmit.replay.job.shells import Shell, ShellError, shell_command, split_arguments


def shell(
    name: str | None, *, programs: str = "bash sh python", in_container: bool = False
) -> Shell:
    found = programs.split()
    return shell_command(
        name, has=lambda word: word in found, in_container=in_container, script="x\n"
    )


def command(name: str | None, *, programs: str = "bash sh python") -> str:
    return " ".join(shell(name, programs=programs).command("/t/s.sh"))


def test_without_a_shell_it_is_bash_that_stops_at_errors_but_not_in_pipes() -> None:
    assert command(None) == "bash -e /t/s.sh"
    assert command("") == "bash -e /t/s.sh"
    assert shell(None).extension == ".sh"


def test_without_bash_it_is_sh() -> None:
    assert command(None, programs="sh") == "sh -e /t/s.sh"


def test_in_a_job_container_it_is_sh_even_where_bash_is() -> None:
    assert shell(None, in_container=True).command("/t/s.sh") == ("sh", "-e", "/t/s.sh")


def test_bash_that_is_named_also_stops_in_pipes() -> None:
    assert command("bash") == "bash --noprofile --norc -e -o pipefail /t/s.sh"


def test_the_other_shells_of_github() -> None:
    assert command("sh") == "sh -e /t/s.sh"
    assert command("python") == "python /t/s.sh"
    assert shell("python").extension == ".py"
    pwsh = shell("pwsh", programs="pwsh")
    assert pwsh.command("/t/s.ps1") == ("pwsh", "-command", ". '/t/s.ps1'")
    assert pwsh.extension == ".ps1"


def test_only_powershell_and_cmd_get_lines_of_their_own() -> None:
    assert shell("bash").contents == "x\n"
    assert shell("pwsh", programs="pwsh").contents == (
        "$ErrorActionPreference = 'stop'\nx\n\n"
        "if ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) { exit $LASTEXITCODE }"
    )
    assert shell("cmd", programs="cmd").contents == "@echo off\nx\n"


def test_a_command_line_of_its_own_is_taken_as_it_is() -> None:
    assert command("bash -l {0}") == "bash -l /t/s.sh"
    assert shell("bash -l {0}").extension == ".sh"
    rscript = shell("Rscript {0}", programs="Rscript")
    assert (rscript.command("/s"), rscript.extension) == (("Rscript", "/s"), "")
    assert command("pixi run bash -e {0}", programs="pixi") == "pixi run bash -e /t/s.sh"


def test_a_command_line_is_split_by_double_quotes_only() -> None:
    found = shell("bash -c \"source 'a b' && bash {0}\"").command("/s")
    assert found == ("bash", "-c", "source 'a b' && bash /s")


def test_doubled_braces_stand_for_one_and_others_are_an_error() -> None:
    assert command("bash -c {{{0}}}") == "bash -c {/t/s.sh}"
    with pytest.raises(ShellError, match="not in a correct format"):
        command("bash -c {1}{0}")


def test_a_missing_program_is_said_as_github_does() -> None:
    with pytest.raises(ShellError, match=r"^zsh: command not found$"):
        shell("zsh {0}")
    with pytest.raises(ShellError, match=r"^pwsh: command not found$"):
        shell("pwsh")


def test_a_command_line_without_a_place_for_the_script_is_an_error() -> None:
    for name in ("perl", "bash -l"):
        with pytest.raises(ShellError, match=r"^Invalid shell option\. Shell must be a valid"):
            shell(name, programs="perl bash")


def test_a_shell_shows_itself_as_the_log_has_it() -> None:
    assert str(shell(None)) == "bash -e {0}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("  a \t b  ", ("a", "b")),
        ('"a b" c', ("a b", "c")),
        ('a"b c"d', ("ab cd",)),
        ('""', ("",)),
        ("'a b'", ("'a", "b'")),
        (r"a\b \\", (r"a\b", r"\\")),
        (r"\"a\" b", ('"a"', "b")),
        (r'"a\\" b', ("a\\", "b")),
        ('"a""b"', ('a"b',)),
        ('"open end', ("open end",)),
    ],
)
def test_arguments_are_split_as_dotnet_does(text: str, words: tuple[str, ...]) -> None:
    assert split_arguments(text) == words
