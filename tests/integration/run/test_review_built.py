"""What base and head are built to is compared, for real projects in a real container."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

PUBLIC = '__attribute__((visibility("default")))'
# A library of its own beside an extension module, as torch has them.
LIBRARY = {
    "pyproject.toml": (
        '[build-system]\nrequires = ["meson-python"]\nbuild-backend = "mesonpy"\n'
        '[project]\nname = "twist"\nversion = "1"\n'
    ),
    "meson.build": (
        "project('twist', 'c', 'cpp')\n"
        "py = import('python').find_installation(pure: false)\n"
        "folder = py.get_install_dir() / 'twist'\n"
        "library = shared_library('twist', 'twist/twist.c', 'twist/turn.cpp',\n"
        "  gnu_symbol_visibility: 'hidden', install: true, install_dir: folder)\n"
        "py.extension_module('_glue', 'twist/_glue.c', link_with: library,\n"
        "  install: true, subdir: 'twist', install_rpath: '$ORIGIN')\n"
        "py.install_sources('twist/__init__.py', 'twist/words.py', subdir: 'twist')\n"
    ),
    "twist/__init__.py": "from twist._glue import scale\n",
    "twist/words.py": "WORDS = ()\n",
    "twist/twist.h": (
        f"#define PUBLIC {PUBLIC}\n"
        "PUBLIC int twist_scale(int x);\nPUBLIC int twist_shift(int x);\n"
    ),
    "twist/twist.c": (
        '#include "twist.h"\n'
        "PUBLIC int twist_limit = 7;\n"
        "int twist_scale(int x) { return 2 * x; }\n"
        "int twist_shift(int x) { return x + 1; }\n"
        "int twist_internal(int x) { return x; }\n"
    ),
    "twist/turn.cpp": (
        "#include <string>\n#include <vector>\n"
        f"#define PUBLIC {PUBLIC}\n"
        "namespace twist {\n"
        "PUBLIC int turn(int x) { std::vector<std::string> all(x, std::string(40, 'x')); return all.size(); }\n"
        "PUBLIC int spin(int x) { return x; }\n"
        "}\n"
    ),
    "twist/_glue.c": (
        '#include <Python.h>\n#include "twist.h"\n'
        "int helper(int x) { return twist_scale(x); }\n"
        "static PyObject *scale(PyObject *self, PyObject *x) { return PyLong_FromLong(helper(PyLong_AsLong(x))); }\n"
        'static PyMethodDef methods[] = {{"scale", scale, METH_O, NULL}, {NULL}};\n'
        'static struct PyModuleDef glue = {PyModuleDef_HEAD_INIT, "_glue", NULL, -1, methods};\n'
        "PyMODINIT_FUNC PyInit__glue(void) { return PyModule_Create(&glue); }\n"
    ),
    "tests/test_twist.py": "import twist\n\n\ndef test_scale():\n    assert twist.scale(2) == 4\n",
}


def review(project: Project, *arguments: str) -> dict[str, Any]:
    done = project.presubmit("review", "--build", "--json", *arguments)
    assert done.exit_code == 0, done.output
    return kept(project)


def kept(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / ".presubmit/last/review.json").read_text())
    return found


def said(found: dict[str, Any], rule: str) -> list[tuple[str, str, str]]:
    return [
        (one["severity"], one["code"], one["text"])
        for one in found["remarks"]
        if one["code"].startswith(rule)
    ]


def names_of_logs(project: Project) -> list[str]:
    return [path.name for path in (project.path / ".presubmit/last/logs").iterdir()]


@pytest.fixture(scope="module")
def twist_checkout(make_project: MakeProject) -> Project:
    return make_project("twist", files=LIBRARY)


@pytest.fixture
def twist(twist_checkout: Project) -> Project:
    twist_checkout.back()
    return twist_checkout


def test_a_lost_export_macro_is_a_removed_symbol(
    twist: Project, in_container: tuple[str, ...]
) -> None:
    twist.edit("twist/twist.h", "PUBLIC int twist_shift", "int twist_shift")
    found = review(twist, *in_container)
    expected = ("warning", "symbols.removed", "libtwist.so no longer exports twist_shift")
    assert said(found, "symbols") == [expected]
    [remark] = [one for one in found["remarks"] if one["code"] == "symbols.removed"]
    assert (remark["file"], remark["line"]) == ("twist/twist.h", 3)
    assert [one for one in found["unchecked"] if one["rule"] in {"symbols", "packaging"}] == []
    assert said(found, "packaging") == []


def test_a_run_compares_symbols_where_a_failure_had_the_base_built(
    twist: Project, in_container: tuple[str, ...]
) -> None:
    twist.edit("twist/turn.cpp", "int turn(int x)", "int turn(long x)")
    twist.edit("twist/turn.cpp", "PUBLIC int spin(int x) { return x; }\n", "")
    twist.edit("twist/twist.c", "int twist_internal", "PUBLIC int twist_external")
    twist.edit("tests/test_twist.py", "== 4", "== 5")
    done = twist.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    assert said(kept(twist), "symbols") == [
        (
            "warning",
            "symbols.signature-changed",
            "libtwist.so: the signature changed: twist::turn(int) is twist::turn(long) now",
        ),
        ("warning", "symbols.removed", "libtwist.so no longer exports twist::spin(int)"),
        ("note", "symbols.added", "libtwist.so exports 1 symbol more: twist_external"),
    ]
    assert done.step("review.2")["outcome"] == "passed"


def test_a_module_that_the_install_list_lacks_is_not_in_the_wheel(
    twist: Project, in_container: tuple[str, ...]
) -> None:
    (twist.path / "twist/verbs.py").write_text("VERBS = ()\n")
    (twist.path / "twist/parts").mkdir()
    (twist.path / "twist/parts/__init__.py").write_text("")
    (twist.path / "twist/parts/one.py").write_text("ONE = 1\n")
    twist.edit("meson.build", "'twist/words.py', ", "")
    found = review(twist, *in_container)
    assert said(found, "packaging") == [
        (
            "warning",
            "packaging.wheel-lacks",
            "the wheel that was built lacks twist/parts (2 files); the change adds it",
        ),
        (
            "warning",
            "packaging.not-listed",
            "twist/verbs.py is not in the install list of meson.build, as its neighbours are",
        ),
        (
            "warning",
            "packaging.wheel-lacks",
            "the wheel that was built lacks twist/words.py; the base's wheel has it",
        ),
    ]


ARTS = {
    "pyproject.toml": (
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "arts"\nversion = "1"\n'
    ),
    "setup.py": (
        "from setuptools import setup\n\nFOUND = ['arts', 'arts.low']\n"
        "setup(packages=FOUND, package_data={'arts': ['*.json']})\n"
    ),
    "arts/__init__.py": "",
    "arts/table.json": "{}",
    "arts/low/__init__.py": "",
    "arts/low/one.py": "ONE = 1\n",
    "tests/test_arts.py": "import arts\n\n\ndef test_arts():\n    assert arts\n",
}


def test_a_package_that_setup_lacks_is_not_in_the_wheel_although_it_can_be_imported(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    arts = make_project("arts", files=ARTS)
    files = {
        "arts/high/__init__.py": "",
        "arts/high/two.py": "TWO = 2\n",
        "arts/data.json": "{}",
        "arts/words.txt": "a\n",
        "tests/test_high.py": "from arts.high.two import TWO\n\n\ndef test_two():\n    assert TWO == 2\n",
    }
    for name, text in files.items():
        (arts.path / name).parent.mkdir(exist_ok=True)
        (arts.path / name).write_text(text)
    arts.edit("setup.py", "'arts.low'", "")
    done = arts.presubmit("run", "--tier", "full", *in_container)
    assert done.exit_code == 0, done.output
    assert done.step("tests.1")["counts"]["passed"] == 2
    lacks = "the wheel that was built lacks"
    assert [text for _, _, text in said(kept(arts), "packaging")] == [
        f"{lacks} arts/high (2 files); the change adds it",
        f"{lacks} arts/low (2 files); the base's wheel has it",
        f"{lacks} arts/words.txt; the change adds it",
    ]
    assert done.step("tests.1")["counts"]["passed"] == 2


def test_a_wheel_that_cannot_be_built_is_not_checked(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    made = make_project("arts", files=ARTS)
    (made.path / "arts/more.py").write_text("")
    made.edit(
        "setup.py",
        "FOUND =",
        "import sys\nif 'bdist_wheel' in sys.argv and 'editable_wheel' not in sys.argv:\n"
        "    sys.exit('error: no wheels today')\nFOUND =",
    )
    found = review(made, "--rule", "packaging", *in_container)
    [one] = found["unchecked"]
    assert (one["rule"], one["what"]) == ("packaging", "what the wheel holds")
    assert one["why"] == "head's wheel could not be built: error: no wheels today"


def test_an_unchanged_library_of_a_real_project_exports_the_same(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    markupsafe = make_project("markupsafe", sdist="markupsafe==3.0.4")
    markupsafe.edit(
        "src/markupsafe/_speedups.c", "Py_ssize_t delta = 0;", "Py_ssize_t delta = 0L;"
    )
    # A plain run builds no base for it.
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    [unchecked] = [one for one in kept(markupsafe)["unchecked"] if one["rule"] == "symbols"]
    assert unchecked["why"].startswith("the base is not built: `presubmit review --build`")
    assert not any(name.startswith("base.") for name in names_of_logs(markupsafe))
    found = review(markupsafe, "--rule", "symbols", *in_container)
    assert (found["remarks"], found["unchecked"]) == ([], [])
    libraries = json.loads((markupsafe.path / ".presubmit/last/built/libraries.json").read_text())
    for side in ("base", "head"):
        [library] = libraries[side]
        assert library["symbols"]["PyInit__speedups"] == "T"
