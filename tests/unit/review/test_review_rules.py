"""The other rules of a review, on two small trees each."""

from __future__ import annotations

import pytest

from presubmit.review.facts import Commit
from presubmit.review.names import NAMES
from presubmit.review.rules import RULES, review
from presubmit.values import TargetKind
from tests.unit.review.trees import codes, facts_of, review_of

PACKAGE = {
    "pyproject.toml": "[project]\nname = 'pkg'\n[build-system]\nbuild-backend = 'hatchling.build'\n",
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": 'def first(x, y=1):\n    """First."""\n    return x\n\n\ndef second():\n    """Second."""\n',
}
CHANGED = {**PACKAGE, "src/pkg/a.py": PACKAGE["src/pkg/a.py"].replace("return x", "return x + 1")}


def with_a(old: str, new: str) -> dict[str, str]:
    assert old in PACKAGE["src/pkg/a.py"]
    return {**PACKAGE, "src/pkg/a.py": PACKAGE["src/pkg/a.py"].replace(old, new)}


def test_a_change_inside_a_function_gives_no_remark_of_any_rule() -> None:
    found = review_of(PACKAGE, CHANGED)
    assert (found.remarks, found.unchecked, found.rules) == ((), (), tuple(RULES))


# --- api ---

API = {
    "a function is removed": (
        with_a('\n\ndef second():\n    """Second."""\n', ""),
        ["api.removed"],
    ),
    "a parameter is removed": (with_a("(x, y=1)", "(x)"), ["api.parameter-removed"]),
    "a parameter is asked for": (with_a("(x, y=1)", "(x, y=1, *, z)"), ["api.parameter-required"]),
    "a default changes": (with_a("y=1", "y=2"), ["api.default-changed"]),
    "a function is new": (
        with_a("def second", "def third():\n    pass\n\n\ndef second"),
        ["api.added"],
    ),
    "a module is new": (
        {**PACKAGE, "src/pkg/b.py": 'def third():\n    """Third."""\n'},
        ["api.module-added"],
    ),
    "tests move into a folder": (
        {**PACKAGE, "src/pkg/tests/test_a.py": "def test_a():\n    pass\n"},
        [],
    ),
    "a private one is new": (with_a("def second", "def _third():\n    pass\n\n\ndef second"), []),
    "a removed one is still served": (
        with_a(
            "def second",
            "def __getattr__(name):\n    if name == 'second':\n        return _second\n\n\ndef _second",
        ),
        [],
    ),
}


@pytest.mark.parametrize("name", API)
def test_the_public_names_are_compared(name: str) -> None:
    after, expected = API[name]
    assert codes(review_of(PACKAGE, after, "api")) == expected


def test_packaged_tests_are_no_api() -> None:
    base = {**PACKAGE, "src/pkg/tests.py": "def test_a():\n    pass\n"}
    assert codes(review_of(base, PACKAGE, "api")) == []


def test_helpers_for_the_tests_of_users_are_api() -> None:
    base = {**PACKAGE, "src/pkg/testing/__init__.py": "def check():\n    pass\n"}
    after = {**base, "src/pkg/testing/__init__.py": ""}
    assert codes(review_of(base, after, "api")) == ["api.removed"]


def test_a_break_has_its_place_on_the_base_where_head_has_it_no_more() -> None:
    [remark] = review_of(PACKAGE, API["a function is removed"][0], "api").remarks
    assert (remark.file, remark.line, remark.subject) == ("src/pkg/a.py", 6, "pkg.a.second")


def test_a_module_that_is_gone_is_said_once() -> None:
    after = {path: text for path, text in PACKAGE.items() if path != "src/pkg/a.py"}
    assert codes(review_of(PACKAGE, after, "api")) == ["api.removed"]


def test_a_file_that_cannot_be_parsed_is_unchecked_and_gives_no_removals() -> None:
    found = review_of(PACKAGE, with_a("def second():", "def second(:"), "api")
    assert [(one.rule, one.what) for one in found.unchecked] == [("api", "src/pkg/a.py")]
    assert found.remarks == ()


def test_a_package_too_large_is_compared_by_its_changed_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("presubmit.review.api.MOST", 1)
    more = {"src/pkg/b.py": "x = 1\n"}
    found = review_of({**PACKAGE, **more}, {**API["a function is removed"][0], **more}, "api")
    assert codes(found) == ["api.removed"]
    assert len(found.unchecked) == 1


# --- documentation ---

DOCUMENTED = {
    **PACKAGE,
    "docs/api.md": "`pkg.a.first(x)` and `pkg.a.second()`.\n",
    "README.md": "Run `tool --workers 4`; the default of --workers is 16.\nSet PKG_WORKERS.\n",
    "src/pkg/cli.py": "import os\n\nparser.add_argument('--workers', default=16)\nN = os.environ.get('PKG_WORKERS')\n",
}


DOCS = {
    "a name that the docs show is removed": (
        {**DOCUMENTED, "src/pkg/a.py": API["a function is removed"][0]["src/pkg/a.py"]},
        ["documentation.stale-name"],
    ),
    "the docs follow": (
        {
            **DOCUMENTED,
            "src/pkg/a.py": API["a function is removed"][0]["src/pkg/a.py"],
            "docs/api.md": "`pkg.a.first(x)`.\n",
        },
        [],
    ),
    "an option is renamed": (
        {
            **DOCUMENTED,
            "src/pkg/cli.py": DOCUMENTED["src/pkg/cli.py"].replace("--workers", "--jobs"),
        },
        ["documentation.stale-flag"],
    ),
    "a default changes": (
        {**DOCUMENTED, "src/pkg/cli.py": DOCUMENTED["src/pkg/cli.py"].replace("16", "32")},
        ["documentation.stale-default"],
    ),
    "a variable is renamed": (
        {
            **DOCUMENTED,
            "src/pkg/cli.py": DOCUMENTED["src/pkg/cli.py"].replace("PKG_WORKERS", "PKG_JOBS"),
        },
        ["documentation.stale-variable"],
    ),
    "a new name without a docstring": (
        {**DOCUMENTED, "src/pkg/a.py": PACKAGE["src/pkg/a.py"] + "\n\ndef third():\n    pass\n"},
        ["documentation.no-docstring", "documentation.no-entry"],
    ),
}


@pytest.mark.parametrize("name", DOCS)
def test_the_docs_are_compared_with_what_the_change_takes_away(name: str) -> None:
    after, expected = DOCS[name]
    assert codes(review_of(DOCUMENTED, after, "documentation")) == expected


def test_a_command_that_is_no_longer_installed_is_looked_for() -> None:
    base = {
        "pyproject.toml": "[project.scripts]\nold-tool = 'a:b'\n",
        "README.md": "    $ old-tool run\n",
    }
    after = {**base, "pyproject.toml": "[project.scripts]\nnew-tool = 'a:b'\n"}
    [remark] = review_of(base, after, "documentation").remarks
    assert (remark.code, remark.file, remark.line) == (
        "documentation.stale-command",
        "README.md",
        1,
    )


def test_a_changelog_may_show_what_was() -> None:
    base = {
        "pyproject.toml": "[project.scripts]\nold-tool = 'a:b'\n",
        "docs/changelog.md": "`old-tool` is new\n",
    }
    after = {**base, "pyproject.toml": "[project.scripts]\n"}
    assert codes(review_of(base, after, "documentation")) == []


# --- packaging ---

SETUPTOOLS = "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
FOUND = {
    "pyproject.toml": SETUPTOOLS,
    "setup.py": "setup(packages=find_packages())\n",
    "pkg/__init__.py": "",
}
MESON = {
    "pyproject.toml": "[build-system]\nbuild-backend = 'mesonpy'\n",
    "pkg/__init__.py": "",
    "pkg/meson.build": "py.install_sources(['__init__.py', 'a.py'], subdir: 'pkg')\n",
    "pkg/a.py": "",
}
PACKAGING = {
    "a folder without __init__.py": (FOUND, {"pkg/sub/b.py": "x = 1\n"}, ["packaging.no-init"]),
    "a folder with __init__.py": (FOUND, {"pkg/sub/b.py": "", "pkg/sub/__init__.py": ""}, []),
    "data without a pattern": (FOUND, {"pkg/table.json": "{}"}, ["packaging.no-data"]),
    "data with a pattern": (
        {**FOUND, "setup.cfg": "[options.package_data]\n* = *.json\n"},
        {"pkg/table.json": "{}"},
        [],
    ),
    "data that MANIFEST.in names": (
        {
            **FOUND,
            "MANIFEST.in": "recursive-include pkg *.json\n",
            "setup.cfg": "[options]\ninclude_package_data = true\n",
        },
        {"pkg/table.json": "{}"},
        [],
    ),
    "a package that a list lacks": (
        {**FOUND, "setup.py": "setup(packages=['pkg'])\n"},
        {"pkg/sub/__init__.py": ""},
        ["packaging.not-listed"],
    ),
    "a module that meson.build lacks": (MESON, {"pkg/b.py": ""}, ["packaging.not-listed"]),
    "a module that meson.build names": (
        MESON,
        {
            "pkg/b.py": "",
            "pkg/meson.build": MESON["pkg/meson.build"].replace("'a.py'", "'a.py', 'b.py'"),
        },
        [],
    ),
    "a backend that takes everything": (PACKAGE, {"src/pkg/table.json": "{}"}, []),
    "a test is no part of it": (FOUND, {"pkg/tests/sub/test_b.py": ""}, []),
}


@pytest.mark.parametrize("name", PACKAGING)
def test_what_a_wheel_would_lack(name: str) -> None:
    base, new, expected = PACKAGING[name]
    assert codes(review_of(base, {**base, **new}, "packaging")) == expected


# --- files ---

CONFLICT = "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> other\n"
FILES: dict[str, tuple[dict[str, str | bytes], dict[str, str | bytes], list[str]]] = {
    "a merge marker": ({"a.py": "a = 1\n"}, {"a.py": CONFLICT}, ["files.merge-marker"]),
    "a heading is no marker": ({}, {"a.rst": "Title\n=======\n"}, []),
    "a large file": ({}, {"a.csv": "x" * 600_000}, ["files.large"]),
    "a large file grows": ({"a.csv": "x" * 600_000}, {"a.csv": "x" * 700_000}, []),
    "what a build made": ({}, {"pkg/_c.so": b"\x7fELF\0"}, ["files.built"]),
    "a picture": ({}, {"docs/a.png": b"\x89PNG\0\r\n"}, []),
    "a submodule moves": ({"lib": "@1"}, {"lib": "@2"}, ["files.submodule-moved"]),
    "a submodule is new": ({}, {"lib": "@1"}, []),
    "line ends of Windows": ({"a.py": "a\nb\n"}, {"a.py": "a\r\nb\r\n"}, ["files.crlf"]),
    "line ends of Windows for Windows": ({}, {"run.bat": "a\r\n"}, []),
    "line ends that were so before": ({"a.py": "a\r\n"}, {"a.py": "b\r\n"}, []),
    "a test that nobody collects": (
        {},
        {"tests/check_a.py": "def test_a():\n    pass\n"},
        ["files.uncollected-test"],
    ),
    "a test that is collected": ({}, {"tests/test_a.py": "def test_a():\n    pass\n"}, []),
    "a pattern of the project's own": (
        {"pytest.ini": "[pytest]\npython_files = check_*.py\n"},
        {
            "pytest.ini": "[pytest]\npython_files = check_*.py\n",
            "tests/check_a.py": "def test_a():\n    pass\n",
        },
        [],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_change_does_to_its_files(name: str) -> None:
    base, after, expected = FILES[name]
    assert codes(review_of(base, after, "files")) == expected


IMPORTING = {**PACKAGE, "src/pkg/b.py": "from pkg.c import x\n"}


@pytest.mark.parametrize(
    ("loose", "expected"),
    [
        ({"src/pkg/c.py": False}, ["files.not-added"]),
        ({"src/pkg/c.py": True}, ["files.ignored-import"]),
        ({}, []),
    ],
)
def test_an_import_of_a_file_that_only_the_checkout_has(
    loose: dict[str, bool], expected: list[str]
) -> None:
    assert codes(review(facts_of(PACKAGE, IMPORTING, loose=loose), ["files"])) == expected


def test_an_import_that_may_fail_asks_for_no_file() -> None:
    after = {
        **PACKAGE,
        "src/pkg/b.py": "try:\n    from pkg.c import x\nexcept ImportError:\n    x = 1\n",
    }
    facts = facts_of(PACKAGE, after, loose={"src/pkg/c.py": False})
    assert codes(review(facts, ["files"])) == []


def test_an_untracked_file_of_the_worktree_is_noted_where_tracked_code_imports_it() -> None:
    after = {
        **PACKAGE,
        "src/pkg/a.py": "from pkg import c\nfrom pkg.c import x\n",
        "src/pkg/c.py": "x = 1\n",
    }
    facts = facts_of(PACKAGE, after, kind=TargetKind.WORKTREE, untracked=("src/pkg/c.py",))
    assert codes(review(facts, ["files"])) == ["files.untracked-import"]


def test_a_fragment_is_missed_where_the_project_writes_them() -> None:
    base = {**PACKAGE, "pyproject.toml": "[tool.towncrier]\ndirectory = 'news'\n"}
    after = {**base, "src/pkg/a.py": CHANGED["src/pkg/a.py"]}
    assert codes(review_of(base, after, "files")) == ["files.no-fragment"]
    assert codes(review_of(base, {**after, "news/1.fix": "Mended."}, "files")) == []
    assert codes(review_of(base, {**base, "README.md": "x"}, "files")) == []


def test_a_sign_off_is_missed_where_the_ci_asks_for_one() -> None:
    signed = Commit(
        name="1" * 40,
        email="Me@example.org",
        message="One\n\nSigned-off-by: Me <me@example.org>\n",
    )
    other = Commit(
        name="2" * 40,
        email="you@example.org",
        message="Two\n\nSigned-off-by: Me <me@example.org>\n",
    )
    asking = {**PACKAGE, ".github/dco.yml": ""}
    found = review(facts_of(asking, asking, commits=(signed, other)), ["files"])
    assert [(one.code, one.subject) for one in found.remarks] == [("files.no-sign-off", "2" * 40)]
    assert codes(review(facts_of(PACKAGE, PACKAGE, commits=(signed, other)), ["files"])) == []


def test_the_last_line_of_codeowners_that_matches_wins() -> None:
    base = {**PACKAGE, ".github/CODEOWNERS": "* @all\n/src/ @sources\n*.md @docs # text\n"}
    after = {**base, "src/pkg/a.py": "", "README.md": "x", "setup.cfg": ""}
    [remark] = review_of(base, after, "files").remarks
    assert remark.text == "what changes belongs to @all (1), @docs (1), @sources (1)"


def test_the_planned_names_are_those_of_the_rules() -> None:
    assert tuple(RULES) == NAMES


def test_errors_come_first() -> None:
    base = {"requirements.txt": "torch==2.7.0\ntorchvision==0.22.0\nnumpy==2.0.0\n"}
    after = {"requirements.txt": "torch==2.7.0\ntorchvision==0.18.0\nnumpy\n"}
    assert [one.code for one in review_of(base, after).remarks] == [
        "pins.torch-pair",
        "pins.lost-pin",
    ]


def test_a_mistake_in_a_rule_costs_its_own_remarks_and_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        @staticmethod
        def remarks(_facts: object) -> list[object]:
            raise KeyError("odd")

    monkeypatch.setitem(RULES, "api", Broken)
    head = {**CHANGED, "src/pkg/b.py": "<<<<<<< ours\n=======\n>>>>>>> theirs\n"}
    found = review_of(PACKAGE, head)
    assert found.remarks
    assert [(one.rule, one.why) for one in found.unchecked] == [
        ("api", "a mistake in the rule: KeyError: 'odd'")
    ]


PASSED_ON = {
    **PACKAGE,
    "src/pkg/__init__.py": "from ._impl import Thing, load\n\n__all__ = ('Thing', 'load')\n",
    "src/pkg/_impl.py": (
        'def load(x, *, strict=True):\n    """Load."""\n\n\n'
        'class Thing:\n    """A thing."""\n\n    def go(self, far):\n        """Go."""\n\n\n'
        'def inner(x):\n    """Not passed on."""\n'
    ),
}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("strict=True", "lax=False", [("api.parameter-removed", "pkg.load(strict)")]),
        ("(self, far)", "(self)", [("api.parameter-removed", "pkg.Thing.go(far)")]),
        ("def inner(x)", "def inner()", []),
        ("def load(x, *", "def _load(x, *", [("api.removed", "pkg.load")]),
    ],
)
def test_what_a_public_module_passes_on_from_a_private_one_is_public(
    old: str, new: str, said: list[tuple[str, str]]
) -> None:
    head = {**PASSED_ON, "src/pkg/_impl.py": PASSED_ON["src/pkg/_impl.py"].replace(old, new)}
    if said == [("api.removed", "pkg.load")]:
        head["src/pkg/__init__.py"] = "from ._impl import Thing\n\n__all__ = ('Thing',)\n"
    found = review_of(PASSED_ON, head, "api")
    assert [(one.code, one.subject) for one in found.remarks] == said
    assert found.unchecked == ()


def test_a_name_that_is_newly_passed_on_is_new() -> None:
    head = {**PASSED_ON, "src/pkg/__init__.py": "from ._impl import Thing, inner, load\n"}
    found = review_of(PASSED_ON, head, "api")
    assert [(one.code, one.subject) for one in found.remarks] == [("api.added", "pkg.inner")]
