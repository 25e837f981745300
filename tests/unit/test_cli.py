"""The command line by itself: help, the reference pages, and every command that the documents show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from presubmit.cli import invoke as run_cli
from presubmit.cli.app import app
from presubmit.cli.options import Seconds, ShardOf, make_options
from presubmit.cli.reference import render_cli, render_config
from presubmit.errors import UsageError
from presubmit.selector.shards import Shard

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands() -> list[str]:
    return app.list_commands(click.Context(app))


@pytest.mark.parametrize("name", commands())
def test_every_command_explains_itself(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert (command.help or "").strip()
    undocumented = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert undocumented == []


@pytest.mark.parametrize(("page", "render"), [("config", render_config), ("cli", render_cli)])
def test_a_reference_page_is_what_the_code_says(page: str, render: object) -> None:
    assert callable(render)
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text()
    assert text == render(), "run scripts/reference"


def shown_commands() -> list[tuple[str, str]]:
    """Give (document, command) for every `presubmit …` in a code block or code span."""
    found = []
    for document in DOCUMENTS:
        if document.name == "cli.md":
            continue
        text = document.read_text()
        blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks for line in block.splitlines()]
        lines += re.findall(r"`(presubmit [^`]+)`", text)
        for line in lines:
            words = line.split("#")[0].strip()
            if re.match(r"presubmit [a-z]+( |$)", words) and "  " not in words:
                found.append((str(document.relative_to(ROOT)), words))
    return sorted(set(found))


@pytest.mark.parametrize(("document", "command"), shown_commands())
def test_every_command_that_a_document_shows_can_be_parsed(document: str, command: str) -> None:
    assert document
    context = click.Context(app, info_name="presubmit")
    words = shlex.split(command.replace("…", "x"))[1:]
    group: click.Command = app
    while isinstance(group, click.Group) and words:
        name = words.pop(0)
        found = group.get_command(context, name)
        assert found is not None, f"{document} shows `{command}`"
        group = found
    group.make_context(group.name, words, parent=context)


def test_documents_show_commands_at_all() -> None:
    assert len(shown_commands()) > 20


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0)]
)
def test_a_time_may_have_a_unit(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "x", "-1", "5 minutes", "1d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)


def test_a_shard_is_one_of_several() -> None:
    assert ShardOf().convert(" 2/4 ", None, None) == Shard(number=2, count=4)
    assert str(Shard(number=2, count=4)) == "2/4"


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "-1/2", "1/2/3", "a/b", "²/4"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        ShardOf().convert(text, None, None)


@pytest.mark.parametrize(
    "values",
    [
        {"staged": True, "commit": "HEAD"},
        {"shard": Shard(number=1, count=2), "last_failed": True},
        {"shard": Shard(number=1, count=2), "arguments": ("-k", "x")},
    ],
)
def test_contradicting_options_are_a_usage_error(values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make_options(values)


def test_only_and_skip_take_lists_with_commas() -> None:
    done = CliRunner().invoke(app, ["run", "--only", "a,b", "--help"])
    assert done.exit_code == 0


def test_a_wrong_option_is_exit_2_and_a_missing_repository_exit_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli(["run", "--nonsense"]) == 2
    assert run_cli(["plan"]) == 3
    told = capsys.readouterr().err
    assert "is not in a git repository" in told
    assert "  -> " in told
    assert "Traceback" not in told


def test_a_fault_of_our_own_is_written_down_and_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("presubmit.cli.app.app.main", lambda **_: 1 // 0)
    assert run_cli([]) == 3
    told = capsys.readouterr().err
    assert "presubmit itself failed: ZeroDivisionError" in told
    log = next((tmp_path / "presubmit").glob("crash-*.log"))
    assert "Traceback" in log.read_text()
