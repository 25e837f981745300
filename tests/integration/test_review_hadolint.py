"""hadolint in a review: what it says is compared with the base, and what it cannot read is never clean."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from presubmit.review.values import Remark
from presubmit.review_tools import hadolint_remarks
from tests.unit.review.trees import facts_of

if TYPE_CHECKING:
    from pathlib import Path

STUB = """\
#!/bin/sh
text=$(cat)
case "$text" in
  *heredoc*) printf '[{"code":"DL1000","column":1,"file":"-","level":"error","line":2,"message":"unexpected"}]'; exit 1;;
  *broken*) echo no json; exit 1;;
  *cd*) printf '[{"code":"DL3003","column":1,"file":"-","level":"warning","line":2,"message":"Use WORKDIR"},'
        printf '{"code":"DL3006","column":1,"file":"-","level":"warning","line":1,"message":"tag"}]'; exit 1;;
  *) printf '[]';;
esac
"""


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "hadolint"
    program.write_text(STUB)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", os.environ["PATH"])


def said(base: str, head: str) -> list[str]:
    found = hadolint_remarks(facts_of({"Dockerfile": base}, {"Dockerfile": head}))
    return [one.code if isinstance(one, Remark) else f"not checked: {one.why}" for one in found]


@pytest.mark.usefixtures("stub")
def test_only_what_is_new_and_not_said_already_is_given() -> None:
    assert said("FROM a\n", "FROM a\nRUN cd /x\n") == ["hadolint.DL3003"]
    assert said("FROM a\nRUN cd /x\n", "FROM a\nRUN cd /x\nRUN b\n") == []
    assert said("FROM a\nRUN cd /x\n", "FROM a\nRUN cd /y\n") == []


@pytest.mark.usefixtures("stub")
def test_what_it_cannot_read_is_not_checked() -> None:
    assert said("FROM a\n", "FROM a\nheredoc\n") == ["not checked: line 2: unexpected"]
    [base] = said("FROM a\nheredoc\n", "FROM a\n")
    assert "base" in base
    [broken] = said("FROM a\n", "FROM a\nbroken\n")
    assert "no answer" in broken


def test_without_it_every_changed_dockerfile_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    [why] = said("FROM a\n", "FROM b\n")
    assert "not installed" in why


def test_a_change_without_a_dockerfile_asks_nobody() -> None:
    assert [*hadolint_remarks(facts_of({}, {"a.py": ""}))] == []
