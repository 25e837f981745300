"""What only shows in a job as a whole, and in the jobs together."""

from __future__ import annotations

import pytest

from presubmit.upstream.reader import read_workflow


def problems_of(jobs: str) -> list[str]:
    return [str(p) for p in read_workflow(f"on: push\njobs:\n{jobs}".encode(), "ci.yml")[1]]


def test_a_need_that_is_no_job_is_an_error_at_its_place() -> None:
    assert problems_of("  a: {runs-on: x, needs: [b, C]}\n  b: {runs-on: x}\n") == [
        "ci.yml:3:30: job 'a' needs 'C', which is no job"
    ]


def test_needs_do_not_mind_letter_case() -> None:
    assert problems_of("  a: {runs-on: x, needs: B}\n  b: {runs-on: x}\n") == []


def test_jobs_that_all_wait_for_each_other_are_one_error() -> None:
    assert problems_of("  a: {runs-on: x, needs: b}\n  b: {runs-on: x, needs: a}\n") == [
        "ci.yml:3:3: there is no job to start with: each one needs another"
    ]


def test_a_circle_is_named_at_the_needs_that_close_it() -> None:
    jobs = "  a: {runs-on: x}\n  b: {runs-on: x, needs: [a, c]}\n  c: {runs-on: x, needs: b}\n"
    assert problems_of(jobs) == [
        "ci.yml:4:30: job 'b' needs 'c' in a circle of jobs",
        "ci.yml:5:26: job 'c' needs 'b' in a circle of jobs",
    ]


@pytest.mark.parametrize("name", ["a.b", "1a", "-a", "a b", "'${{'", "a" * 100])
def test_a_job_id_has_letters_digits_and_two_marks(name: str) -> None:
    assert problems_of(f"  {name}: {{runs-on: x}}\n") != []


def test_ids_with_two_underscores_are_githubs_own() -> None:
    assert problems_of("  __a: {runs-on: x}\n") == [
        "ci.yml:3:3: '__a' is no id: those that start with '__' are GitHub's own"
    ]


def test_two_jobs_may_not_differ_in_letter_case_only() -> None:
    assert problems_of("  a: {runs-on: x}\n  A: {runs-on: x}\n") == [
        "ci.yml:4:3: 'A' is already defined"
    ]


def test_two_steps_may_not_have_the_same_id_in_any_letter_case() -> None:
    steps = "[{id: one, run: x}, {id: ONE, run: x}]"
    assert problems_of(f"  a: {{runs-on: x, steps: {steps}}}\n") == [
        "ci.yml:3:51: the id 'ONE' is that of an earlier step"
    ]


@pytest.mark.parametrize(
    "uses", ["checkout@v4", "actions/checkout", "actions/checkout@", "a/b@c@d"]
)
def test_an_action_is_an_owner_a_name_and_a_ref(uses: str) -> None:
    (problem,) = problems_of(f"  a: {{runs-on: x, steps: [{{uses: {uses}}}]}}\n")
    assert "is not of the form owner/name[/path]@ref" in problem


def test_a_workflow_that_a_step_uses_is_a_warning() -> None:
    (problem,) = problems_of(
        "  a: {runs-on: x, steps: [{uses: o/n/.github/workflows/x.yml@v1}]}\n"
    )
    assert ": warning: a reusable workflow is called by a job" in problem


@pytest.mark.parametrize(
    "uses", ["o/n/.github/workflows/x.yml", ".github/workflows/x.yml", "./x.yml@v1"]
)
def test_a_call_names_a_file_and_for_another_repository_a_ref(uses: str) -> None:
    (problem,) = problems_of(f"  a: {{uses: {uses}}}\n")
    assert "is neither ./.github/workflows/<file> nor" in problem


def test_a_call_of_a_file_elsewhere_is_a_warning() -> None:
    assert problems_of("  a: {uses: ./ci/x.yml}\n") == [
        "ci.yml:3:13: warning: 'ci/x.yml' is not directly in .github/workflows"
    ]


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ("container: {options: o}", "30"),
        ("container: {image: 'docker://'}", "30"),
        ("services: {db: {ports: [1]}}", "34"),
        ("services: {db: ''}", "34"),
    ],
)
def test_a_container_needs_an_image(part: str, place: str) -> None:
    (problem,) = problems_of(f"  a: {{runs-on: x, {part}}}\n")
    assert problem == f"ci.yml:3:{place}: a container needs an image"


@pytest.mark.parametrize(
    "part", ["container: ''", "container: {image: ''}", "services: {db: {image: '${{ vars.i }}'}}"]
)
def test_no_image_or_one_by_an_expression_is_no_container_or_a_later_one(part: str) -> None:
    assert problems_of(f"  a: {{runs-on: x, {part}}}\n") == []


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ("{os: []}", "43: the matrix axis 'os' has no values"),
        ("{}", "38: a matrix needs an axis, or `include`"),
        ("{include: []}", "38: a matrix needs an axis, or `include`"),
        ("{exclude: [{a: b}]}", "38: a matrix needs an axis, or `include`"),
    ],
)
def test_a_matrix_has_values(matrix: str, problem: str) -> None:
    assert problems_of(f"  a: {{runs-on: x, strategy: {{matrix: {matrix}}}}}\n") == [
        f"ci.yml:3:{problem}"
    ]


@pytest.mark.parametrize("group", ["ent/a/b", "mine/a", "org/"])
def test_a_group_with_a_slash_is_that_of_an_organization_or_enterprise(group: str) -> None:
    assert len(problems_of(f"  a: {{runs-on: {{group: {group}}}}}\n")) == 1


@pytest.mark.parametrize("group", ["a", "org/a", "enterprise/a", "'${{ vars.a }}/b/c'"])
def test_other_groups_are_accepted(group: str) -> None:
    assert problems_of(f"  a: {{runs-on: {{group: {group}}}}}\n") == []
