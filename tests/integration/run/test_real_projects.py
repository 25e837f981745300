"""A fault in real projects is found, named and classed, in a real container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

FAULT = ("src/markupsafe/_speedups.c", "*outp++ = 'l';", "*outp++ = 'L';")
NEUTRAL = (
    "src/markupsafe/_speedups.c",
    "Py_ssize_t delta = 0;",
    "Py_ssize_t delta = 0L;",
)


@pytest.fixture(scope="module")
def markupsafe_checkout(make_project: MakeProject) -> Project:
    return make_project("markupsafe", sdist="markupsafe==3.0.4")


@pytest.fixture
def markupsafe(markupsafe_checkout: Project) -> Project:
    markupsafe_checkout.back()
    return markupsafe_checkout


def test_a_fault_in_c_code_is_new(markupsafe: Project, in_container: tuple[str, ...]) -> None:
    markupsafe.edit(*FAULT)
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    new = done.failures("new")
    assert any(name.startswith("tests/test_escape.py::test_escape[") for name in new)
    assert all("markupsafe._speedups" in name for name in new)
    assert {f["base"] for f in done.run["failures"]} == {"passed"}
    assert "NEW       tests/test_escape.py::test_escape[" in done.output
    assert done.run["environment"]["kind"] == "container"
    assert done.run["environment"]["image_id"].startswith("sha256:")


def test_a_fault_that_the_base_has_too_is_on_base(
    markupsafe: Project, in_container: tuple[str, ...]
) -> None:
    markupsafe.edit(*FAULT)
    markupsafe.commit_upstream()
    markupsafe.edit(*NEUTRAL)
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert done.failures("new") == []
    assert len(done.failures("on_base")) > 1
    assert done.run["state"] == "passed"


def test_a_new_test_that_fails_is_new_whatever_it_does_on_the_bases_code(
    markupsafe: Project, in_container: tuple[str, ...]
) -> None:
    markupsafe.edit(*FAULT)
    markupsafe.commit_upstream()
    markupsafe.edit(*NEUTRAL)
    (markupsafe.path / "tests/test_new.py").write_text(
        "from markupsafe import escape\n\n\ndef test_less_than() -> None:\n"
        "    assert str(escape('<')) == '&lt;'\n"
    )
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    # The project's own conftest runs it with and without the extension.
    assert done.failures("new") == ["tests/test_new.py::test_less_than[markupsafe._speedups]"]
    assert done.run["reproduces"] == [
        {"test": "tests/test_new.py::test_less_than", "fails_without_change": True, "reason": ""}
    ]


def test_an_unchanged_tree_has_nothing_to_check(
    markupsafe: Project, in_container: tuple[str, ...]
) -> None:
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 0
    assert "nothing to check" in done.output
    assert done.run["state"] == "nothing"


def test_a_docs_only_change_needs_no_build_and_no_tests(
    markupsafe: Project, in_container: tuple[str, ...]
) -> None:
    markupsafe.edit("README.md", "MarkupSafe", "MarkupSafe!")
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert [s["role"] for s in done.run["steps"] if s["role"] in {"build", "tests"}] == []
    assert "build: nothing in this change needs one" in done.output
    assert "tests: nothing that a test sees changed" in done.output


def test_a_deleted_source_whose_extension_was_built_before_is_no_stale_green(
    markupsafe: Project, in_container: tuple[str, ...]
) -> None:
    markupsafe.edit(*NEUTRAL)
    assert markupsafe.presubmit("run", *in_container).exit_code == 0
    markupsafe.back()
    (markupsafe.path / "src/markupsafe/_speedups.c").unlink()
    done = markupsafe.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    assert done.run["failures"][0]["kind"] == "build"
    assert done.run["failures"][0]["class"] == "new"
    assert done.run["failures"][0]["base"] == "passed"


TWIN = {
    "setup.py": (
        "from setuptools import Extension, setup\n\nNATIVE = True\n"
        "modules = [Extension('twin._fast', ['twin/_fast.c'])]\n"
        "setup(name='twin', version='1', packages=['twin'], ext_modules=modules if NATIVE else [])\n"
    ),
    "twin/__init__.py": (
        "try:\n    from twin._fast import answer\nexcept ImportError:\n    def answer():\n        return 42\n"
    ),
    "twin/_fast.c": (
        "#include <Python.h>\n"
        "static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(42); }\n"
        'static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, NULL}, {NULL}};\n'
        'static struct PyModuleDef fast = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};\n'
        "PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&fast); }\n"
    ),
    "tests/test_twin.py": "import twin\n\n\ndef test_answer():\n    assert twin.answer() == 42\n",
}


def test_a_build_that_silently_gives_no_extension_module_is_a_failed_build(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    twin = make_project("twin", files=TWIN)
    twin.edit("setup.py", "NATIVE = True", "NATIVE = False")  # every test would pass
    done = twin.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    assert done.run["failures"][0]["kind"] == "build"
    assert done.run["failures"][0]["class"] == "new"
    assert "pure Python fallback" in done.run["failures"][0]["message"]


def test_native_code_that_no_test_loaded_is_an_error_and_not_green(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    twin = make_project("twin", files=TWIN)
    twin.edit("twin/_fast.c", "#include <Python.h>", "#include <Python.h>\n/* neutral */")
    (twin.path / "conftest.py").write_text("import sys\n\nsys.modules['twin._fast'] = None\n")
    done = twin.presubmit("run", *in_container)
    assert done.exit_code == 3, done.output
    assert "never loaded twin._fast" in done.output


def test_a_cython_change_that_the_build_does_not_take_up_is_never_green(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("msgpack", sdist="msgpack==1.2.4")
    project.edit(
        "msgpack/_packer.pyx", "msgpack_pack_true(&self.pk)", "msgpack_pack_false(&self.pk)"
    )
    done = project.presubmit("run", "--skip", "lint,docs", *in_container)
    assert done.exit_code == 3, done.output
    assert "msgpack/_cmsgpack.c is generated" in done.output
    assert "build.before" in done.output


@pytest.mark.parametrize(
    ("sdist", "file", "old", "new", "test"),
    [
        pytest.param(
            "msgpack==1.2.4",
            "msgpack/_packer.pyx",
            "msgpack_pack_true(&self.pk)",
            "msgpack_pack_false(&self.pk)",
            "test/",
            id="msgpack, Cython to C",
        ),
        pytest.param(
            "attrs==26.1.0",
            "src/attr/converters.py",
            "if val is None:\n                return None",
            "if val is None:\n                return 1",
            "tests/test_converters.py",
            id="attrs",
        ),
        pytest.param(
            "pluggy==1.7.0",
            "src/pluggy/_execution.py",
            "results.append(res)",
            "results.insert(0, res)",
            "testing/",
            id="pluggy, in pytest's own dependency chain",
        ),
    ],
)
def test_a_fault_in_one_function_is_new(
    make_project: MakeProject,
    in_container: tuple[str, ...],
    sdist: str,
    file: str,
    old: str,
    new: str,
    test: str,
) -> None:
    project = make_project(sdist.partition("==")[0], sdist=sdist)
    project.edit(file, old, new)
    version = sdist.partition("==")[2]
    env = {"PRESUBMIT_CONTAINER_ENV": f"SETUPTOOLS_SCM_PRETEND_VERSION={version}"}
    if sdist.startswith("msgpack"):
        # As its own CI does: setup.py compiles the C file that Cython generated before.
        env["PRESUBMIT_BUILD_BEFORE"] = "cython msgpack/_cmsgpack.pyx"
    done = project.presubmit("run", "--skip", "lint,docs", *in_container, env=env)
    assert done.exit_code == 1, done.output
    found = done.failures("new")
    assert found, done.output
    assert all(name.startswith(test) for name in found), found
