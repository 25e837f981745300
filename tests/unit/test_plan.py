from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit import convention, values
from presubmit.config import Config, Sourced
from presubmit.errors import ConfigError, ExitCode, UsageError
from presubmit.plan import (
    Ask,
    Facts,
    build_work,
    duration_key,
    make_plan,
    planned_tests,
    with_command,
)
from presubmit.plan_built import Looks
from presubmit.selector.shards import Shard
from presubmit.values import (
    Base,
    Build,
    Change,
    ChangedFile,
    ChosenTest,
    Definition,
    Docstrings,
    Doctests,
    FileStatus,
    LintCommand,
    Mode,
    Plan,
    PlanStep,
    Reason,
    Reviewing,
    ReviewingBuilt,
    Role,
    Selection,
    Syntax,
    Target,
    TargetKind,
    Tier,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PURE = {
    "pyproject.toml": "[project]\nname = 'x'\n[build-system]\nbuild-backend = 'b'\n",
    "src/x/__init__.py": "1",
    "src/x/a.py": "1",
    "tests/test_a.py": "1",
}
NATIVE = {
    **PURE,
    "setup.py": "setup(ext_modules=[Extension('x._x', ['src/x/_x.c'])])",
    "src/x/_x.c": "int x;",
}


def changed(*paths: str, status: FileStatus = FileStatus.MODIFIED) -> Change:
    return Change(
        top="/t",
        common_dir="/t/.git",
        branch=None,
        target=Target(kind=TargetKind.WORKTREE, commit=None, tree="tree-of-head", snapshot="s"),
        base=Base(ref="main", commit="b", tree="u", how="test"),
        files=tuple(ChangedFile(path=path, status=status) for path in paths),
    )


def of_tree(tree: str) -> Change:
    change = changed()
    return msgspec.structs.replace(
        change, target=msgspec.structs.replace(change.target, tree=tree)
    )


def chosen(*paths: str, mode: Mode = Mode.SCOPED, why: str = "why") -> Selection:
    tests = tuple(
        ChosenTest(path=path, reasons=(Reason(rule="r", text="t"),), rank=rank)
        for rank, path in enumerate(paths)
    )
    return Selection(mode=mode, tests=tests, known=9, why=why)


NONE = chosen(mode=Mode.NONE, why="nothing that a test reads changed")


def definition(path: str) -> Definition:
    return Definition(
        path=path,
        qualname="f",
        kind="function",
        public=True,
        first_line=1,
        last_line=2,
        docstring=True,
        digest="d",
    )


def facts(files: Mapping[str, str] = PURE, **given: Any) -> Facts:
    project = convention.read_project(files, files.get)
    plain: dict[str, Any] = {
        "project": project,
        "requirements": convention.test_requirements(
            project, files.get, extras=(), groups=(), files=(), packages=(), constraints=None
        ),
        "backend": convention.build_backend(project),
        "native": convention.native_sources(project, files.get),
        "floor": "3.9",
        "lint_tool": "ruff",
        "docs": convention.docs_convention(project, files.get, ()),
        "definitions": (),
        "doctests": False,
        "blobs": dict(files),
    }
    return Facts(**{**plain, **given})


def config(origins: Mapping[str, str] | None = None, **tables: dict[str, Any]) -> Sourced:
    return Sourced(config=msgspec.convert(tables, Config), origins=dict(origins or {}))


def plan(
    change: Change,
    selection: Selection,
    *,
    of: Facts | None = None,
    sourced: Sourced | None = None,
    seconds: Mapping[str, float] | None = None,
    clean_build: bool = False,
    step_seconds: Callable[[str], float | None] = lambda _: None,
    besides: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
    **asked: Any,
) -> Plan:
    return make_plan(
        change,
        selection,
        of or facts(),
        sourced or config(),
        Ask(**asked),
        seconds=seconds or {},
        clean_build=clean_build,
        step_seconds=step_seconds,
        besides=besides,
        rules=rules,
    )


def ids(made: Plan) -> list[str]:
    return [step.id for step in made.steps]


def step(made: Plan, name: str) -> PlanStep:
    return next(one for one in made.steps if one.id == name)


def shards(made: Plan) -> list[values.Tests]:
    return [one.work for one in made.steps if isinstance(one.work, values.Tests)]


CHANGE = changed("src/x/a.py", "tests/test_a.py")
CHOSEN = chosen("tests/test_a.py", "tests/test_b.py")


# --- tiers ----------------------------------------------------------------------------------------------------------


def test_a_usual_change_is_linted_built_and_tested_in_this_order() -> None:
    assert ids(plan(CHANGE, CHOSEN)) == ["lint.1", "lint.2", "build.1", "tests.1"]


def test_tier_quick_tests_a_pure_project() -> None:
    assert "tests.1" in ids(plan(CHANGE, CHOSEN, tier=Tier.QUICK))


def test_tier_quick_neither_builds_nor_tests_a_native_project_and_says_so() -> None:
    made = plan(CHANGE, CHOSEN, of=facts(NATIVE), tier=Tier.QUICK)
    assert ids(made) == ["lint.1", "lint.2"]
    assert "tests: they need a build, which tier quick leaves out" in made.left_out


def test_tier_quick_does_not_build_even_where_native_code_changed() -> None:
    made = plan(changed("src/x/_x.c"), CHOSEN, of=facts(NATIVE), tier=Tier.QUICK)
    assert ids(made) == []
    assert "build: tier quick builds no extension modules" in made.left_out


def test_tier_quick_tests_a_native_project_where_tests_are_asked_for_by_name() -> None:
    made = plan(CHANGE, CHOSEN, of=facts(NATIVE), tier=Tier.QUICK, arguments=("tests/test_a.py",))
    assert ids(made) == ["lint.1", "lint.2", "build.1", "tests.1"]


def test_a_change_of_documents_alone_is_neither_built_nor_tested_and_that_is_said() -> None:
    made = plan(changed("README.md"), NONE)
    assert ids(made) == []
    assert made.left_out == (
        "ruff: no changed file for it",
        "tests: nothing that a test reads changed",
        "docstrings: no public definition changed",
        "build: nothing in this change needs one",
    )


def test_a_selection_without_a_reason_is_given_one() -> None:
    made = plan(changed("README.md"), chosen(mode=Mode.NONE, why=""))
    assert "tests: no test is affected" in made.left_out


# --- only and skip --------------------------------------------------------------------------------------------------


def test_only_a_role_brings_what_it_needs() -> None:
    made = plan(CHANGE, CHOSEN, only=("tests",))
    assert ids(made) == ["build.1", "tests.1"]
    assert made.incomplete == ("--only tests",)


def test_only_what_needs_nothing_brings_nothing_else() -> None:
    assert ids(plan(CHANGE, CHOSEN, only=("lint.2",))) == ["lint.2"]


def test_only_a_role_that_has_no_step_gives_an_empty_plan() -> None:
    assert ids(plan(changed("README.md"), NONE, only=("tests",))) == []


def test_only_tests_of_a_change_that_no_test_sees_leaves_nothing_to_check() -> None:
    made = plan(changed("a.py"), NONE, only=("tests",))
    assert ids(made) == []
    assert "tests: nothing that a test reads changed" in made.left_out


def test_skipping_all_that_was_asked_for_is_an_error() -> None:
    with pytest.raises(UsageError, match="leave no step to run"):
        plan(CHANGE, CHOSEN, only=("tests",), skip=("tests",))
    with pytest.raises(UsageError, match="leave no step to run"):
        plan(changed("a.py"), NONE, skip=("lint", "build", "docs"))


def test_skip_leaves_a_step_out_and_says_so() -> None:
    made = plan(CHANGE, CHOSEN, skip=("lint.2",))
    assert ids(made) == ["lint.1", "build.1", "tests.1"]
    assert made.incomplete == ("--skip lint.2",)


@pytest.mark.parametrize("name", ["build", "build.1"])
def test_skipping_what_another_step_needs_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=r"--skip build\.1: other steps need it"):
        plan(CHANGE, CHOSEN, skip=(name,))


def test_what_is_needed_may_be_skipped_with_those_that_need_it() -> None:
    assert ids(plan(CHANGE, CHOSEN, skip=("build", "tests"))) == ["lint.1", "lint.2"]


@pytest.mark.parametrize("asked", [{"only": ("test",)}, {"skip": ("test",)}])
def test_a_name_that_is_no_step_is_an_error_that_lists_the_steps(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no step `test`") as caught:
        plan(CHANGE, CHOSEN, **asked)
    assert "tests.1" in caught.value.hint
    assert caught.value.exit_code == ExitCode.USAGE


# --- lint -----------------------------------------------------------------------------------------------------------


def test_changed_python_files_are_parsed_at_the_projects_lowest_python() -> None:
    work = step(plan(changed("a.py", "b.pyi", "c.txt"), CHOSEN), "lint.1").work
    assert Syntax(files=("a.py", "b.pyi"), floor="3.9") == work


def test_deleted_files_are_not_linted() -> None:
    made = plan(changed("a.py", status=FileStatus.DELETED), CHOSEN)
    assert ids(made) == ["build.1", "tests.1"]


def test_submodules_are_not_linted() -> None:
    change = msgspec.structs.replace(changed("vendored.py"), submodules=("vendored.py",))
    assert ids(plan(change, NONE)) == []


@pytest.mark.parametrize("tool", ["pre-commit", "lintrunner"])
def test_a_tool_that_takes_any_file_gets_every_changed_file(tool: str) -> None:
    made = plan(changed("a.md"), NONE, of=facts(lint_tool=tool))
    work = step(made, "lint.1").work
    assert isinstance(work, LintCommand)
    assert ((tool,), ("a.md",)) == (work.command, work.files)


def test_ruff_gets_python_files_only() -> None:
    work = step(plan(changed("a.md", "a.py"), NONE), "lint.2").work
    assert isinstance(work, LintCommand)
    assert work.files == ("a.py",)


def test_a_project_without_a_known_lint_tool_says_so() -> None:
    made = plan(changed("a.py"), NONE, of=facts(lint_tool=""))
    assert ids(made) == ["lint.1"]
    assert "lint: the project configures no lint tool that presubmit knows" in made.left_out


def test_configured_lint_commands_take_the_place_of_the_usual_tool() -> None:
    sourced = config(
        {"lint.commands": "presubmit.toml"},
        lint={"commands": ["make lint", "flake8 {files}"], "packages": ["flake8"]},
    )
    made = plan(changed("a.py"), NONE, sourced=sourced)
    assert [(one.id, one.title, one.origin) for one in made.steps] == [
        ("lint.1", "syntax", "convention: requires-python"),
        ("lint.2", "make", "config presubmit.toml"),
        ("lint.3", "flake8", "config presubmit.toml"),
    ]


def test_a_lint_command_is_given_the_changed_files_that_match_its_patterns() -> None:
    sourced = config(lint={"commands": ["ruff check {files:src/*.py *.pyi}", "typos {files}"]})
    made = plan(changed("src/x/a.py", "docs/b.py", "c.pyi", "d.md"), NONE, sourced=sourced)
    first, second = (step(made, name).work for name in ("lint.2", "lint.3"))
    assert isinstance(first, LintCommand)
    assert isinstance(second, LintCommand)
    assert (first.command, first.files) == (
        ("sh", "-c", "ruff check {files}"),
        ("src/x/a.py", "c.pyi"),
    )
    assert second.files == ("src/x/a.py", "docs/b.py", "c.pyi", "d.md")


def test_a_lint_command_without_a_changed_file_that_matches_is_left_out_by_its_name() -> None:
    sourced = config(lint={"commands": ["ruff check {files:src/*.py}"]})
    made = plan(changed("a.md"), NONE, sourced=sourced)
    assert ids(made) == []
    assert "ruff: no changed file for it" in made.left_out


def test_each_lint_command_of_upstream_has_its_own_line() -> None:
    origins = {
        "lint.commands": "upstream ci.yml:4",
        "lint.commands.0": "upstream ci.yml:4",
        "lint.commands.1": "upstream ci.yml:7",
    }
    made = plan(
        CHANGE, NONE, sourced=config(origins, lint={"commands": ["a {files}", "b {files}"]})
    )
    assert [one.origin for one in made.steps][1:] == ["ci.yml:4", "ci.yml:7"]


# --- build ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["pyproject.toml", "setup.py", "src/x/_x.c"])
def test_a_changed_source_of_a_native_build_is_built_though_no_test_is_affected(
    path: str,
) -> None:
    made = plan(changed(path), NONE, of=facts(NATIVE))
    assert f"it is built from {path}" == step(made, "build.1").why


def test_a_c_file_in_a_pure_project_needs_no_build() -> None:
    assert ids(plan(changed("tests/data/broken.c"), NONE)) == []


def test_a_project_without_a_backend_gets_an_environment_only() -> None:
    made = plan(CHANGE, CHOSEN, of=facts({"a.py": ""}))
    work = step(made, "build.1").work
    assert isinstance(work, Build)
    assert (
        work.mode,
        step(made, "build.1").title,
        shards(made)[0].on_path,
    ) == ("none", "environment", True)


def test_a_build_command_comes_from_the_config() -> None:
    sourced = config(
        {"build.command": "user.toml"}, build={"mode": "command", "command": "make install"}
    )
    made = step(plan(CHANGE, CHOSEN, sourced=sourced), "build.1")
    assert isinstance(made.work, Build)
    assert (made.work.command, made.origin) == ("make install", "config user.toml")


def test_a_clean_build_is_passed_on() -> None:
    work = step(plan(CHANGE, CHOSEN, clean_build=True), "build.1").work
    assert isinstance(work, Build)
    assert work.clean


def test_modules_are_not_expected_where_the_config_says_so() -> None:
    sourced = config(build={"native": "none"})
    assert build_work(facts(NATIVE), sourced, changed(), clean=False).native == ()


def key(files: Mapping[str, str], *, tree: str = "t", clean: bool = False, **build: Any) -> str:
    return build_work(facts(files), config(build=build), of_tree(tree), clean=clean).key


def test_the_key_of_a_pure_build_stays_when_only_a_python_body_changed() -> None:
    assert key(PURE) == key({**PURE, "src/x/a.py": "2"}, tree="u")


def test_a_clean_build_has_the_key_of_any_other() -> None:
    assert key(PURE) == key(PURE, clean=True)


@pytest.mark.parametrize(
    "change",
    [
        {"pyproject.toml": PURE["pyproject.toml"] + "# x\n"},
        {"setup.cfg": "[metadata]"},
        {"MANIFEST.in": "include x"},
        {"src/y/__init__.py": ""},
        {"y.py": ""},
        {"requirements-test.txt": "pytest-cov"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_key_of_a_pure_build_changes_with_what_is_built_from(change: dict[str, str]) -> None:
    assert key(PURE) != key({**PURE, **change})


def test_the_key_changes_with_a_file_that_triggers_name() -> None:
    other = {**PURE, "src/x/table.txt": "2"}
    first = {**PURE, "src/x/table.txt": "1"}
    assert key(first) == key(other)
    assert key(first, triggers=["*.txt"]) != key(other, triggers=["*.txt"])


@pytest.mark.parametrize(
    ("files", "build"),
    [(NATIVE, {}), (PURE, {"mode": "wheel"}), (PURE, {"mode": "command", "command": "make"})],
    ids=["native", "wheel", "command"],
)
def test_the_key_of_a_build_that_copies_changes_with_the_tree(
    files: dict[str, str], build: dict[str, Any]
) -> None:
    assert key(files, tree="t", **build) != key(files, tree="u", **build)


# --- generated sources ----------------------------------------------------------------------------------------------

GENERATED = {**NATIVE, "src/x/_y.pyx": "", "src/x/_y.c": ""}


@pytest.mark.parametrize(
    ("paths", "build", "stale"),
    [
        (("src/x/_y.pyx",), {}, ("src/x/_y.c",)),
        (("src/x/_z.pxd",), {}, ("src/x/_y.c",)),
        (("src/x/_y.pyx", "src/x/_y.c"), {}, ()),
        (("src/x/a.py",), {}, ()),
        (("other/_y.pyx",), {}, ()),
        (("src/x/_y.pyx",), {"before": "make cython"}, ()),
        (("src/x/_y.pyx",), {"mode": "command", "command": "make"}, ()),
    ],
)
def test_a_generated_source_that_nothing_renews_is_named(
    paths: tuple[str, ...], build: dict[str, Any], stale: tuple[str, ...]
) -> None:
    of = facts(GENERATED, generated=("src/x/_y.c",))
    made = plan(changed(*paths), CHOSEN, of=of, sourced=config(build=build))
    work = step(made, "build.1").work
    assert isinstance(work, Build)
    assert work.stale_generated == stale


def test_a_build_that_brings_cython_renews_what_is_generated() -> None:
    files = {
        **GENERATED,
        "pyproject.toml": "[build-system]\nbuild-backend = 'b'\nrequires = ['Cython>=3']\n",
    }
    made = plan(changed("src/x/_y.pyx"), CHOSEN, of=facts(files, generated=("src/x/_y.c",)))
    work = step(made, "build.1").work
    assert isinstance(work, Build)
    assert work.stale_generated == ()


# --- tests ----------------------------------------------------------------------------------------------------------


def test_the_chosen_files_run_in_one_shard() -> None:
    (work,) = shards(plan(CHANGE, CHOSEN))
    assert (work.mode, work.files) == (Mode.SCOPED, ("tests/test_a.py", "tests/test_b.py"))


def test_a_whole_suite_is_not_named_file_by_file() -> None:
    (work,) = shards(plan(CHANGE, chosen("a.py", "b.py", mode=Mode.ALL)))
    assert (work.mode, work.files) == (Mode.ALL, ())


@pytest.mark.parametrize("mode", [Mode.ALL, Mode.SCOPED])
def test_shards_share_the_files_and_lose_none(mode: Mode) -> None:
    names = tuple(f"tests/test_{n}.py" for n in range(10))
    made = plan(CHANGE, chosen(*names, mode=mode), sourced=config(tests={"shards": 3}))
    assert Counter(names) == Counter(name for work in shards(made) for name in work.files)
    assert [
        (one.title, one.work.shard, one.work.shards)
        for one in made.steps
        if isinstance(one.work, values.Tests)
    ] == [("tests 1/3", 1, 3), ("tests 2/3", 2, 3), ("tests 3/3", 3, 3)]


def test_there_are_never_more_shards_than_files() -> None:
    assert len(shards(plan(CHANGE, CHOSEN, sourced=config(tests={"shards": 9})))) == 2


def test_what_the_user_gives_after_the_dashes_is_not_narrowed() -> None:
    (work,) = shards(plan(CHANGE, CHOSEN, arguments=("-k", "name")))
    assert (work.mode, work.files, work.arguments) == (Mode.ALL, (), ("-k", "name"))


def test_arguments_run_tests_though_none_is_affected() -> None:
    assert ids(plan(changed("README.md"), NONE, arguments=("t.py",))) == ["build.1", "tests.1"]


def test_the_tests_that_failed_last_run_by_their_ids() -> None:
    (work,) = shards(plan(CHANGE, CHOSEN, ids=("t.py::a", "t.py::b[1]")))
    assert (work.ids, work.files, work.arguments) == (("t.py::a", "t.py::b[1]"), (), ())


def test_the_command_lines_retries_go_above_the_configured_ones() -> None:
    sourced = config(tests={"retries": 3})
    assert [
        shards(plan(CHANGE, CHOSEN, sourced=sourced, retries=retries))[0].retries
        for retries in (None, 0)
    ] == [3, 0]


def test_native_changes_must_load_the_built_modules() -> None:
    made = [plan(changed(path), CHOSEN, of=facts(NATIVE)) for path in ("src/x/_x.c", "src/x/a.py")]
    assert [shards(one)[0].extensions_changed for one in made] == [True, False]


def test_mode_wheel_takes_the_sources_off_the_path() -> None:
    (work,) = shards(plan(CHANGE, CHOSEN, sourced=config(build={"mode": "wheel"})))
    assert work.off_path


def test_a_configured_test_command_names_its_origin() -> None:
    sourced = config({"tests.command": "user.toml"}, tests={"command": ["make", "check"]})
    assert step(plan(CHANGE, CHOSEN, sourced=sourced), "tests.1").origin == "config user.toml"


def test_the_expected_seconds_of_a_shard_are_those_of_its_files() -> None:
    made = plan(CHANGE, CHOSEN, seconds={"tests/test_a.py": 1.26, "other.py": 9.0})
    assert step(made, "tests.1").expected_seconds == 1.3


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({}, None), ({"tests/test_a.py": 0.0}, None), ({"tests/test_a.py": 0.012}, 0.012)],
)
def test_tests_of_unknown_length_are_not_expected_to_take_no_time(
    seconds: dict[str, float], expected: float | None
) -> None:
    assert step(plan(CHANGE, CHOSEN, seconds=seconds), "tests.1").expected_seconds == expected


def test_what_is_known_of_a_few_tests_is_not_said_of_all() -> None:
    few = {"near.py": 1.0}
    assert step(plan(CHANGE, RANKED, seconds=few), "tests.1").expected_seconds is None


def test_the_expected_seconds_of_another_step_are_those_it_took_last() -> None:
    known = {"lint.2 ruff": 2.0, "build.1 build (pure Python)": 3.0}
    made = make_plan(CHANGE, CHOSEN, facts(), config(), Ask(), seconds={}, step_seconds=known.get)
    assert [one.expected_seconds for one in made.steps] == [None, 2.0, 3.0, None]
    assert list(known) == [duration_key(one) for one in made.steps[1:3]]


# --- budget ---------------------------------------------------------------------------------------------------------

RANKED = chosen("far.py", "near.py", "mid.py")
RANKED = msgspec.structs.replace(
    RANKED,
    tests=tuple(
        msgspec.structs.replace(test, rank=rank)
        for test, rank in zip(RANKED.tests, (3, 1, 2), strict=True)
    ),
)


def narrowed(selection: Selection, *ids: str) -> Selection:
    tests = (
        msgspec.structs.replace(
            test, ids=tuple(one for one in ids if one.startswith(f"{test.path}::"))
        )
        for test in selection.tests
    )
    return msgspec.structs.replace(selection, tests=tuple(tests))


SECONDS = {"far.py": 1.0, "near.py": 10.0, "mid.py": 20.0}


@pytest.mark.parametrize(
    ("budget", "kept", "cut"),
    [
        (31.0, ("near.py", "mid.py", "far.py"), ()),
        (30.0, ("near.py", "mid.py"), ("far.py",)),
        (12.0, ("near.py", "far.py"), ("mid.py",)),
        (1.0, ("near.py",), ("mid.py", "far.py")),
    ],
)
def test_a_budget_keeps_the_nearest_tests_and_names_the_rest(
    budget: float, kept: tuple[str, ...], cut: tuple[str, ...]
) -> None:
    made = plan(CHANGE, RANKED, seconds=SECONDS, budget=budget)
    assert (kept, cut) == (shards(made)[0].files, made.budget_cut)


def test_a_whole_suite_that_a_budget_cuts_is_named_file_by_file() -> None:
    whole = msgspec.structs.replace(RANKED, mode=Mode.ALL)
    (work,) = shards(plan(CHANGE, whole, seconds=SECONDS, budget=12.0))
    assert (work.mode, work.files) == (Mode.SCOPED, ("near.py", "far.py"))


def test_a_file_of_unknown_seconds_is_expected_to_take_the_usual_time() -> None:
    made = plan(CHANGE, RANKED, seconds={"near.py": 10.0}, budget=25.0)
    assert made.budget_cut == ("far.py",)


def test_where_no_seconds_are_known_a_test_file_is_expected_to_take_one() -> None:
    assert plan(CHANGE, RANKED, budget=2.0).budget_cut == ("far.py",)
    assert plan(CHANGE, RANKED, budget=3.0).budget_cut == ()


@pytest.mark.parametrize(("clean", "cut"), [(True, ("mid.py",)), (False, ())])
def test_the_budget_is_for_a_clean_build_as_well(clean: bool, cut: tuple[str, ...]) -> None:
    took = {"build.1 build (pure Python)": 20.0}.get
    made = plan(
        *(CHANGE, RANKED), seconds=SECONDS, step_seconds=took, budget=40.0, clean_build=clean
    )
    assert made.budget_cut == cut


def test_of_a_narrowed_file_only_the_chosen_tests_count_and_those_that_fit_are_run() -> None:
    ids = ("near.py::test_a", "near.py::test_b", "mid.py::test_a", "mid.py::test_b")
    seconds = {**SECONDS, **dict(zip(ids, (3.0, 2.0, 1.0, 9.0), strict=True))}
    made = plan(CHANGE, narrowed(RANKED, *ids), seconds=seconds, budget=7.0)
    (work,) = shards(made)
    assert (work.files, work.within) == (("near.py", "mid.py", "far.py"), ids[:3])
    assert made.budget_cut == ("mid.py::test_b",)


def test_what_a_budget_cuts_and_what_is_left_add_up_to_the_affected_tests() -> None:
    ids = ("near.py::test_a", "near.py::test_b")
    made = plan(CHANGE, narrowed(RANKED, *ids), seconds=SECONDS, budget=12.0)
    assert planned_tests(made) == (*ids, "far.py")
    assert made.budget_cut == ("mid.py",)


def test_a_budget_cuts_no_tests_that_were_not_wanted() -> None:
    made = plan(CHANGE, RANKED, seconds=SECONDS, budget=12.0, only=("lint",))
    assert made.budget_cut == ()


# --- shards of several machines, workers ------------------------------------------------------------------------------

MANY = chosen(*(f"{letter}.py" for letter in "edcba"))


@pytest.mark.parametrize(
    ("number", "files", "elsewhere"),
    [
        (1, ("e.py", "c.py", "a.py"), ("d.py", "b.py")),
        (2, ("d.py", "b.py"), ("e.py", "c.py", "a.py")),
    ],
)
def test_a_machine_runs_its_shard_and_names_the_others_files(
    number: int, files: tuple[str, ...], elsewhere: tuple[str, ...]
) -> None:
    made = plan(CHANGE, MANY, shard=Shard(number=number, count=2))
    (work,) = shards(made)
    assert (work.mode, work.files, made.elsewhere) == (Mode.SCOPED, files, elsewhere)
    assert made.incomplete == (f"--shard {number}/2",)


def test_what_machines_run_does_not_depend_on_what_each_knows() -> None:
    ranked = msgspec.structs.replace(MANY, tests=tuple(reversed(MANY.tests)))
    two = Shard(number=2, count=2)
    made = plan(CHANGE, ranked, seconds={"b.py": 90.0}, shard=two)
    assert set(made.elsewhere) == set(plan(CHANGE, MANY, shard=two).elsewhere)


def test_a_shard_that_has_no_test_says_so_and_is_incomplete_all_the_same() -> None:
    made = plan(CHANGE, chosen("a.py"), shard=Shard(number=2, count=2))
    assert not shards(made)
    assert made.elsewhere == ("a.py",)
    assert "tests: shard 2/2 has none of the affected test files" in made.left_out


def test_a_whole_suite_in_one_shard_of_one_machine_is_not_narrowed() -> None:
    whole = msgspec.structs.replace(MANY, mode=Mode.ALL)
    assert [work.files for work in shards(plan(CHANGE, whole))] == [()]
    (work,) = shards(plan(CHANGE, whole, shard=Shard(number=1, count=2)))
    assert work.files == ("e.py", "c.py", "a.py")


def test_a_long_file_is_parted_by_its_tests_and_a_test_that_nobody_saw_yet_runs_once() -> None:
    seconds = {"a.py": 60.0, "b.py": 2.0, "a.py::T": 30.0, "a.py::test_x": 30.0}
    made = plan(
        CHANGE, chosen("a.py", "b.py"), seconds=seconds, sourced=config(tests={"shards": 2})
    )
    first, second = shards(made)
    assert (first.files, first.without) == (("a.py", "b.py"), ("a.py::test_x",))
    assert (second.files, second.within) == (("a.py",), ("a.py::test_x",))
    assert [one.expected_seconds for one in made.steps if one.role == "tests"] == [32.0, 30.0]


XDIST = {**PURE, "requirements-test.txt": "pytest-xdist>=3\n"}


def test_workers_are_asked_for_by_the_configuration_only() -> None:
    (work,) = shards(plan(CHANGE, MANY, of=facts(XDIST), seconds={"a.py": 90.0}))
    assert work.command == ("pytest",)


def test_workers_take_over_where_the_tests_are_long_and_serial_files_have_a_process_without() -> (
    None
):
    sourced = config(tests={"xdist": "auto", "serial": ["b.py"]})
    long = plan(CHANGE, MANY, of=facts(XDIST), sourced=sourced, seconds={"a.py": 90.0})
    with_workers, serial = shards(long)
    assert with_workers.command == ("pytest", "-n", "auto", "--dist", "loadfile")
    assert (serial.command, serial.files) == (("pytest",), ("b.py",))
    short = plan(CHANGE, MANY, of=facts(XDIST), sourced=sourced, seconds={"a.py": 9.0})
    assert [work.command for work in shards(short)] == [("pytest",)]


# --- docs -----------------------------------------------------------------------------------------------------------


def test_changed_public_definitions_get_their_docstrings_checked() -> None:
    made = plan(changed("src/x/a.py"), NONE, of=facts(definitions=(definition("src/x/a.py"),)))
    work = step(made, "docs.1").work
    assert isinstance(work, Docstrings)
    assert (work.binding, work.convention) == (False, "")
    assert "advice" in step(made, "docs.1").why


@pytest.mark.parametrize(("binding", "expected"), [("yes", True), ("no", False), ("auto", True)])
def test_docstring_findings_bind_where_project_or_config_say_so(
    *, binding: str, expected: bool
) -> None:
    enforced = {**PURE, "ruff.toml": "[lint]\nselect=['D']\n[lint.pydocstyle]\nconvention='numpy'"}
    made = plan(
        changed("src/x/a.py"),
        NONE,
        of=facts(enforced, definitions=(definition("src/x/a.py"),)),
        sourced=config(docs={"binding": binding}),
    )
    work = step(made, "docs.1").work
    assert isinstance(work, Docstrings)
    assert (expected, "numpy") == (work.binding, work.convention)
    assert len(work.requirements) == 2


def test_a_configured_convention_takes_the_place_of_the_projects_own() -> None:
    made = plan(
        changed("src/x/a.py"),
        NONE,
        of=facts(definitions=(definition("src/x/a.py"),)),
        sourced=config(docs={"convention": "google"}),
    )
    work = step(made, "docs.1").work
    assert isinstance(work, Docstrings)
    assert work.convention == "google"


def doctested(path: str, *, tier: Tier = Tier.STANDARD, files: Mapping[str, str] = PURE) -> Plan:
    return plan(
        changed(path),
        NONE,
        of=facts(files, definitions=(definition(path),), doctests=True),
        tier=tier,
    )


def test_changed_modules_get_their_doctests_run_where_the_project_runs_doctests() -> None:
    made = doctested("src/x/a.py")
    assert ids(made) == ["lint.1", "lint.2", "build.1", "docs.1", "docs.2"]
    assert Doctests(command=("pytest",), files=("src/x/a.py",)) == step(made, "docs.2").work


def test_only_doctests_bring_the_build_they_need() -> None:
    change = changed("src/x/a.py")
    of = facts(definitions=(definition("src/x/a.py"),), doctests=True)
    assert ids(plan(change, NONE, of=of, only=("docs.2",))) == ["build.1", "docs.2"]


@pytest.mark.parametrize("path", ["setup.py", "tests/conftest.py", "noxfile.py"])
def test_helper_modules_have_no_doctests_to_run(path: str) -> None:
    assert "docs.2" not in ids(doctested(path))


def test_tier_quick_runs_no_doctests_of_a_native_project() -> None:
    assert ids(doctested("src/x/a.py", tier=Tier.QUICK, files=NATIVE)) == [
        "lint.1",
        "lint.2",
        "docs.1",
    ]


@pytest.mark.parametrize(
    ("wanted", "project_runs_them", "expected"),
    [("no", True, False), ("yes", False, True), ("auto", False, False)],
)
def test_the_config_says_whether_doctests_run(
    *, wanted: str, project_runs_them: bool, expected: bool
) -> None:
    made = plan(
        changed("src/x/a.py"),
        NONE,
        of=facts(definitions=(definition("src/x/a.py"),), doctests=project_runs_them),
        sourced=config(docs={"doctests": wanted}),
    )
    assert expected == ("docs.2" in ids(made))


# --- in all ---------------------------------------------------------------------------------------------------------


def test_every_need_of_a_step_is_a_step_before_it() -> None:
    of = facts(NATIVE, definitions=(definition("src/x/a.py"),), doctests=True)
    seen: set[str] = set()
    for one in plan(CHANGE, CHOSEN, of=of, sourced=config(tests={"shards": 2})).steps:
        assert set(one.needs) <= seen
        seen.add(one.id)


def test_step_ids_begin_with_their_role() -> None:
    of = facts(definitions=(definition("src/x/a.py"),), doctests=True)
    made = plan(CHANGE, CHOSEN, of=of, rules=("pins",))
    assert {role.value for role in Role} - {"upstream", "bench"} == {
        one.id.partition(".")[0] for one in made.steps
    }
    assert [str(one.role) for one in made.steps] == [
        one.id.partition(".")[0] for one in made.steps
    ]


def test_a_review_is_part_of_every_tier_and_needs_nothing() -> None:
    for tier in Tier:
        made = plan(CHANGE, CHOSEN, rules=("pins", "api"), tier=tier)
        [step] = [one for one in made.steps if one.role is Role.REVIEW]
        assert (step.id, step.needs, step.work) == (
            "review.1",
            (),
            Reviewing(rules=("pins", "api")),
        )
    assert ids(plan(CHANGE, CHOSEN, rules=("pins",), only=("review",))) == ["review.1"]


def built_step(made: Plan) -> tuple[tuple[str, ...], ReviewingBuilt] | None:
    """Give the needs and the work of the step on what is built."""
    found = [(s.needs, s.work) for s in made.steps if isinstance(s.work, ReviewingBuilt)]
    return found[0] if found else None


NATIVE_CHANGE = changed("src/x/fast.c")
BOTH = ("symbols", "packaging")


def rules_of_first(made: Plan) -> tuple[str, ...]:
    [first] = [s.work for s in made.steps if isinstance(s.work, Reviewing)] or [
        Reviewing(rules=())
    ]
    return first.rules


@pytest.mark.parametrize(
    ("looks", "needs", "rules"),
    [
        (Looks.THERE, (), ("symbols",)),
        (Looks.MAKE, ("build.1",), BOTH),
        (Looks.ASKED, ("build.1",), BOTH),
    ],
)
def test_what_is_built_is_reviewed_after_the_build(
    looks: Looks, needs: tuple[str, ...], rules: tuple[str, ...]
) -> None:
    made = plan(NATIVE_CHANGE, CHOSEN, of=facts(NATIVE), rules=BOTH, looks=looks)
    assert ids(made)[0] == "review.1"
    assert ids(made)[-1] == "review.2"
    work = ReviewingBuilt(
        rules=rules, make=looks.builds, libraries=True, wheel="packaging" in rules
    )
    assert built_step(made) == (needs, work)
    # Of the symbols nothing can be said before.
    assert rules_of_first(made) == ("packaging",)


def test_without_a_build_in_the_plan_what_is_built_is_said_to_be_unknown() -> None:
    for asked in ({"looks": Looks.NO}, {"only": ("review",)}, {"tier": Tier.QUICK}):
        made = plan(NATIVE_CHANGE, NONE, of=facts(NATIVE), rules=BOTH, **asked)
        assert built_step(made) is None
        assert rules_of_first(made) == BOTH


def test_a_change_of_python_alone_has_its_wheel_built_where_that_was_asked_for() -> None:
    change = changed("src/x/a.py")
    assert built_step(plan(change, CHOSEN, rules=BOTH)) is None
    wheel = ReviewingBuilt(rules=("packaging",), make=True, wheel=True)
    made = plan(change, NONE, rules=BOTH, looks=Looks.ASKED, only=("review",))
    assert ids(made) == ["review.1", "build.1", "review.2"]
    assert built_step(made) == (("build.1",), wheel)
    assert rules_of_first(made) == BOTH
    assert built_step(plan(change, CHOSEN, rules=("files",), looks=Looks.ASKED)) is None
    alone = plan(NATIVE_CHANGE, NONE, of=facts(NATIVE), rules=("symbols",), looks=Looks.ASKED)
    assert rules_of_first(alone) == ()
    # No run of tier full builds for it alone.
    assert built_step(plan(changed("README.md"), NONE, rules=BOTH, looks=Looks.MAKE)) is None


def test_libraries_are_not_compared_where_no_key_tells_what_they_were_built_from() -> None:
    plain = plan(NATIVE_CHANGE, CHOSEN, rules=BOTH)
    assert built_step(plain) is None


# --- upstream -------------------------------------------------------------------------------------------------------

FROM_UPSTREAM = {
    "tests.command": "upstream ci.yml:9",
    "tests.env": "upstream ci.yml:9",
    "build.env": "upstream ci.yml:6",
    "build.packages": "upstream ci.yml:5",
    "build.packages.0": "upstream ci.yml:5",
    "build.packages.1": "upstream ci.yml:7",
}


def upstream_config() -> Sourced:
    return config(
        FROM_UPSTREAM,
        tests={"command": ["pytest", "-n", "2"], "env": ["A=1"]},
        build={"env": ["B=2"], "packages": ["x", "y"]},
    )


def test_a_command_of_upstream_has_its_line_and_convention_behind_it() -> None:
    made = plan(CHANGE, CHOSEN, sourced=upstream_config())
    (work,) = shards(made)
    assert step(made, "tests.1").origin == "ci.yml:9"
    assert (work.command, work.otherwise, work.env) == (
        ("pytest", "-n", "2"),
        ("pytest",),
        ("A=1",),
    )


def test_a_configured_command_has_nothing_behind_it() -> None:
    (work,) = shards(
        plan(CHANGE, CHOSEN, sourced=config(tests={"command": ["pytest", "-n", "2"]}))
    )
    assert work.otherwise == ()


def test_the_origin_of_a_build_names_every_line_that_installs_something() -> None:
    made = plan(CHANGE, CHOSEN, sourced=upstream_config())
    assert (
        step(made, "build.1").origin
        == "pyproject.toml [build-system], ci.yml:6, ci.yml:5, ci.yml:7"
    )


def test_upstreams_variables_of_the_tests_are_not_those_of_the_build() -> None:
    assert build_work(facts(), upstream_config(), changed(), clean=False).env == ("B=2",)


def test_configured_variables_are_those_of_tests_and_build() -> None:
    sourced = config(tests={"env": ["A=1"]}, build={"env": ["B=2"]})
    assert build_work(facts(), sourced, changed(), clean=False).env == ("A=1", "B=2")


def test_a_build_with_upstreams_requirements_has_the_conventional_one_behind_it() -> None:
    plain = facts().requirements
    sourced = upstream_config()
    work = build_work(facts(otherwise=plain), sourced, changed(), clean=False)
    assert work.otherwise is not None
    assert work.otherwise.requirements == plain.together
    assert (work.otherwise.env, work.otherwise.python) == (("B=2",), "python3")
    assert build_work(facts(), sourced, changed(), clean=False).otherwise is None


def test_a_clean_build_has_the_key_of_one_that_is_not() -> None:
    of = facts(otherwise=facts().requirements)
    keys = {
        build_work(of, upstream_config(), changed(), clean=clean).key for clean in (True, False)
    }
    assert len(keys) == 1


def test_doctests_do_not_run_by_a_command_that_is_for_the_tests() -> None:
    made = plan(
        changed("src/x/a.py"),
        CHOSEN,
        of=facts(doctests=True, definitions=(definition("src/x/a.py"),)),
        sourced=upstream_config(),
    )
    (work,) = (one.work for one in made.steps if isinstance(one.work, Doctests))
    assert work.command == ("pytest",)


def test_the_base_runs_its_tests_by_its_own_command() -> None:
    (work,) = shards(plan(CHANGE, CHOSEN, sourced=upstream_config()))
    found = with_command(work, config(tests={"command": ["pytest", "-v"], "env": ["C=3"]}))
    assert (found.command, found.otherwise, found.env) == (("pytest", "-v"), (), ("C=3",))
    assert found.files == work.files


# --- recording ----------------------------------------------------------------------------------------------------------


def recorded(selection: Selection, **given: Any) -> list[float | None]:
    made = plan(changed("src/x/a.py"), selection, **given)
    return [step.work.record for step in made.steps if isinstance(step.work, values.Tests)]


def test_tests_of_unknown_length_are_recorded_for_a_minute() -> None:
    assert recorded(chosen("tests/test_a.py")) == [60.0]


def test_short_tests_are_recorded() -> None:
    assert recorded(chosen("tests/test_a.py"), seconds={"tests/test_a.py": 59.0}) == [60.0]


def test_long_tests_are_not_recorded_and_the_plan_names_the_command_that_does() -> None:
    made = plan(
        changed("src/x/a.py"), chosen("tests/test_a.py"), seconds={"tests/test_a.py": 300.0}
    )
    (work,) = (step.work for step in made.steps if isinstance(step.work, values.Tests))
    assert work.record is None
    assert [text for text in made.left_out if "`presubmit record`" in text] == [
        "recording: the tests take about 300 s; `presubmit record` records them all once, and later runs are narrowed by it"
    ]


def test_long_tests_are_recorded_where_the_user_says_so() -> None:
    found = recorded(
        chosen("tests/test_a.py"),
        seconds={"tests/test_a.py": 300.0},
        sourced=config(tests={"record": "yes"}),
    )
    assert found == [1e9]


def test_nothing_is_recorded_where_the_user_wants_none() -> None:
    assert recorded(chosen("tests/test_a.py"), sourced=config(tests={"record": "no"})) == [None]


@pytest.mark.parametrize(
    "asked", [{"arguments": ("-k", "x")}, {"ids": ("a::b",)}, {"budget": 90.0}]
)
def test_what_was_asked_for_by_hand_or_within_a_budget_is_not_recorded(
    asked: dict[str, Any],
) -> None:
    assert recorded(chosen("tests/test_a.py"), **asked) == [None]


def test_single_tests_of_a_file_are_planned_within_it() -> None:
    selection = chosen("tests/test_a.py", "tests/test_b.py")
    narrow = msgspec.structs.replace(selection.tests[0], ids=("tests/test_a.py::test_x",))
    selection = msgspec.structs.replace(selection, tests=(narrow, selection.tests[1]))
    made = plan(changed("src/x/a.py"), selection)
    (work,) = (step.work for step in made.steps if isinstance(step.work, values.Tests))
    assert (sorted(work.files), work.within) == (
        ["tests/test_a.py", "tests/test_b.py"],
        ("tests/test_a.py::test_x",),
    )


# --- overlay ------------------------------------------------------------------------------------------------------------

OVERLAY = {"mode": "overlay", "overlay": ["pkg"]}


def test_a_python_change_is_laid_over_an_installed_build_and_tests_prove_it() -> None:
    made = plan(
        changed("pkg/a.py"),
        chosen("tests/test_a.py"),
        of=facts(NATIVE),
        sourced=config(build=OVERLAY),
    )
    build, tests = (next(s for s in made.steps if s.id == name) for name in ("build.1", "tests.1"))
    assert isinstance(build.work, Build)
    assert build.work.overlay is not None
    assert build.work.overlay.changed == ("pkg/a.py",)
    assert build.work.native == (), "no extension module has to come of it"
    assert build.title == "overlay of pkg"
    assert isinstance(tests.work, values.Tests)
    assert tests.work.overlaid == ("pkg",)


def test_tier_quick_tests_over_an_overlay() -> None:
    made = plan(
        changed("pkg/a.py"),
        chosen("tests/test_a.py"),
        of=facts(NATIVE),
        sourced=config(build=OVERLAY),
        tier=Tier.QUICK,
    )
    assert [s.id for s in made.steps if s.role is Role.TESTS] == ["tests.1"]


def test_what_must_be_compiled_is_built_by_the_configured_command() -> None:
    sourced = config(build={**OVERLAY, "command": "make"})
    made = plan(changed("pkg/a.c"), chosen("t.py"), of=facts(NATIVE), sourced=sourced)
    work = next(s.work for s in made.steps if s.id == "build.1")
    assert isinstance(work, Build)
    assert (work.mode, work.overlay, work.native) == ("command", None, facts(NATIVE).native)


def test_an_overlay_of_no_package_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="names no package"):
        plan(changed("pkg/a.py"), chosen("t.py"), sourced=config(build={"mode": "overlay"}))


def test_files_that_run_apart_are_always_named() -> None:
    made = plan(
        changed("pkg/a.py"),
        chosen("t/test_a.py", "t/test_b.py", mode=Mode.ALL),
        sourced=config(tests={"apart": True, "path": ["tests"]}),
    )
    work = next(s.work for s in made.steps if s.id == "tests.1")
    assert isinstance(work, values.Tests)
    assert (work.apart, work.path, work.files) == (
        True,
        ("tests",),
        ("t/test_a.py", "t/test_b.py"),
    )


def test_two_trees_have_two_overlays() -> None:
    keys = {
        build_work(facts(NATIVE), config(build=OVERLAY), of_tree(it), clean=False).key
        for it in "ab"
    }
    assert len(keys) == 2
