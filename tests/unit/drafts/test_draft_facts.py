"""The facts under a draft: commits, owners, public names, runs, and what a project asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit import __version__
from presubmit.bench.values import Word
from presubmit.draft_reading import is_source
from presubmit.drafts.api import api_of_review
from presubmit.drafts.asked import asks_sign_off, find_fragments, required_names, rfc_places
from presubmit.drafts.checklist import draft_checklist
from presubmit.drafts.commits import issues_of, summary_lines, title_of
from presubmit.drafts.environment import environment_lines
from presubmit.drafts.fill import open_todos
from presubmit.drafts.owners import read_owners
from presubmit.drafts.pr import draft_pr
from presubmit.drafts.proof import answer, is_evidence
from presubmit.drafts.rfc import draft_rfc
from presubmit.drafts.rfc_verdict import Level, judge_rfc
from presubmit.drafts.runs import choose_run, why_stale
from presubmit.drafts.template import Template, find_rfc_templates, read_template
from presubmit.drafts.tested import lines_on_tests, not_verified, performance_lines, review_lines
from presubmit.drafts.values import Api, Asked, Commit, Item, RunBase, RunStep, RunTarget, RunView
from presubmit.review.values import Remark, Review, Severity, Unchecked
from presubmit.upstream.cells import CellState, JobCell
from presubmit.values import Base, FileStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.values import DraftFacts

    Facts = Callable[..., DraftFacts]


def plain(text: str) -> str:
    return text


# --- commits ---


@pytest.mark.parametrize(
    ("body", "branch", "wanted"),
    [
        ("Fixes #12", None, ("#12",)),
        ("This closes a/b#3, and resolves: #4.", None, ("a/b#3", "#4")),
        ("Fixes https://github.com/a/b/issues/5", None, ("https://github.com/a/b/issues/5",)),
        ("See #12", None, ()),
        ("", "fix/123-name", ("#123",)),
        ("", "gh-77", ("#77",)),
        ("", "release-1.2", ()),
        ("Fixes #1", "gh-2", ("#1",)),
    ],
)
def test_issues_come_from_the_commits_else_from_the_branch(
    body: str, branch: str | None, wanted: tuple[str, ...]
) -> None:
    assert issues_of([Commit(subject="x", body=body)], branch) == wanted


def test_the_title_is_the_first_subject_behind_the_templates_own() -> None:
    commits = (Commit(subject="Count down"), Commit(subject="Count up"))
    assert title_of(commits, "") == "Count down"
    assert title_of(commits, "[BUG]") == "[BUG] Count down"
    assert title_of(commits, "a whole title") == "Count down"
    assert title_of((), "").startswith("TODO(author)")


def test_trailers_and_lines_that_only_close_an_issue_are_not_quoted() -> None:
    body = "Why.\n\nFixes #12\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@c>\n"
    assert summary_lines([Commit(subject="x", body=body)], 5) == (["Why."], [])


def test_a_long_message_is_folded() -> None:
    shown, rest = summary_lines([Commit(subject="x", body="- a\n- b\n- c")], 2)
    assert (shown, rest) == (["- a", "- b"], ["- a", "- b", "- c"])


def test_a_wrapped_paragraph_is_one_line_and_all_else_stays() -> None:
    body = "One sentence that\nis wrapped.\n\n1. a\n2. b\n\n    code\n    more\n\n```\nx\ny\n```\nThe\nend."
    shown, _ = summary_lines([Commit(subject="x", body=body)], 20)
    assert shown == [
        *("One sentence that is wrapped.", "", "1. a", "2. b", "", "    code", "    more", ""),
        *("```", "x", "y", "```", "The end."),
    ]


def test_commits_that_only_mend_others_say_nothing() -> None:
    commits = [
        Commit(subject="WIP"),
        Commit(subject="Count down.", body="Why."),
        Commit(subject="fixup! Count down."),
    ]
    assert title_of(commits, "") == "Count down"
    assert summary_lines(commits, 5) == (["Why."], [])
    assert title_of(commits[:1], "") == "WIP"


@pytest.mark.parametrize(
    ("commit", "branch"),
    [
        (Commit(subject='Revert "Fix #12"', body="This reverts commit abc."), None),
        (Commit(subject="x", body="This does not fix #12, nor doesn't close #13."), None),
        (Commit(subject="x"), "fix-3-bugs"),
    ],
)
def test_what_closes_no_issue_is_not_taken_for_it(commit: Commit, branch: str | None) -> None:
    assert issues_of([commit], branch) == ()


def test_several_commits_are_listed_by_subject() -> None:
    commits = [Commit(subject=f"s{n}", body="b" if n == 0 else "") for n in range(4)]
    shown, rest = summary_lines(commits, 3)
    assert shown == ["- s0", "- s1", "- and 2 more commits"]
    assert rest[:3] == ["- s2", "- s3", ""]


def test_a_message_cannot_tick_a_box_nor_open_a_comment() -> None:
    commit = Commit(subject="x", body="- [x] tested\na <!-- b\n`<!--` c <details>")
    assert summary_lines([commit], 5)[0] == [
        "- \\[x] tested",
        "a &lt;!-- b `<!--` c &lt;details>",
    ]


# --- owners ---


def test_the_last_line_that_matches_names_the_owners() -> None:
    text = "* @all\n/docs/ @docs # note\n*.cu @gpu @cuda\nsrc/a/* @a\n/build/ \n"
    paths = ["x.py", "docs/a/b.md", "k/x.cu", "src/a/x.py", "src/a/b/x.py", "build/x", "y/docs/z"]
    assert read_owners(text, paths) == {
        "x.py": ("@all",),
        "docs/a/b.md": ("@docs",),
        "k/x.cu": ("@gpu", "@cuda"),
        "src/a/x.py": ("@a",),
        "src/a/b/x.py": ("@all",),
        "y/docs/z": ("@all",),
    }


# --- the public API ---


def test_the_reviews_word_on_the_api_is_taken_over() -> None:
    review = Review(
        tree="t",
        base="b",
        rules=("api",),
        remarks=(
            Remark(code="api.removed", severity=Severity.WARNING, text="x", subject="p.f"),
            Remark(code="api.added", severity=Severity.NOTE, text="y", subject="p.g"),
            Remark(
                code="api.parameter",
                severity=Severity.WARNING,
                text="p.h takes no a",
                subject="p.h",
            ),
            Remark(code="api.module-added", severity=Severity.NOTE, text="n", subject="p.m"),
            Remark(code="docs.stale", severity=Severity.WARNING, text="z"),
        ),
    )
    found = api_of_review(review)
    assert found == Api(
        added=("p.g",),
        removed=("p.f",),
        altered=("p.h takes no a",),
        names=("p.h",),
        modules=("p.m",),
        whole=True,
    )
    left = Unchecked(rule="api", what="p.x", why="it does not parse")
    assert not api_of_review(msgspec.structs.replace(review, unchecked=(left,))).whole


def test_only_who_looked_at_all_of_it_can_say_that_no_name_breaks(facts: Facts) -> None:
    assert not answer("api", facts("fix-without-test")).ok
    assert answer("api", facts("fix-without-test", api=Api(whole=True))).ok


# --- runs ---


def view(
    name: str,
    *,
    tree: str = "t",
    exit_code: int = 0,
    why_none: str = "narrow",
    roles: str = "tests",
) -> RunView:
    steps = tuple(RunStep(id=f"{it}.1", role=it, outcome="passed") for it in roles.split())
    return RunView(
        name=name,
        state="passed" if exit_code == 0 else "failed",
        exit=exit_code,
        target=RunTarget(tree=tree),
        base=RunBase(commit="b"),
        steps=steps,
        evidence={"tree": tree, "why_none": why_none},
    )


def chosen(*runs: RunView) -> str:
    found = choose_run(runs, tree="t", base="b", snapshot="t")
    return found.name if found else ""


ROW = {
    "tree": "t",
    "base": "b",
    "base_ref": "r",
    "settings": "s",
    "tool": __version__,
    "cut": "",
}


def stale(
    run: RunView, row: dict[str, str] | None, *, tree: str, base: Base, differs: str = ""
) -> tuple[str, ...]:
    return why_stale(run, row, tree=tree, base=base, snapshot=tree, settings="s", differs=differs)


def test_the_run_of_this_tree_is_chosen() -> None:
    assert chosen(view("1"), view("2", tree="u")) == "1"
    assert chosen(view("1", tree="v"), view("2", tree="u")) == "2"
    assert chosen() == ""


def test_a_whole_green_run_says_more_than_a_narrow_one_after_it() -> None:
    assert chosen(view("1", why_none=""), view("2")) == "1"
    assert chosen(view("1", roles="lint tests build"), view("2", roles="bench")) == "1"


def test_what_was_replayed_beside_a_run_is_not_the_run() -> None:
    run = msgspec.structs.replace(view("1"), matrix={"run": "2", "exit": 1})
    assert chosen(run, view("2", exit_code=1)) == "1"
    assert chosen(view("1"), view("2", exit_code=1)) == "2"


def test_a_failure_after_a_green_run_is_the_last_word() -> None:
    assert chosen(view("1", why_none=""), view("2", exit_code=1)) == "2"


def test_what_differs_is_said() -> None:
    base = Base(ref="r", commit="c" * 40, tree="x", how="")
    assert stale(view("1"), ROW, tree="u", base=base, differs="a.py") == (
        "the run 1 tested tree t, this is u; it differs in a.py",
        "its base was b, now it is ccccccc",
    )
    same = msgspec.structs.replace(base, commit="b")
    assert stale(view("1"), ROW, tree="t", base=same) == ()


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (None, "the run 1: its files are not as a presubmit run here wrote them"),
        ({"tool": "0.0.1"}, f"the run 1: it is presubmit 0.0.1's, this is {__version__}"),
        ({"settings": "others"}, "the run 1: your own settings were others"),
        ({"base": "a" * 40}, "the run 1: the base moved: r @ aaaaaaa then, b now"),
        ({"tree": "v"}, "the run 1: it is evidence for tree v, this is t"),
    ],
)
def test_without_evidence_that_holds_a_run_shows_nothing(
    row: dict[str, str] | None, wanted: str
) -> None:
    base = Base(ref="r", commit="b", tree="x", how="")
    found = stale(view("1"), None if row is None else {**ROW, **row}, tree="t", base=base)
    assert len(found) == 1
    assert found[0].startswith(wanted)


# --- what answers a box ---


def test_no_evidence_answers_for_another_tree(facts: Facts) -> None:
    found = facts("fix-without-test", stale=("x",))
    names = ("tests", "build", "lint", "docs", "changelog", "dco", "merges", "api", "step:lint")
    assert not any(answer(name, found).ok for name in names)


def test_a_run_that_was_asked_for_less_ticks_nothing_and_says_so_once(facts: Facts) -> None:
    found = facts("fix-without-test", unproven="not the whole tier ran: --only tests")
    names = ("tests", "build", "lint", "docs", "changelog", "dco", "merges", "api", "step:lint")
    assert not any(answer(name, found).ok for name in names)
    text = draft_pr(found, None, "", plain)
    assert text.count("No box is ticked: not the whole tier ran: --only tests.") == 1
    assert "- [x]" not in text


def test_the_nearest_tests_are_not_the_affected_ones(facts: Facts) -> None:
    found = facts("fix-without-test")
    quick = msgspec.structs.replace(found.run, tier="quick")
    for name in ("tests", "step:tests"):
        assert answer(name, found).ok
        given = answer(name, msgspec.structs.replace(found, run=quick))
        assert (given.ok, given.why) == (False, "only the nearest tests ran")


def test_another_cell_that_failed_is_not_passed_over(facts: Facts) -> None:
    found = facts("fix-without-test")
    run = msgspec.structs.replace(found.run, matrix={"exit": 1, "cells": ["x"]})
    assert not answer("tests", msgspec.structs.replace(found, run=run)).ok


def test_benchmarks_of_a_run_without_evidence_tick_nothing(facts: Facts) -> None:
    found = facts("performance")
    assert found.comparison is not None
    sure = msgspec.structs.replace(
        found.comparison.measured,
        results=tuple(it for it in found.comparison.measured.results if it.word != "unsure"),
    )
    better = msgspec.structs.replace(found.comparison, measured=sure)
    given = answer(
        "bench", msgspec.structs.replace(found, comparison=better, measured_whole=False)
    )
    assert (given.ok, "not by a whole run" in given.why) == (False, True)


def test_a_step_that_was_cut_or_did_not_run_ticks_nothing(facts: Facts) -> None:
    found = facts("fix-without-test")
    steps = tuple(msgspec.structs.replace(it, cut="out of time") for it in found.run.steps)
    cut = msgspec.structs.replace(found, run=msgspec.structs.replace(found.run, steps=steps))
    none = msgspec.structs.replace(found, run=msgspec.structs.replace(found.run, steps=()))
    for name in ("tests", "build", "lint", "docs", "step:lint.1"):
        assert answer(name, found).ok
        assert not answer(name, cut).ok
        assert not answer(name, none).ok


def test_what_fails_on_the_base_as_well_is_no_new_failure_but_no_pass(facts: Facts) -> None:
    found = facts("fix-with-test")
    assert answer("tests", found).ok
    assert "1 failing on the base too" in answer("tests", found).why
    assert not answer("step:tests", found).ok


@pytest.mark.parametrize("label", ["new", "flaky", "unknown"])
def test_any_other_failure_ticks_nothing(facts: Facts, label: str) -> None:
    found = facts("fix-with-test")
    failures = tuple(msgspec.structs.replace(it, label=label) for it in found.run.failures)
    run = msgspec.structs.replace(found.run, failures=failures)
    assert not answer("tests", msgspec.structs.replace(found, run=run)).ok


def test_tests_that_the_budget_cut_are_not_passed_over(facts: Facts) -> None:
    found = facts("fix-without-test")
    run = msgspec.structs.replace(found.run, budget_cut=("tests/test_a.py",))
    assert not answer("tests", msgspec.structs.replace(found, run=run)).ok
    assert "- Affected, but not run: `tests/test_a.py`." in lines_on_tests(
        msgspec.structs.replace(found, run=run), 5, boxes=False
    )


def test_an_unsure_benchmark_is_no_tick(facts: Facts) -> None:
    found = facts("performance")
    assert not answer("bench", found).ok
    comparison = found.comparison
    assert comparison is not None
    sure = msgspec.structs.replace(
        comparison.measured,
        results=tuple(it for it in comparison.measured.results if it.word != "unsure"),
    )
    better = msgspec.structs.replace(comparison, measured=sure)
    assert answer("bench", msgspec.structs.replace(found, comparison=better)).ok


def test_commits_are_signed_off_all_or_not(facts: Facts) -> None:
    assert not answer("dco", facts("api-break")).ok
    assert answer("dco", facts("image-change")).ok
    assert not answer("dco", facts("image-change", commits=())).ok


def test_evidence_has_known_names() -> None:
    assert is_evidence("step:lint")
    assert is_evidence("none")
    assert not is_evidence("step:")
    assert not is_evidence("magic")


# --- what cannot be seen here ---


def cell(
    name: str, state: CellState = CellState.REPLAYED, reason: str = "", **axes: str
) -> JobCell:
    return JobCell(
        id=name, workflow="ci.yml", state=state, reason=reason, role="tests", axes=dict(axes)
    )


def test_other_platforms_and_interpreters_are_named(facts: Facts) -> None:
    lacks = CellState.NOT_REPLAYED
    cells = (
        cell("a", python="3.11"),
        cell("b", python="3.9"),
        cell("c", python="3.10"),
        cell("d", lacks, "runs-on: windows-latest", python="3.11"),
        cell("e", lacks, "runs-on: windows-2022", python="3.11"),
        cell("f", lacks, "needs a gpu"),
        cell("g", CellState.FILTERED, "windows"),
        cell("h", toxenv="py312", other="3.7"),
        cell("i", python="pypy-3.10"),
    )
    run = facts("fix-without-test").run
    assert not_verified(cells, run) == (
        "Windows (2 jobs)",
        "GPU (1 job)",
        "Python 3.9, 3.10, 3.12, PyPy 3.10",
    )
    replayed = msgspec.structs.replace(run, matrix={"exit": 0, "cells": ["b", "c", "h", "i"]})
    assert not_verified(cells[:3], replayed) == ()


def test_a_changed_image_is_not_what_the_tests_ran_in(facts: Facts) -> None:
    said = "- Not verified here: the image that `Dockerfile` now gives."
    assert said in lines_on_tests(facts("image-change"), 5, boxes=False)
    assert not any(
        "image" in line for line in lines_on_tests(facts("performance"), 5, boxes=False)
    )


def test_warnings_of_the_review_are_told_and_what_it_could_not_see(facts: Facts) -> None:
    review = Review(
        tree="t",
        base="b",
        rules=("pins",),
        remarks=(
            Remark(
                code="pins.floating",
                severity=Severity.WARNING,
                text="pytest floats",
                file="r.txt",
                line=1,
            ),
            Remark(code="x.y", severity=Severity.NOTE, text="a note"),
            Remark(code="api.removed", severity=Severity.WARNING, text="told elsewhere"),
        ),
        unchecked=(Unchecked(rule="audit", what="pip-audit", why="no network"),),
    )
    assert review_lines(facts("image-change", review=review), 3)[3:] == [
        "- warning: pytest floats (`r.txt:1`)",
        "- not checked: pip-audit: no network",
    ]


# --- RFC ---


def test_a_break_with_another_signal_needs_an_rfc(facts: Facts) -> None:
    found = facts("api-break")
    assert judge_rfc(found)[0] is Level.SUGGESTED
    more = msgspec.structs.replace(found, requirements=("numpy",))
    assert judge_rfc(more)[0] is Level.NEEDED
    asked = msgspec.structs.replace(found, asked=Asked(rfc_needed=("api-break",)))
    assert judge_rfc(asked)[0] is Level.NEEDED


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"requirements": ("numpy",)}, "new dependencies: `numpy`"),
        ({"api": Api(modules=("p.new",))}, "new public modules: `p.new`"),
        ({"api": Api(added=("a", "b", "c", "d", "e"))}, "5 new public names"),
        ({"owners": {"a": ("@a",), "b": ("@b",), "c": ("@c",)}}, "3 groups of owners must agree"),
    ],
)
def test_one_signal_suggests_an_rfc(facts: Facts, changed: dict[str, object], wanted: str) -> None:
    level, reasons = judge_rfc(facts("fix-without-test", **changed))
    assert (level, reasons) == (Level.SUGGESTED, (wanted,))


def test_facts_stand_under_the_headings_of_the_projects_own_template(facts: Facts) -> None:
    template = Template(
        path="0000-template.md",
        text="# Title\n\n## Summary\n\n## Detailed design\n\n## Drawbacks\n",
    )
    text = draft_rfc(facts("api-break"), template, "", plain)
    design = text.index("## Detailed design")
    assert design < text.index("`attr.validators.le` removed", design) < text.index("## Drawbacks")
    assert "TODO(author)" in text


# The headings of pytorch/rfcs' own template, each with a line of text, and what is written after the discussion.
PYTORCH = (
    "<details>\n<summary>Instructions</summary>\n\n- Fork it\n</details>\n\n# [Title]\n\n**Authors:**\n* @nickname\n\n"
    + "".join(
        f"## **{head}**\nWhat about it?\n\n"
        for head in ("Summary", "Motivation", "Proposed Implementation", "Metrics ", "Drawbacks")
    )
    + "## Resolution\nWe decided to do it.\n\n### Level of Support\nChoose one\n"
)


def test_the_template_of_pytorch_gets_a_title_facts_and_a_question_under_each_heading(
    facts: Facts,
) -> None:
    found = facts("api-break")
    text = draft_rfc(found, Template(path="RFC-0000-template.md", text=PYTORCH), "", plain)
    assert "\n# Make flags and match of matches\\_re keyword-only\n" in text
    assert "[Title]" not in text
    assert open_todos(text) == (
        *("TODO(author): Summary.", "TODO(author): Motivation."),
        *("TODO(author): Proposed Implementation.", "TODO(author): Metrics."),
        "TODO(author): Drawbacks.",
    )
    drawbacks = text[text.index("Drawbacks") : text.index("## Resolution")]
    assert "`attr.validators.le`, `attr.validators.matches_re` break their callers." in drawbacks
    assert "`attr.validators.le` is named in this repository by" in drawbacks
    assert "presubmit" not in text[text.index("## Resolution") :].replace("presubmit:environ", "")


def test_a_form_of_discussions_is_drafted_as_headings(facts: Facts) -> None:
    form = (
        "title: '[RFC] '\nbody:\n- type: markdown\n  attributes: {value: Thanks}\n"
        "- type: textarea\n  attributes: {label: Motivation, description: 'Why -->?'}\n"
        "- type: checkboxes\n  attributes:\n    label: First\n    options: [{label: I read it}]\n"
    )
    path = ".github/DISCUSSION_TEMPLATE/rfc.yml"
    assert find_rfc_templates({path: "100644", "text/0000-template.md": "100644"}) == (
        "text/0000-template.md",
    )
    assert find_rfc_templates({path: "100644", ".github/ISSUE_TEMPLATE/rfc.yml": "100644"}) == (
        path,
    )
    text = draft_rfc(facts("api-break"), read_template(path, form), "", plain)
    assert "# \\[RFC\\] Make flags" in text
    assert "## Motivation\n\nTODO(author): Motivation.\n\n\n<!-- Why --&gt;? -->" in text
    assert "## First\n\n- [ ] I read it" in text
    assert "## What changes for others\n\n<!-- presubmit:api -->\n- `attr.validators.le`" in text
    assert read_template(path, "body: [").text.startswith("# Title")


def test_an_rfc_says_nothing_of_breaks_where_there_are_none(facts: Facts) -> None:
    text = draft_rfc(facts("performance"), None, "", plain)
    assert "## Migration path" not in text
    assert "No public name and no dependency changes." in text
    assert "not all of it could be looked at" in text
    assert "| `bench/test_bench.py::test_striptags` |" in text


# --- what the project asks for ---


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"pyproject.toml": '[tool.towncrier]\ndirectory = "docs/news"\n'}, ("docs/news/*",)),
        ({"changelog.d/x.md": "", "CHANGELOG.md": ""}, ("changelog.d/*",)),
        ({"releasenotes/notes/x.yaml": ""}, ("releasenotes/notes/*",)),
        ({"CHANGES.rst": ""}, ("CHANGES.rst",)),
        ({"src/CHANGES.rst": ""}, ()),
        ({"pyproject.toml": "not = toml = x"}, ()),
    ],
)
def test_changelog_entries_are_what_the_project_uses(
    files: dict[str, str], wanted: tuple[str, ...]
) -> None:
    assert find_fragments(files, files.get) == wanted


def test_sign_offs_are_asked_for_by_files() -> None:
    text = {"CONTRIBUTING.md": "Use `git commit -s`."}
    assert asks_sign_off(text, text.get)
    assert asks_sign_off([".github/dco.yml"], lambda _: None)
    assert not asks_sign_off(["CONTRIBUTING.md"], {"CONTRIBUTING.md": "Welcome"}.get)


def test_where_a_proposal_goes_is_in_the_projects_files() -> None:
    files = {
        ".github/ISSUE_TEMPLATE/config.yml": "contact_links:\n- name: Ideas\n  url: https://x/d\n  about: Propose\n- name: Help\n  url: y\n  about: Ask\n",
        ".github/DISCUSSION_TEMPLATE/rfc.yml": "",
        ".github/ISSUE_TEMPLATE/feature_request.md": "",
        ".github/ISSUE_TEMPLATE/bug.md": "",
    }
    assert rfc_places(files, files.get) == (
        "Ideas: https://x/d",
        "a discussion in the category rfc",
        "an issue on the form feature_request.md",
    )
    broken = {
        ".github/ISSUE_TEMPLATE/config.yml": "a: [",
        ".github/ISSUE_TEMPLATE/config.yaml": "- x",
    }
    assert rfc_places(broken, broken.get) == ()


def test_required_dependencies_are_compared_by_their_names() -> None:
    text = '[project]\ndependencies = ["Foo_Bar>=1", "baz[x]; python_version<\'3\'"]\n'
    assert required_names(text) == {"foo-bar", "baz"}
    assert required_names(None) == frozenset()


def test_sources_are_neither_tests_nor_documentation() -> None:
    paths = (
        "src/a.py",
        "a.cpp",
        "tests/x.py",
        "src/test_a.py",
        "docs/conf.py",
        "README.md",
        "conftest.py",
    )
    assert [path for path in paths if is_source(path)] == ["src/a.py", "a.cpp"]


# --- small ends ---


def test_a_container_is_named_with_its_digest_and_what_was_not_tracked(facts: Facts) -> None:
    found = facts("fix-without-test")
    run = msgspec.structs.replace(
        found.run,
        environment={"kind": "container", "image": "devel", "image_id": "sha256:" + "ab" * 32},
        target=msgspec.structs.replace(found.run.target, untracked=("a.py",)),
    )
    lines = environment_lines(msgspec.structs.replace(found, run=run))
    assert any("in image `devel` `sha256:abababababab`" in line for line in lines)
    assert "- untracked files were there: `a.py`" in lines


def test_an_item_of_nobodys_evidence_is_a_plain_box(facts: Facts) -> None:
    item = Item(id="cla", text="CLA signed", evidence="none")
    found = facts("fix-without-test", asked=Asked(items=(item,)))
    assert "- [ ] CLA signed" in draft_checklist(found, "", "", plain)


def test_other_files_that_others_must_agree_to_suggest_an_rfc(facts: Facts) -> None:
    files = facts("fix-without-test").files
    added = msgspec.structs.replace(files[0], path="meson.build", status=FileStatus.ADDED)
    schema = msgspec.structs.replace(files[0], path="aten/native_functions.yaml")
    level, reasons = judge_rfc(facts("fix-without-test", files=(added, schema)))
    assert level is Level.SUGGESTED
    assert reasons == ("another build system: `meson.build`", "an operator's schema changes")


def test_documentation_that_changes_is_what_is_taught(facts: Facts) -> None:
    text = draft_rfc(facts("docs-only"), None, "", plain)
    assert "Documentation that the change touches: `docs/comparison.md`." in text


def test_a_run_that_did_not_end_is_none(facts: Facts) -> None:
    found = facts("fix-without-test")
    dead = msgspec.structs.replace(found.run, state="interrupted")
    base = msgspec.structs.replace(found.base, commit=dead.base.commit)
    why = stale(dead, None, tree=dead.target.tree, base=base)
    assert why == ("the run is interrupted",)
    for name in ("tests", "build"):
        assert not answer(name, msgspec.structs.replace(found, run=dead)).ok


def test_failures_that_nobody_has_classed_tick_nothing(facts: Facts) -> None:
    found = facts("fix-with-test")
    run = msgspec.structs.replace(found.run, failures=())
    assert answer("tests", msgspec.structs.replace(found, run=run)).why == (
        "failures were not classed"
    )


def test_new_names_and_dependencies_are_part_of_what_changes(facts: Facts) -> None:
    found = facts("fix-without-test", api=Api(added=("p.f",)), requirements=("numpy",))
    text = draft_pr(found, None, "", plain)
    assert "- New public names: `p.f`" in text
    assert "- New dependencies: `numpy`" in text


def test_what_is_not_known_is_no_tick(facts: Facts) -> None:
    found = facts("fix-without-test", merges=None, asked=Asked(), uncommitted=("a.py",))
    assert answer("merges", found).why == "not known"
    assert answer("changelog", found).why.startswith("n/a")
    assert answer("files", found).why == "not committed: `a.py`"
    assert answer("magic", found).why == "no evidence is called magic"


def test_benchmarks_that_are_all_the_same_need_no_table(facts: Facts) -> None:
    comparison = facts("performance").comparison
    assert comparison is not None
    results = tuple(
        msgspec.structs.replace(it, word=Word.SAME) for it in comparison.measured.results
    )
    measured = msgspec.structs.replace(comparison.measured, results=results)
    same = msgspec.structs.replace(comparison, measured=measured)
    assert performance_lines(facts("performance", comparison=same), 3) == [
        "",
        "Performance, before and after: 2 same.",
    ]


def test_a_push_that_was_let_through_untested_is_told_with_its_reason(facts: Facts) -> None:
    lines = lines_on_tests(facts("fix-with-test", skipped=("a [scratch] place",)), 3, boxes=True)
    assert "- Pushed without being tested: a \\[scratch\\] place" in lines
    assert not any(
        "Pushed" in line for line in lines_on_tests(facts("fix-with-test"), 3, boxes=True)
    )


def test_lint_of_which_no_tool_ran_is_called_a_look_at_the_syntax(facts: Facts) -> None:
    found = facts("fix-with-test")
    lint = [it for it in found.run.steps if it.role == "lint" and not it.command]
    others = tuple(it for it in found.run.steps if it.role != "lint")
    run = msgspec.structs.replace(found.run, steps=(*lint, *others))
    (line,) = (
        it
        for it in lines_on_tests(facts("fix-with-test", run=run), 3, boxes=False)
        if "passed:" in it
    )
    assert "syntax" in line
    assert "lint" not in line
