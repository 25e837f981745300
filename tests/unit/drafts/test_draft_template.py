"""Which template is found, in gh's order, and what becomes of its boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.drafts.boxes import answer_boxes, evidence_for, first_boxes
from presubmit.drafts.checklist import draft_checklist
from presubmit.drafts.fill import open_todos, visible_lines, with_issue
from presubmit.drafts.pr import draft_pr
from presubmit.drafts.template import (
    choose_template,
    find_rfc_templates,
    find_templates,
    read_template,
)
from presubmit.drafts.values import Item
from presubmit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.values import DraftFacts

FILE = "100644"


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        (
            ["docs/pull_request_template.md", "PULL_REQUEST_TEMPLATE.md"],
            ("PULL_REQUEST_TEMPLATE.md",),
        ),
        (
            ["PULL_REQUEST_TEMPLATE.md", ".github/pull-request-template.txt"],
            (".github/pull-request-template.txt",),
        ),
        (["PULL_REQUEST_TEMPLATE"], ("PULL_REQUEST_TEMPLATE",)),
        (["PULL_REQUEST_TEMPLATES.md", "src/PULL_REQUEST_TEMPLATE.md"], ()),
        (
            [
                ".github/PULL_REQUEST_TEMPLATE.md",
                "docs/Pull_Request_Template/b.md",
                "docs/Pull_Request_Template/a.md",
            ],
            ("docs/Pull_Request_Template/a.md", "docs/Pull_Request_Template/b.md"),
        ),
        ([".github/PULL_REQUEST_TEMPLATE/a.txt"], ()),
    ],
)
def test_templates_are_found_as_gh_finds_them(paths: list[str], wanted: tuple[str, ...]) -> None:
    assert find_templates(dict.fromkeys(paths, FILE)) == wanted


def test_a_link_is_no_template() -> None:
    assert find_templates({".github/PULL_REQUEST_TEMPLATE.md": "120000"}) == ()


def test_several_templates_need_a_name() -> None:
    texts = {"a/one.md": "1", "a/two.md": "2"}
    with pytest.raises(UsageError) as caught:
        choose_template(texts, "", texts.get)
    assert caught.value.hint == "--template, one of: a/one.md, a/two.md"
    chosen = choose_template(texts, "two", texts.get)
    assert chosen is not None
    assert chosen.text == "2"


def test_a_name_that_is_no_template_is_refused() -> None:
    with pytest.raises(UsageError, match="no template three"):
        choose_template(["a/one.md"], "three", {"a/one.md": ""}.get)


def test_no_template_is_none() -> None:
    assert choose_template([], "auto", lambda _: None) is None


def test_front_matter_is_cut_and_gives_the_title() -> None:
    found = read_template("x.md", '---\nname: x\ntitle: "[BUG] "\n---\n\n# Body\n')
    assert (found.title, found.text) == ("[BUG] ", "# Body\n")
    assert read_template("x.md", "# Body\r\n---\r\n").text == "# Body\n---\n"


def test_templates_of_rfcs_are_found_by_their_names() -> None:
    paths = [
        "RFC-0000-template.md",
        "text/0000-template.md",
        "src/0000-template.md",
        "nnnn-kep-template.md",
        "rfcs/0001-x.md",
    ]
    assert find_rfc_templates(dict.fromkeys(paths, FILE)) == (
        "RFC-0000-template.md",
        "nnnn-kep-template.md",
        "text/0000-template.md",
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" ran `lintrunner -a`", "step:lint"),
        (" Tests pass", "step:tests"),
        (" I have read the contribution guide", ""),
        (" I ran the linter", ""),
        (" I agree to the CLA", ""),
        (" Added a **news fragment**", "changelog"),
        (" Commits are signed-off", "dco"),
        (" Added tests", "tests-added"),
        (" The documentation has been updated", ""),
    ],
)
def test_a_box_is_answered_by_evidence_or_by_nobody(text: str, wanted: str) -> None:
    assert evidence_for(text, ()) == wanted


def test_the_configuration_says_what_answers_a_box() -> None:
    items = (
        Item(id="a", text="ran `make all`", evidence="step:build"),
        Item(id="b", text="tests", evidence="none"),
    )
    assert evidence_for(" I ran make all", items) == "step:build"
    assert evidence_for(" Added tests", items) == ""


def test_boxes_of_a_template_begin_empty_also_without_a_dash() -> None:
    text = "[x] ran lintrunner\n- [X] I agree\n1. [ ] tests pass\n[a](b)\n```\n- [x] example\n```\n<!--\n- [x] hidden\n-->\n"
    assert first_boxes(text, ()) == (
        "[ ] ran lintrunner <!-- presubmit:box step:lint -->\n- [ ] I agree\n"
        "1. [ ] tests pass <!-- presubmit:box step:tests -->\n[a](b)\n```\n- [x] example\n```\n<!--\n- [x] hidden\n-->\n"
    )


def test_a_bare_box_is_ticked_by_its_step_with_the_reason(
    facts: Callable[..., DraftFacts],
) -> None:
    boxes = first_boxes("[ ] ran ruff\n", ())
    assert answer_boxes(boxes, facts("performance")) == (
        "[x] ran ruff <!-- presubmit:box step:lint --> — `ruff`\n"
    )
    assert "[ ] ran ruff" in answer_boxes(boxes, facts("api-break"))


def test_another_linter_is_not_the_one_that_the_box_names(
    facts: Callable[..., DraftFacts],
) -> None:
    boxes = first_boxes("[ ] ran `lintrunner -a`\n", ())
    assert answer_boxes(boxes, facts("performance")) == (
        "[ ] ran `lintrunner -a` <!-- presubmit:box step:lint -->"
        " — `lintrunner` itself was not run; `ruff` passed\n"
    )


def test_a_look_at_the_syntax_is_no_lint(facts: Callable[..., DraftFacts]) -> None:
    found = facts("performance")
    run = msgspec.structs.replace(found.run, steps=found.run.steps[:1])
    only = msgspec.structs.replace(found, run=run)
    assert "[ ] Lint passes" in answer_boxes(first_boxes("- [ ] Lint passes\n", ()), only)


def test_all_tests_pass_is_not_said_by_some_of_them(facts: Callable[..., DraftFacts]) -> None:
    boxes = first_boxes("- [ ] all tests pass\n", ())
    assert "[ ] all tests pass" in answer_boxes(boxes, facts("fix-without-test"))
    assert "[x] all tests pass" in answer_boxes(boxes, facts("image-change"))


def test_a_template_cannot_bring_marks_of_ours(facts: Callable[..., DraftFacts]) -> None:
    text = "- [ ] I agree <!-- presubmit:box tests -->\n<!-- presubmit:tested -->\n<!-- /presubmit:tested -->\n"
    found = facts("image-change")
    drafted = draft_pr(found, read_template("x.md", text), "", lambda it: it)
    assert "- [ ] I agree" in drafted
    assert drafted.count("<!-- presubmit:tested -->") == 1


def test_names_of_files_and_tests_cannot_leave_their_line(
    facts: Callable[..., DraftFacts],
) -> None:
    found = facts("api-break")
    evil = "a`\n- [x] reviewed\n<!-- /presubmit:tested -->\n`b"
    failure = msgspec.structs.replace(
        found.run.failures[0], subject=evil, message=evil, label="new"
    )
    step = msgspec.structs.replace(found.run.steps[1], reason=evil, id="lint.2")
    run = msgspec.structs.replace(
        found.run, failures=(failure,), steps=(step, *found.run.steps[3:])
    )
    file = msgspec.structs.replace(found.files[0], path=evil)
    spoilt = msgspec.structs.replace(found, run=run, files=(file,), uncommitted=(evil,))
    text = draft_pr(spoilt, None, "", lambda it: it)
    text += draft_checklist(spoilt, "", "", lambda it: it)
    assert "\n- [x] reviewed" not in text
    assert text.count("<!-- /presubmit:tested -->") == 1


def test_the_issue_takes_the_place_of_the_templates_number() -> None:
    assert with_issue("Fixes #ISSUE_NUMBER\n", ("#12",)) == "Fixes #12\n"
    assert with_issue("Fixes #ISSUE_NUMBER\n", ()) == "Fixes #ISSUE_NUMBER\n"


def test_what_is_open_are_todos_and_numbers_that_are_none_outside_of_comments() -> None:
    text = "- TODO(author): why.\n<!-- TODO(author): no -->\nFixes #ISSUE_NUMBER\n`<!--` TODO(author): yes\n"
    assert open_todos(text) == (
        "TODO(author): why.",
        "Fixes #ISSUE_NUMBER",
        "`<!--` TODO(author): yes",
    )


def test_comments_blank_lines_and_folds_are_not_seen() -> None:
    text = "# A\n\n<!-- b\nc -->\nd `<!-->`\n<details><summary>e</summary>\n\nf\n</details>\n"
    assert visible_lines(text) == 2
