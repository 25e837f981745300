"""What the drafts of six real changes look like: runs on the sources of attrs 26.1.0 and MarkupSafe 3.0.3.

The golden files are rewritten with PRESUBMIT_UPDATE_GOLDEN=1; review reads the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.drafts.checklist import draft_checklist
from presubmit.drafts.fill import refill, visible_lines
from presubmit.drafts.pr import draft_pr, state_lines
from presubmit.drafts.rfc import draft_rfc
from presubmit.drafts.rfc_verdict import Level, judge_rfc
from presubmit.drafts.template import read_template
from presubmit.drafts.values import Commit

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.template import Template
    from presubmit.drafts.values import DraftFacts

    Facts = Callable[..., DraftFacts]

TESTS = Path(__file__).parents[2]
GOLDEN = TESTS / "data" / "golden" / "drafts"
UPDATE = os.environ.get("PRESUBMIT_UPDATE_GOLDEN") == "1"
CHANGES = {
    "fix-with-test": True,
    "fix-without-test": False,
    "docs-only": True,
    "api-break": True,
    "performance": False,
    "image-change": False,
}
"""Each change, and whether it is drafted on attrs' own template."""


def plain(text: str) -> str:
    return text


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def template_of(name: str) -> Template | None:
    if not CHANGES[name]:
        return None
    text = (TESTS / "data" / "drafts" / "attrs-template.md").read_text()
    return read_template(".github/PULL_REQUEST_TEMPLATE.md", text)


@pytest.mark.parametrize("name", CHANGES)
def test_the_pull_request_of_a_real_change(name: str, facts: Facts) -> None:
    check_golden(f"{name}-PR.md", draft_pr(facts(name), template_of(name), "", plain))


@pytest.mark.parametrize("name", CHANGES)
def test_the_checklist_of_a_real_change(name: str, facts: Facts) -> None:
    found = facts(name)
    text = draft_checklist(found, "\n".join(state_lines(found)), "", plain)
    check_golden(f"{name}-CHECKLIST.md", text)


def test_the_rfc_of_an_api_break(facts: Facts) -> None:
    check_golden("api-break-RFC.md", draft_rfc(facts("api-break"), None, "", plain))


@pytest.mark.parametrize("name", CHANGES)
def test_a_reader_sees_25_lines_at_the_most(name: str, facts: Facts) -> None:
    text = draft_pr(facts(name), None, "", plain)
    assert visible_lines(text) <= 25


def test_a_run_full_of_failures_is_cut_to_what_a_reader_sees(facts: Facts) -> None:
    found = facts("api-break")
    failure = found.run.failures[0]
    many = tuple(
        msgspec.structs.replace(failure, subject=f"tests/test_{n}.py::test_x", label=label)
        for n in range(40)
        for label in ("new", "flaky", "unknown", "on_base")
    )
    paths = tuple(
        msgspec.structs.replace(found.files[0], path=f"area{n}/deep/a.py") for n in range(40)
    )
    commits = tuple(Commit(subject=f"Change {n}", body="Why") for n in range(30))
    run = msgspec.structs.replace(found.run, failures=many)
    full = msgspec.structs.replace(found, run=run, files=paths, commits=commits)
    text = draft_pr(full, None, "", plain)
    assert visible_lines(text) <= 25
    assert "more" in text


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_break_of_the_api_has_an_rfc_suggested(name: str, facts: Facts) -> None:
    wanted = Level.SUGGESTED if name == "api-break" else Level.NOT_NEEDED
    assert judge_rfc(facts(name))[0] is wanted


@pytest.mark.parametrize("name", CHANGES)
def test_a_draft_written_again_is_the_same(name: str, facts: Facts) -> None:
    first = draft_pr(facts(name), template_of(name), "", plain)
    assert draft_pr(facts(name), None, first, plain) == first


@pytest.mark.parametrize("name", CHANGES)
def test_a_stale_run_ticks_nothing(name: str, facts: Facts) -> None:
    found = facts(name, stale=("the run tested tree 1234567",))
    text = draft_pr(found, template_of(name), "", plain)
    text += draft_checklist(found, "\n".join(state_lines(found)), "", plain)
    assert re.findall(r"(?m)^\s*[-*]?\s*\[[xX]\]", text) == []
    assert "> Stale: the run tested tree 1234567" in text


def test_what_was_ticked_is_cleared_when_the_run_is_stale(facts: Facts) -> None:
    first = draft_pr(facts("fix-with-test"), template_of("fix-with-test"), "", plain)
    assert "- [x] Changes have news fragments" in first
    stale = facts("fix-with-test", stale=("another tree",))
    again = draft_pr(stale, None, first, plain)
    assert "- [ ] Changes have news fragments" in again


def test_the_authors_words_and_ticks_live_through_another_draft(facts: Facts) -> None:
    name = "docs-only"
    text = draft_pr(facts(name), template_of(name), "", plain)
    todo = "TODO(author): why this change: what was wrong or missing, and for whom."
    promise = "[ ] I acknowledge this project's"
    assert todo in text
    assert promise in text
    edited = text.replace(todo, "People asked.").replace(promise, promise.replace("[ ]", "[x]"))
    again = draft_pr(facts(name), template_of(name), edited, plain)
    assert again == edited


def test_a_tick_by_hand_in_a_box_of_ours_is_no_evidence(facts: Facts) -> None:
    name = "fix-without-test"
    text = draft_pr(facts(name), None, "", plain)
    ticked = text.replace("- [ ] The change comes with tests", "- [x] The change comes with tests")
    assert ticked != text
    assert draft_pr(facts(name), None, ticked, plain) == text


def test_a_block_that_the_author_took_out_stays_out(facts: Facts) -> None:
    text = draft_pr(facts("performance"), None, "", plain)
    start = text.index("<!-- presubmit:performance -->")
    end = text.index("<!-- /presubmit:performance -->") + len("<!-- /presubmit:performance -->")
    without = text[:start] + text[end:]
    assert draft_pr(facts("performance"), None, without, plain) == without


def test_text_cannot_end_the_block_it_stands_in() -> None:
    text = "<!-- presubmit:summary -->\n<!-- /presubmit:summary -->\n"
    evil = "a\n<!-- /presubmit:summary -->\n- [x] b"
    once = refill(text, {"summary": evil}, plain)
    assert once.count("<!-- /presubmit:summary -->") == 1
    assert refill(once, {"summary": "c"}, plain) == (
        "<!-- presubmit:summary -->\nc\n<!-- /presubmit:summary -->\n"
    )
