from __future__ import annotations

import pytest

from presubmit.selector.imports import Imports, read_imports
from presubmit.selector.parsed import imports_of


def read(source: str, *, module: str = "pkg.sub.mod", is_package: bool = False) -> Imports:
    return read_imports(source.encode(), module=module, is_package=is_package)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a.b.c", {"a.b.c"}),
        ("import a.b as x", {"a.b"}),
        ("from a import b", {"a", "a.b"}),
        ("from . import x", {"pkg.sub", "pkg.sub.x"}),
        ("from .. import x", {"pkg", "pkg.x"}),
        ("from ..other.deep import x", {"pkg.other.deep", "pkg.other.deep.x"}),
        ("from ....... import x", {"x"}),
        ("def f():\n    import lazy", {"lazy"}),
        ("try:\n    import fast\nexcept ImportError:\n    import slow", {"fast", "slow"}),
        ("if TYPE_CHECKING:\n    import typed", {"typed"}),
        ("import scipy\nscipy.stats.norm()", {"scipy", "scipy.stats", "scipy.stats.norm"}),
        ("import importlib\nimportlib.import_module('x.y')", {"x.y"}),
        ("import_module('.near', __package__)", {"pkg.sub.near"}),
        ("import_module('.near', 'other')", {"other.near"}),
        ("pytest.importorskip('one')", {"one"}),
        ("__import__('one')", {"one"}),
    ],
)
def test_an_import_is_found_however_it_is_written(source: str, names: set[str]) -> None:
    found = read(source)
    assert names <= set(found.names)
    assert not found.dynamic
    assert not found.problem


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert "pkg.sub.x" in read("from . import x", module="pkg.sub", is_package=True).names


def test_a_star_import_is_kept_apart() -> None:
    assert read("from pkg import *").stars == ("pkg",)


@pytest.mark.parametrize(
    "source",
    [
        "monkeypatch.setattr('pkg.svc.helper', 1)",
        "run([sys.executable, '-m', 'pkg.svc.helper'])",
        "run('python -m pkg.svc.helper --now', shell=True)",
        "run([sys.executable, '-c', 'import pkg.svc.helper'])",
        "X = 'pkg.svc.helper:main'",
        "testdir.makepyfile('''\nimport pkg.svc.helper\n''')",
        "testdir.makepyfile('''\nfrom pkg.svc import helper, other\n''')",
        "def f():\n    '''\n    >>> import pkg.svc.helper\n    '''",
    ],
)
def test_a_string_that_names_a_module_is_found(source: str) -> None:
    assert "pkg.svc.helper" in read(source).strings


def test_one_word_after_dash_m_is_a_module() -> None:
    assert "tool" in read("run([sys.executable, '-m', 'tool'])").strings


def test_prose_in_a_docstring_names_nothing() -> None:
    found = read("'''Text from elsewhere.py imports import everything.module.'''")
    assert found == Imports()


@pytest.mark.parametrize(
    ("source", "prefix"),
    [
        ("import_module(f'pkg.plugins.{n}')", "pkg.plugins."),
        ("import_module('pkg.plugins.' + n)", "pkg.plugins."),
        ("import_module('pkg.plugins.%s' % n)", "pkg.plugins."),
        ("import_module('pkg.plugins.{}'.format(n))", "pkg.plugins."),
        ("import_module(f'.{n}', __package__)", "pkg.sub."),
    ],
)
def test_a_dynamic_import_keeps_its_prefix(source: str, prefix: str) -> None:
    found = read(source)
    assert found.prefixes == (prefix,)
    assert not found.dynamic


@pytest.mark.parametrize(
    "source",
    ["import_module(name)", "__import__(n)", "spec_from_file_location('x', p)", "run_path(p)"],
)
def test_an_import_of_an_unknown_name_is_dynamic(source: str) -> None:
    assert read(source).dynamic


def test_walking_modules_and_listing_folders_are_flagged() -> None:
    assert read("pkgutil.iter_modules(p)").walks
    assert read("from importlib.metadata import entry_points\nentry_points()").walks
    assert read("os.listdir(p)").lists
    assert not read("print(1)").lists


def test_plugins_hooks_and_file_names_are_kept() -> None:
    found = read(
        "pytest_plugins = ['a.plug', 'b']\n"
        "def pytest_configure(config): ...\n"
        "x = open(here / 'data.json')\ny = f'{root}/README.md'\n"
    )
    assert found.plugins == ("a.plug", "b")
    assert found.hooks == ("pytest_configure", "pytest_plugins")
    assert {"data.json", "/README.md"} <= set(found.words)


@pytest.mark.parametrize(
    "source",
    [
        b"import pkg.a\ndef broken(:\n",
        b"import pkg.a\nprint 'python two'\n",
        b"import pkg.a\n\x00",
        b"# -*- coding: nonsense -*-\nimport pkg.a\n",
        b"import pkg.a\nx = " + b"(" * 3000 + b")" * 3000,
        b"import pkg.a\n" + b"\xff\xfe",
    ],
)
def test_a_source_that_cannot_be_parsed_says_so_and_is_guessed_at(source: bytes) -> None:
    found = read_imports(source, module="m", is_package=False)
    assert found.problem
    assert "pkg.a" in found.names
    assert found.dynamic
    assert found.walks


def test_a_huge_source_is_not_parsed() -> None:
    found = read_imports(b"import pkg.a\n" + b"#" * 5_000_000, module="m", is_package=False)
    assert found.problem == "too large to parse"
    assert found.names == ("pkg.a",)


def test_invalid_escapes_warn_nobody() -> None:
    assert not read(r"x = '\d'").problem


@pytest.mark.parametrize(
    "text",
    [
        "print(f.__doc__)",
        "import inspect\ninspect.getdoc(f)",
        "from doctest import testmod as t",
        'getattr(f, "__doc__")',
        "def f():\n    '''>>> f.__doc__'''",
        "f.__doc__ (",
    ],
)
def test_a_source_that_may_read_docstrings_says_so(text: str) -> None:
    assert imports_of("m.py", text.encode()).documents


def test_a_source_without_a_word_for_docstrings_reads_none() -> None:
    assert not imports_of("m.py", b"def test_f():\n    assert f() == 1\n").documents


def test_walking_skips_no_code_in_patterns_type_aliases_or_handlers() -> None:
    text = (
        "match x:\n    case {'a': b.c, **rest} if __import__('one'):\n        import two\n"
        "try:\n    pass\nexcept ImportError as e:\n    import three\n"
        "global g\n{**d, 'k': __import__('four')}\n"
        "def f(*, a, b=__import__('five')): ...\n"
    )

    names = imports_of("m.py", text.encode()).names

    assert {"one", "two", "three", "four", "five"} <= set(names)
