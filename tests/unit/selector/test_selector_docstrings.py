"""Docstrings that changed: quiet, unless code that a test runs reads them."""

from __future__ import annotations

import pytest

from presubmit.selector import select
from presubmit.values import Mode, Selection
from tests.unit.selector.changes import chosen, edited, tree_after

HUB = {
    "pkg/__init__.py": "from pkg.a import C, f, g",
    "pkg/a.py": (
        '"""Old words of the module."""\n\n'
        'def f():\n    """Old."""\n    return 1\n\n'
        "def g():\n    return 2\n\n"
        'class C:\n    """Old words of C."""\n    def m(self):\n        """Old words of m."""\n'
    ),
    "tests/test_f.py": "from pkg import f\n\ndef test(): f()",
    "tests/test_g.py": "from pkg import g\n\ndef test(): g()",
    "tests/test_c.py": "from pkg import C\n\ndef test(): C().m()",
    "tests/test_other.py": "import json",
}
OF_F = 'f():\n    """Old."""'
OF_C = '"""Old words of C."""'
OF_M = '"""Old words of m."""'
OF_MODULE = '"""Old words of the module."""'


def after(old: str, more: dict[str, str], path: str = "pkg/a.py") -> Selection:
    """Select after a docstring got other words."""
    files = HUB | more
    return select(*tree_after(edited(old, old.replace("Old", "New"), path, files), files))


@pytest.mark.parametrize("old", [OF_F, OF_C, OF_M, OF_MODULE])
def test_a_docstring_that_nothing_reads_is_quiet(old: str) -> None:
    selection = after(old, {})
    assert (selection.mode, selection.tests) == (Mode.NONE, ())
    assert {it.reasons[0].rule for it in selection.left_out} == {"quiet", "imports"}


# --- tests that read them ---------------------------------------------------------------------------------------------


def test_a_docstring_chooses_its_own_file_where_doctests_are_collected() -> None:
    ini = {"pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}
    assert [test.path for test in after(OF_F, ini).tests] == ["pkg/a.py"]
    files = HUB | ini
    quiet = select(*tree_after(edited("return 2", "return 2  # two", "pkg/a.py", files), files))
    assert quiet.mode is Mode.NONE


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("from pkg import f\ndef test(): assert f.__doc__", True),
        ("import inspect\nfrom pkg import f\ndef test(): inspect.getdoc(f)", True),
        ("from pkg import f\ndef test(): help(f)", True),
        ("import pydoc, pkg\ndef test(): pydoc.render_doc(pkg.f)", True),
        ("import pydoc, pkg.a\ndef test(): pydoc.render_doc(pkg.a)", True),
        ("from pydoc import render_doc as page\nfrom pkg import a\ndef test(): page(a)", True),
        ("from pkg import a\ndef test(): help(a)", True),
        ("import doctest, pkg.a\ndef test(): doctest.testmod(pkg.a)", True),
        (
            "import pkg\ndef test():\n  for it in pkg.__all__: assert getattr(pkg, it).__doc__",
            True,
        ),
        (
            "from pkg import f\ndef check(it): assert it.__doc__\ndef test(): check(f)",
            True,
        ),
        ("from pkg import f\nALL = [f]\ndef test():\n  for it in ALL: assert it.__doc__", True),
        (
            "from pkg import f\ndef setup_module(): global it; it = f\ndef test(): assert it.__doc__",
            True,
        ),
        ("import pkg\ndef test(made): assert made.__doc__", True),
        (
            "from pkg import f, g\ndef test(): f()\ndef test_g():\n  it = g\n  assert it.__doc__",
            False,
        ),
        ("from pkg import g\ndef test(): assert g.__doc__", False),
        ("def test(): assert f.__doc__", False),
    ],
)
def test_a_docstring_chooses_the_tests_that_read_it(source: str, *, reads: bool) -> None:
    selection = after(OF_F, {"tests/test_docs.py": source})
    assert chosen(selection) == (["docs.py"] if reads else [])


@pytest.mark.parametrize(
    "source",
    [
        '"""Old."""\ndef test(): assert __doc__\n',
        'def test(request):\n    """Old."""\n    assert request.function.__doc__\n',
    ],
)
def test_a_test_that_reads_its_own_docstring_is_chosen(source: str) -> None:
    assert chosen(after("Old.", {"tests/test_own.py": source}, "tests/test_own.py")) == ["own.py"]


# --- code that reads them ---------------------------------------------------------------------------------------------

READER = {"tests/test_reader.py": "from pkg.reader import show\ndef test(): show()\n"}


@pytest.mark.parametrize(
    ("old", "source"),
    [
        (OF_F, "from pkg.a import f\ndef show(): return f.__doc__\n"),
        (OF_F, "from pkg.a import f as it\ndef show(): return it.__doc__\n"),
        (OF_F, "import pkg.a\ndef show(): return pkg.a.f.__doc__\n"),
        (OF_F, "from pkg.a import f\nTEXT = f.__doc__\ndef show(): return TEXT\n"),
        (OF_F, "import pydoc\nfrom pkg.a import f\ndef show(): return pydoc.getdoc(f)\n"),
        (OF_C, "from pkg.a import C\ndef show(): return C.__doc__\n"),
        (OF_C, "from pkg.a import C\ndef show(): return C().__doc__\n"),
        (OF_M, "from pkg.a import C\ndef show(): return C.m.__doc__\n"),
        (OF_MODULE, "from pkg import a\ndef show(): return a.__doc__\n"),
        (OF_MODULE, "from pkg.a import __doc__ as text\ndef show(): return text\n"),
    ],
)
def test_a_docstring_that_another_file_reads_chooses_the_tests_of_the_reader(
    old: str, source: str
) -> None:
    found = chosen(after(old, {"pkg/reader.py": source, **READER}))
    assert "reader.py" in found
    assert "other.py" not in found


def test_a_function_that_reads_a_docstring_by_name_chooses_its_tests_alone() -> None:
    source = "from pkg.a import f\ndef show(): return f.__doc__\ndef no(): ...\n"
    more = {"tests/test_no.py": "from pkg.reader import no\ndef test(): no()\n"}
    selection = after(OF_F, {"pkg/reader.py": source, **READER, **more})
    assert chosen(selection) == ["reader.py"]
    assert selection.tests[0].reasons[0].rule == "docstrings"


def test_a_helper_that_reads_what_it_is_given_chooses_tests_that_reach_both() -> None:
    more = {
        "pkg/helper.py": "def describe(fn): return fn.__doc__\ndef other(fn): return fn\n",
        "tests/test_both.py": "from pkg import f\nfrom pkg.helper import describe\ndef test(): describe(f)",
        "tests/test_else.py": "from pkg import g\nfrom pkg.helper import describe\ndef test(): describe(g)",
        "tests/test_none.py": "from pkg import f\nfrom pkg.helper import other\ndef test(): other(f)",
    }
    assert chosen(after(OF_F, more)) == ["both.py"]


def test_a_decorator_that_keeps_docstrings_chooses_tests_that_reach_it_and_the_function() -> None:
    more = {
        "pkg/deco.py": "KNOWN = {}\ndef deco(fn):\n    KNOWN[fn.__name__] = fn.__doc__\n    return fn\n",
        "pkg/b.py": "from pkg.deco import deco\n@deco\ndef h():\n    'Old.'\n\ndef i(): ...\n",
        "tests/test_known.py": "from pkg import b\nfrom pkg.deco import KNOWN\ndef test(): assert KNOWN['h']",
        "tests/test_h.py": "from pkg.b import h\ndef test(): h()",
    }
    found = chosen(after("Old.", more, "pkg/b.py"))
    assert {"known.py", "h.py"} <= set(found)
    assert not {"f.py", "g.py", "other.py"} & set(found)


@pytest.mark.parametrize(
    "body",
    [
        "    fn.__doc__ = 'made'\n    return fn\n",
        "    def inner(): return fn()\n    inner.__doc__ = fn.__doc__\n    return inner\n",
        "    return functools.wraps(fn)(lambda: fn())\n",
    ],
)
def test_who_sets_or_copies_a_docstring_reads_none(body: str) -> None:
    source = HUB["pkg/a.py"].replace("def f", "@deco\ndef f").partition("\n\n")[2]
    more = {"pkg/a.py": f"import functools\n\ndef deco(fn):\n{body}\n{source}"}
    assert after(OF_F, more).mode is Mode.NONE


def test_a_base_that_reads_the_docstrings_of_its_subclasses_chooses_their_tests() -> None:
    more = {
        "pkg/base.py": "class Base:\n    def usage(self): return self.__doc__\n",
        "pkg/sub.py": "from pkg.base import Base\nclass Sub(Base):\n    'Old.'\n",
        "tests/test_sub.py": "from pkg.sub import Sub\ndef test(): Sub().usage()",
    }
    assert chosen(after("Old.", more, "pkg/sub.py")) == ["sub.py"]


# --- command lines ----------------------------------------------------------------------------------------------------

RUNNERS = {
    "calls": "from pkg import cli\ndef test(): cli.main()",
    "runs": "import subprocess, sys\ndef test(): subprocess.run([sys.executable, '-m', 'pkg.cli', '--help'])",
}
ARGPARSE = (
    '"""Old words."""\nimport argparse\n\n'
    "def main():\n    argparse.ArgumentParser(description=__doc__).parse_args()\n\n"
    "def unrelated(): ...\n\nif __name__ == '__main__':\n    main()\n"
)
CLICK = (
    "import click\n\n@click.group()\ndef main():\n    'Group.'\n\n"
    "@main.command()\ndef sub():\n    'Old words.'\n\n"
    "def unrelated():\n    'Old remark.'\n\nif __name__ == '__main__':\n    main()\n"
)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("source", [ARGPARSE, CLICK], ids=["argparse", "click"])
def test_help_made_of_docstrings_reaches_the_tests_of_the_command(
    source: str, runner: str
) -> None:
    more = {"pkg/cli.py": source, "tests/test_cli.py": RUNNERS[runner]}
    assert chosen(after("Old words.", more, "pkg/cli.py")) == ["cli.py"]


def test_help_made_of_docstrings_does_not_reach_tests_of_the_other_functions() -> None:
    more = {
        "pkg/cli.py": ARGPARSE.replace("if __name__ == '__main__':\n    main()\n", ""),
        "tests/test_cli.py": RUNNERS["calls"],
        "tests/test_unrelated.py": "from pkg.cli import unrelated\ndef test(): unrelated()",
    }
    assert chosen(after("Old words.", more, "pkg/cli.py")) == ["cli.py"]


def test_a_docstring_beside_the_commands_is_quiet() -> None:
    more = {"pkg/cli.py": CLICK, "tests/test_cli.py": RUNNERS["calls"]}
    assert after("Old remark.", more, "pkg/cli.py").mode is Mode.NONE


@pytest.mark.parametrize(
    "source",
    [
        "from typer import Typer\napp = Typer()\n\n@app.command()\ndef h():\n    'Old.'\n",
        "import typer\n\ndef h():\n    'Old.'\n\ndef main(): typer.run(h)\n",
        "import fire\n\ndef h():\n    'Old.'\n\ndef main(): fire.Fire(h)\n",
        "import cmd\nclass h(cmd.Cmd):\n    def do_it(self, line):\n        'Old.'\n",
        "import pydantic\nclass h(pydantic.BaseModel):\n    'Old.'\n",
        "from pkg.app import app\n\n@app.command()\ndef h():\n    'Old.'\n",
    ],
)
def test_what_a_framework_shows_of_docstrings_chooses_the_tests(source: str) -> None:
    more = {
        "pkg/app.py": "import typer\napp = typer.Typer()\n",
        "pkg/b.py": source,
        "tests/test_b.py": "from pkg import b\ndef test(): b.main(), b.app, b.h",
    }
    assert chosen(after("Old.", more, "pkg/b.py")) == ["b.py"]


def test_a_docstring_that_a_script_of_the_project_prints_chooses_its_tests() -> None:
    more = {
        "pkg/cli.py": ARGPARSE,
        "pyproject.toml": "[project]\nname = 'pkg'\n[project.scripts]\npkg-tool = 'pkg.cli:main'\n",
        "tests/test_script.py": "import subprocess\ndef test(): subprocess.run(['pkg-tool', '--help'])",
    }
    assert chosen(after("Old words.", more, "pkg/cli.py")) == ["script.py"]


# --- decorators -------------------------------------------------------------------------------------------------------


def test_a_decorator_of_the_project_reads_no_docstrings() -> None:
    more = {
        "pkg/deco.py": "def deco(f): return f",
        "pkg/a.py": HUB["pkg/a.py"].replace("def f", "from pkg import deco\n\n@deco.deco\ndef f"),
    }
    assert after(OF_F, more).mode is Mode.NONE


@pytest.mark.parametrize(
    ("imported", "quiet"),
    [("from functools import cache", True), ("from elsewhere import cache", False)],
)
def test_a_decorator_with_a_known_name_is_believed_only_where_it_comes_from_its_module(
    imported: str, *, quiet: bool
) -> None:
    more = {"pkg/a.py": HUB["pkg/a.py"].replace("def f", f"{imported}\n\n@cache\ndef f")}
    assert (after(OF_F, more).mode is Mode.NONE) == quiet


def test_a_reader_that_cannot_be_parsed_chooses_who_imports_it() -> None:
    more = {"pkg/broken.py": "def (", "tests/test_broken.py": "import pkg, pkg.broken"}
    assert "broken.py" in chosen(after(OF_F, more))
