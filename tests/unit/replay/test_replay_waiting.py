"""A session that waits for what to do ends when the tool is gone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from presubmit.replay.assignment import TOOL_VARIABLE
from presubmit.replay.session import wait_for_assignment

if TYPE_CHECKING:
    from pathlib import Path


class EndedError(Exception):
    pass


class Session:
    def error(self, text: str) -> NoReturn:
        raise EndedError(text)


def wait(path: Path) -> None:
    session: Any = Session()
    wait_for_assignment(session, path)


def test_it_ends_also_where_the_tool_ended_before_it_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that was interrupted at once left a session that waited for ever: its parent was init already."""
    monkeypatch.setenv(TOOL_VARIABLE, str(os.getppid() + 1))
    with pytest.raises(EndedError, match="the tool is gone"):
        wait(tmp_path / "assignment.json")


def test_what_is_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOOL_VARIABLE, str(os.getppid()))
    path = tmp_path / "assignment.json"
    path.write_text("{}")
    wait(path)
