"""What a job is for: lint, build, tests, docs, bench or something else, by what its steps run."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes.job_commands import (
    JobCommands,
    StepScript,
    action_of,
    leaves,
    read_job,
)
from presubmit.upstream.recipes.kinds import Kind, kind_of_name, kinds_of_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.upstream.recipes.commands import Recognised

__all__ = ["Role", "StepScript", "role_of"]


class Role(StrEnum):
    """What a job is for."""

    LINT = "lint"
    BUILD = "build"
    TESTS = "tests"
    DOCS = "docs"
    BENCH = "bench"
    OTHER = "other"


_ROLES: Final[Mapping[Kind, Role]] = {
    Kind.TEST: Role.TESTS,
    Kind.BENCH: Role.BENCH,
    Kind.DOCS: Role.DOCS,
    Kind.LINT: Role.LINT,
    Kind.BUILD: Role.BUILD,
}
# What shows itself more clearly comes first: a job that tests and lints is there for its tests.
_ORDER: Final = (Kind.TEST, Kind.BENCH, Kind.DOCS, Kind.LINT, Kind.BUILD)
_ACTIONS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.LINT: (
        *("pre-commit/action", "j178/prek-action", "astral-sh/ruff-action", "chartboost/ruff-action", "psf/black"),
        *("zizmorcore/zizmor-action", "woodruffw/zizmor-action", "codespell-project/actions-codespell"),
        *("crate-ci/typos", "jakebailey/pyright-action", "isort/isort-action", "rickstaa/action-black", "raven-actions/actionlint"),
        *("super-linter/super-linter", "github/super-linter", "cpp-linter/cpp-linter-action", "pypa/gh-action-pip-audit"),
        *("docker://rhysd/actionlint", "rhysd/actionlint", "reviewdog/action-mypy", "tsuyoshicho/action-mypy", "suzuki-shunsuke/pinact-action"),
        *("jidicula/clang-format-action", "doozyx/clang-format-lint-action", "fsfe/reuse-action", "tox-dev/action-pre-commit-uv"),
    ),
    Kind.BUILD: (
        *("pypa/cibuildwheel", "hynek/build-and-inspect-python-package", "pyo3/maturin-action", "messense/maturin-action"),
        *("conda-incubator/conda-build", "joerick/cibuildwheel"),
    ),
    Kind.BENCH: ("codspeedhq/action", "benchmark-action/github-action-benchmark"),
    Kind.RELEASE: (
        *("pypa/gh-action-pypi-publish", "softprops/action-gh-release", "ncipollo/release-action", "actions/create-release"),
        *("release-drafter/release-drafter", "sigstore/gh-action-sigstore-python", "marvinpinto/action-automatic-releases"),
    ),
    Kind.DOCS: ("lycheeverse/lychee-action", "ammaraskar/sphinx-action", "gaurav-nelson/github-action-markdown-link-check"),
    Kind.SILENT: (
        *("re-actors/alls-green", "actions/stale", "actions/labeler", "dessant/lock-threads", "actions/github-script"),
        *("github/codeql-action/init", "github/codeql-action/analyze", "github/codeql-action/autobuild"),
    ),
}  # fmt: skip
_KIND_OF_ACTION: Final = {name: kind for kind, names in _ACTIONS.items() for name in names}
_DOCTEST: Final = re.compile(r"^--doctest-(?:modules|only|glob|plus|rst|cython)")
_DOC_PATH: Final = re.compile(r"^(?:\./)?docs?(?:/|$)|\.rst$|\.md$")
_DOWNLOADS: Final = "actions/download-artifact"


def role_of(
    steps: Sequence[StepScript],
    *,
    job: str = "",
    name: str = "",
    workflow: str = "",
    read: Callable[[str], str | None] = lambda _: None,
) -> tuple[Role, str]:
    """Say what a job is for, and why: `pytest at ci.yml:31`."""
    found = read_job(steps, read)
    seen: dict[Kind, str] = {}
    for step in steps:
        kind = _KIND_OF_ACTION.get(action_of(step.uses)) if step.uses else None
        if kind is not None:
            seen.setdefault(kind, f"{step.uses.partition('@')[0]} at {workflow}:{step.line}")
    released = seen.pop(Kind.RELEASE, "") or _published(found, workflow)
    sure, rest = _evidence(found, job, name, workflow)
    tests_for_sure = Kind.TEST in sure
    for kind, reason in (*sure.items(), *rest.items()):
        seen.setdefault(kind, reason)
    # `docs` that also runs its tests is still about the docs; `check` and `lint-and-test` may be anything.
    plain = kinds_of_name(re.sub(r"checks?", "", job))
    if len(plain) == 1 and plain <= {Kind.LINT, Kind.DOCS, Kind.BENCH} and plain <= set(seen):
        kind = next(iter(plain))
        return _ROLES[kind], seen[kind]
    if not tests_for_sure:
        # Where several kinds show themselves, the name decides; many a job is called `build` whatever it does.
        names = (job, name, workflow.rpartition(".")[0])
        named = [kind for text in names if (kind := kind_of_name(text)) in seen and kind in _ROLES]
        named.sort(key=lambda kind: kind is Kind.BUILD)
        if named and (named[0] is not Kind.BUILD or Kind.TEST not in seen):
            return _ROLES[named[0]], seen[named[0]]
    for kind in _ORDER:
        if kind is not Kind.TEST and released:
            return Role.OTHER, released
        if kind in seen:
            return _ROLES[kind], seen[kind]
    return _by_name(steps, found, (job, name, workflow))


def _published(found: JobCommands, workflow: str) -> str:
    return next(
        (
            f"{placed.command.name} at {workflow}:{placed.line}"
            for placed in found.commands
            if placed.command.kind is Kind.RELEASE
            and placed.command.tool in _PUBLISHES
            and placed.certain
        ),
        "",
    )


_PUBLISHES: Final = frozenset(
    {"uv publish", "twine", "poetry", "hatch", "maturin", "cargo", "flit"}
)


def _evidence(
    found: JobCommands, job: str, name: str, workflow: str
) -> tuple[dict[Kind, str], dict[Kind, str]]:
    """Give the kinds that show themselves: by a tool that is known and surely run, and otherwise."""
    sure: dict[Kind, str] = {}
    rest: dict[Kind, str] = {}
    named_docs = kind_of_name(job) is Kind.DOCS or kind_of_name(name) is Kind.DOCS
    for placed, command in leaves(found.commands):
        if any(inner.kind in _ORDER for inner in command.inner):
            continue
        kind = _docs_after_all(command, named_docs)
        if kind not in _ORDER:
            continue
        outer = "" if command is placed.command else f" of {placed.command.name}"
        reason = f"{command.name}{outer} at {workflow}:{placed.line}"
        known = command.tool in _TEST_TOOLS or kind is not Kind.TEST
        (sure if placed.certain and known else rest).setdefault(kind, reason)
    return sure, rest


_TEST_TOOLS: Final = frozenset(
    {
        *(
            "pytest",
            "unittest",
            "manage.py",
            "django-admin",
            "tox",
            "nox",
            "spin",
            "hatch",
            "ctest",
            "nose2",
            "stestr",
            "meson",
            "trial",
        )
    }
)


def _docs_after_all(command: Recognised, named_docs: bool) -> Kind:  # noqa: FBT001 - one of two facts
    """Count a pytest that only runs doctests of the documentation as documentation."""
    call = command.pytest
    if command.kind is not Kind.TEST or call is None:
        return command.kind
    pointed = bool(call.paths) and all(_DOC_PATH.search(path) for path in call.paths)
    doctests = any(_DOCTEST.match(option) for option in call.options)
    return Kind.DOCS if pointed or (doctests and named_docs) else command.kind


def _by_name(
    steps: Sequence[StepScript], found: JobCommands, names: Sequence[str]
) -> tuple[Role, str]:
    """Go by names where a job runs something, but nothing that is known."""
    unknown = _unknown(steps, found)
    if not unknown:
        return Role.OTHER, "it runs nothing that builds, tests or checks"
    job, name, workflow = names
    hints = [
        (job, f"job `{job}`"),
        (name, f"name `{name}`"),
        (workflow.rpartition(".")[0], f"file {workflow}"),
    ]
    if unknown.startswith("./"):
        hints.insert(0, (unknown, unknown))
    kinds = [(kind, what) for text, what in hints if (kind := kind_of_name(text)) is not None]
    # Many a job is called `build` whatever it does.
    kinds.sort(key=lambda found: found[0] is Kind.BUILD)
    for kind, what in kinds:
        if kind in _ROLES:
            return _ROLES[kind], f"by the {what}: `{unknown}` is not known"
        if kind is Kind.RELEASE:
            return Role.OTHER, f"by the {what}"
    return Role.OTHER, f"`{unknown}` is not known"


def _unknown(steps: Sequence[StepScript], found: JobCommands) -> str:
    for placed in found.commands:
        if placed.command.kind is Kind.OTHER:
            return placed.command.tool
    if found.lost:
        return found.lost[0].what
    return next((step.uses for step in steps if step.uses.startswith("./")), "")
