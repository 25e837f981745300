"""The files of a wheel are compared with the package folders by values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.review.built import Built, Wheels, not_built
from presubmit.review.rules import review
from presubmit.review.wheel import asks_base, installed_paths, may_differ
from tests.unit.review.trees import Files, codes, facts_of, review_of

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE = {
    # Of this backend the build files say nothing.
    "pyproject.toml": '[build-system]\nbuild-backend = "hatchling.build"\n',
    "setup.py": "setup()",
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": "",
    "src/pkg/_fast.c": "",
    "src/pkg/table.json": "",
    "src/pkg/tests/test_a.py": "",
}
WHEEL = ("pkg/__init__.py", "pkg/a.py", "pkg/table.json", "pkg/_fast.cpython-311.so")


def lacks(
    new: Mapping[str, str | None],
    head: tuple[str, ...],
    base: tuple[str, ...] | None = None,
    *,
    start: Mapping[str, str] = BASE,
) -> list[str]:
    """Give what a wheel lacks after a change; None takes a file away."""
    tree = {path: text for path, text in {**start, **new}.items() if text is not None}
    built = Built(wheels=Wheels(head=head, base=base))
    facts = msgspec.structs.replace(facts_of(start, tree), built=built)
    found = review(facts, ("packaging",))
    assert {one.code for one in found.remarks} <= {"packaging.wheel-lacks"}
    return [one.subject for one in found.remarks]


Case = tuple[dict[str, str | None], tuple[str, ...], tuple[str, ...] | None, list[str]]
CASES: dict[str, Case] = {
    "nothing": ({"src/pkg/a.py": "x"}, WHEEL, WHEEL, []),
    "a new module": ({"src/pkg/b.py": ""}, WHEEL, None, ["src/pkg/b.py"]),
    "a new module that is in": ({"src/pkg/b.py": ""}, (*WHEEL, "pkg/b.py"), None, []),
    "a module that was compiled": (
        {"src/pkg/b.py": ""},
        (*WHEEL, "pkg/b.cpython-311-x86_64-linux-gnu.so"),
        None,
        [],
    ),
    "a new package": (
        {"src/pkg/sub/__init__.py": "", "src/pkg/sub/b.py": "", "src/pkg/sub/deep/c.py": ""},
        WHEEL,
        None,
        ["src/pkg/sub"],
    ),
    "half of a new package": (
        {"src/pkg/sub/__init__.py": "", "src/pkg/sub/b.py": ""},
        (*WHEEL, "pkg/sub/b.py"),
        None,
        ["src/pkg/sub/__init__.py"],
    ),
    "a new source": ({"src/pkg/more.c": "", "src/pkg/more.h": ""}, WHEEL, None, []),
    "a new source where sources are in": (
        {"src/pkg/more.c": ""},
        (*WHEEL, "pkg/_fast.c"),
        None,
        ["src/pkg/more.c"],
    ),
    "new data": ({"src/pkg/b.json": ""}, WHEEL, None, ["src/pkg/b.json"]),
    "new data of a kind that is left out": (
        {"src/pkg/b.json": ""},
        ("pkg/__init__.py", "pkg/a.py"),
        None,
        [],
    ),
    "a marker of types": ({"src/pkg/py.typed": ""}, WHEEL, None, ["src/pkg/py.typed"]),
    "a file without a kind": ({"src/pkg/Makefile": ""}, WHEEL, None, []),
    "a new test, as others are left out": ({"src/pkg/tests/test_b.py": ""}, WHEEL, None, []),
    "a new test where tests are in": (
        {"src/pkg/tests/test_b.py": ""},
        (*WHEEL, "pkg/tests/test_a.py"),
        None,
        ["src/pkg/tests/test_b.py"],
    ),
    "a module that was in": (
        {"setup.py": "x"},
        WHEEL[:1],
        WHEEL,
        ["src/pkg/a.py", "src/pkg/table.json"],
    ),
    "a module that never was in": ({"setup.py": "x"}, WHEEL[:1], WHEEL[:1], []),
    "a module that is gone": ({"src/pkg/a.py": None}, WHEEL[:1] + WHEEL[2:], WHEEL, []),
    "the base is not known": ({"setup.py": "x"}, WHEEL[:1], None, []),
}


@pytest.mark.parametrize(("new", "head", "base", "expected"), CASES.values(), ids=CASES)
def test_what_the_wheel_lacks_through_the_change(
    new: dict[str, str | None],
    head: tuple[str, ...],
    base: tuple[str, ...] | None,
    expected: list[str],
) -> None:
    assert lacks(new, head, base) == expected


def test_a_package_is_found_in_any_folder_by_what_the_wheel_has() -> None:
    tree = Files(
        {"py/odd/__init__.py": "", "py/odd/a.py": "", "py/odd/sub/b.py": "", "odd/x.md": ""}
    )
    assert installed_paths(tree, ["odd/__init__.py", "odd/a.py"]) == {
        "py/odd/__init__.py": "odd/__init__.py",
        "py/odd/a.py": "odd/a.py",
        "py/odd/sub/b.py": "odd/sub/b.py",
    }


def test_the_base_is_asked_only_where_something_that_it_has_is_lacking() -> None:
    facts = facts_of({"pkg/__init__.py": ""}, {"pkg/__init__.py": "", "pkg/b.py": ""})
    assert not asks_base(facts, ["pkg/__init__.py"])
    assert asks_base(facts, ["pkg/b.py"])


def test_no_wheel_is_built_where_files_of_packages_were_only_edited() -> None:
    base = {"pkg/__init__.py": "", "setup.py": "", "tool.py": ""}
    assert not may_differ(facts_of(base, {**base, "pkg/__init__.py": "x"}))
    for new in ({"setup.py": "x"}, {"tool.py": "x"}, {"pkg/b.py": ""}):
        assert may_differ(facts_of(base, {**base, **new}))


SETUP = "from setuptools import setup\nsetup(packages=['pkg'])\n"


def test_the_wheel_knows_better_than_the_build_files() -> None:
    base = {"setup.py": SETUP, "pkg/__init__.py": ""}
    head = {**base, "pkg/sub/__init__.py": ""}
    assert codes(review_of(base, head, "packaging")) == ["packaging.not-listed"]
    facts = facts_of(base, head)
    for wheel, expected in (
        (("pkg/__init__.py",), ["packaging.not-listed"]),
        (("pkg/__init__.py", "pkg/sub/__init__.py"), []),
    ):
        built = Built(wheels=Wheels(head=wheel))
        found = review(msgspec.structs.replace(facts, built=built), ("packaging",))
        assert codes(found) == expected


def test_why_there_is_no_wheel_is_said() -> None:
    facts = facts_of(BASE, {**BASE, "src/pkg/a.py": "x"})
    failed = msgspec.structs.replace(facts, built=not_built("no compiler"))
    [one] = review(failed, ("packaging",)).unchecked
    assert (one.what, one.why) == ("what the wheel holds", "no compiler")
    half = Built(wheels=Wheels(head=WHEEL, why_no_base="the base does not build"))
    [one] = review(msgspec.structs.replace(facts, built=half), ("packaging",)).unchecked
    assert (one.what, one.why) == (
        "what the base's wheel has and head's lacks",
        "the base does not build",
    )


LISTS = (
    '[build-system]\nbuild-backend = "hatchling.build"\n[tool.hatch]\nx = 1\n[project]\ny = 1\n'
)


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("meson.build", "a", "b", True),
        ("pyproject.toml", LISTS, LISTS.replace("x = 1", "x = 2"), True),
        ("pyproject.toml", LISTS, LISTS.replace("y = 1", "y = 2"), False),
        ("pyproject.toml", LISTS, "[", True),
        ("pkg/a.py", "a", "b", False),
    ],
)
def test_a_changed_install_list_says_that_no_wheel_was_built(
    path: str, old: str, new: str, *, said: bool
) -> None:
    found = review_of({path: old}, {path: new}, "packaging")
    assert [one.what for one in found.unchecked] == (["what the wheel holds"] if said else [])
