"""Which names of an extension module an edit can reach; whatever cannot be told is the whole module."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.selector.native.bound import Bound, bound_names, is_quiet

C = """
#include <Python.h>

#define LIMIT 3
#define TWICE(x) helper(helper(x))

int outside(int a);
static int helper(int a) { return a + 1; }  /* adds */
static int unused_by_others(int a) { return a; }

static PyObject *
mod_first(PyObject *self, PyObject *args)
{
    return PyLong_FromLong(helper(1));
}

static PyObject *mod_second(PyObject *self, PyObject *args) {
    if (args) { return PyLong_FromLong(TWICE(2)); }
    return PyObject_CallMethod(self, "third", NULL);
}

static PyObject *mod_third(PyObject *self, PyObject *args) { return NULL; }
static PyObject *mod_fourth(PyObject *self, PyObject *args) { return PyLong_FromLong(4); }

static PyObject *T_value(PyObject *self, PyObject *args) { return PyLong_FromLong(5); }
static PyObject *T_read(PyObject *self, PyObject *args) { return PyLong_FromLong(6); }
static PyObject *T_repr(PyObject *self) { return PyUnicode_FromString("r"); }
static PyObject *T_get(PyObject *self, void *x) { return PyLong_FromLong(7); }

static PyMethodDef T_methods[] = {
    {"value", T_value, METH_NOARGS, "doc"},
    {"read", T_read, METH_NOARGS, "doc"},
    {NULL}
};
static PyGetSetDef T_getset[] = {{"got", T_get, NULL, "doc"}, {NULL}};
static PyType_Slot T_slots[] = {{Py_tp_repr, T_repr}, {Py_tp_methods, T_methods}, {0, 0}};

static PyMethodDef methods[] = {
    {"first", mod_first, METH_NOARGS, PyDoc_STR("doc")},
    {"second", (PyCFunction)mod_second, METH_VARARGS | METH_KEYWORDS, "doc"},
    {"third", mod_third, METH_NOARGS, NULL},
    {"encode", mod_fourth, METH_NOARGS, NULL},
    {"alias", mod_fourth, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static int table[] = {1, 2};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", NULL, -1, methods};
static int setup(PyObject *m) { return 8; }

PyMODINIT_FUNC PyInit_m(void) {
    PyObject *m = PyModule_Create(&def);
    setup(m);
    return m;
}
"""


def edit(
    source: str, old: str, new: str, *, path: str = "m.c", others: dict[str, str] | None = None
) -> Bound:
    assert source.count(old) == 1, source.count(old)
    base, head = source.encode(), source.replace(old, new).encode()
    texts = {it: text.encode() for it, text in (others or {}).items()}
    return bound_names({path: (base, head)}, [path, *texts], texts.get)


def names(old: str, new: str) -> tuple[str, ...] | None:
    return edit(C, old, new).names


# --- C ----------------------------------------------------------------------------------------------------------------


def test_a_bound_function_is_its_name() -> None:
    assert names("helper(1)", "helper(11)") == ("first",)


def test_a_helper_reaches_whoever_calls_it_through_macros_too() -> None:
    found = edit(C, "a + 1", "a + 2")
    assert found.names == ("first", "second")
    assert found.chain == ("helper", "mod_first", "first")


def test_a_name_that_is_looked_up_by_a_string_is_a_use() -> None:
    assert names("{ return NULL; }", "{ return self; }") == ("second", "third")


def test_a_function_bound_twice_gives_both_names_even_where_methods_may_be_called_so() -> None:
    assert names("FromLong(4)", "FromLong(44)") == ("alias", "encode")


def test_a_method_is_its_name() -> None:
    assert names("FromLong(5)", "FromLong(55)") == ("value",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/* adds */", "// adds one"),
        ("return a + 1;", "return a +\n 1;"),
        ("#define LIMIT 3", "#define   LIMIT 3 // three"),
    ],
)
def test_comments_and_layout_reach_nothing(old: str, new: str) -> None:
    assert names(old, new) == ()
    assert is_quiet("m.c", C.encode(), C.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT 3", "LIMIT 4"),
        ("helper(helper(x))", "helper(x)"),
        ("#include <Python.h>", "#include <Python.h>\n#include <math.h>"),
        ("{1, 2}", "{1, 3}"),
        ('"third", mod_third', '"three", mod_third'),
        ("return m;\n", "return m ;;\n"),
        ("return 8;", "return 9;"),
        ('FromString("r")', 'FromString("s")'),
        ("FromLong(7)", "FromLong(77)"),
        ("FromLong(6)", "FromLong(66)"),
        ("static int table", "int table"),
        ("METH_VARARGS | METH_KEYWORDS", "METH_VARARGS"),
        ("return a; }", "return -a; }"),
    ],
    ids=[
        "a macro",
        "a function-like macro",
        "an include",
        "static data",
        "a table",
        "the init function",
        "what init calls",
        "a type's slot",
        "a getter",
        "a method that anybody calls by protocol",
        "a declaration of data",
        "flags of a method",
        "a function that nothing uses",
    ],
)
def test_these_edits_concern_the_whole_module(old: str, new: str) -> None:
    found = edit(C, old, new)
    assert found.names is None
    assert found.why


def test_blanks_in_the_string_of_a_macro_are_no_layout() -> None:
    source = C.replace("LIMIT 3", 'TEXT "a b"')
    assert edit(source, '"a b"', '"a  b"').names is None


def test_a_new_function_reaches_whoever_calls_it() -> None:
    new = "static int extra(int a) { return helper(a); }\nstatic PyObject *T_value(PyObject *self, PyObject *args) { extra(1); return PyLong_FromLong(5); }"
    old = "static PyObject *T_value(PyObject *self, PyObject *args) { return PyLong_FromLong(5); }"
    assert names(old, new) == ("value",)


def test_a_prototype_concerns_whoever_uses_its_name() -> None:
    source = C.replace("helper(1)", "outside(1)")
    assert edit(source, "int outside(int a);", "int outside(long a);").names == ("first",)


def test_names_that_macros_paste_together_hide_uses() -> None:
    source = C.replace("#define LIMIT 3", "#define CALL(x) mod_##x(0, 0)")
    assert edit(source, "helper(1)", "helper(2)").names is None


def test_pasting_other_names_hides_nothing() -> None:
    source = C.replace("#define LIMIT 3", "#define CALL(x) other_ ## x ## _end(0, 0)")
    assert edit(source, "helper(1)", "helper(2)").names == ("first",)


def test_a_macro_that_pastes_its_arguments_hides_everything() -> None:
    source = C.replace("#define LIMIT 3", "#define CAT(a, b) a##b")
    assert edit(source, "helper(1)", "helper(2)").names is None


def test_a_literal_that_a_macro_pastes_makes_no_name() -> None:
    source = C.replace("#define LIMIT 3", "#define HEX(b) 0x##b##u")
    assert edit(source, "helper(1)", "helper(2)").names == ("first",)


def test_a_macro_that_makes_functions_is_not_understood() -> None:
    source = C.replace("static int table", "DEFINE_IT(name)\n{ return 1; }\nstatic int table")
    assert edit(source, "{ return 1; }", "{ return 2; }").names is None


def test_a_macro_call_outside_of_functions_is_no_declaration() -> None:
    source = C.replace("static int table", "REGISTER(mod_first);\nstatic int table")
    assert edit(source, "helper(1)", "helper(2)").names is None


def test_a_table_entry_that_a_macro_makes_is_not_understood() -> None:
    source = C.replace("#define LIMIT 3", '#define FIRST {"first", mod_first, METH_NOARGS, NULL}')
    source = source.replace('{"first", mod_first, METH_NOARGS, PyDoc_STR("doc")}', "FIRST")
    assert edit(source, "helper(1)", "helper(2)").names is None


def test_braces_that_differ_between_branches_are_not_understood() -> None:
    source = C.replace(
        "if (args) {", "\n#ifdef A\nif (args) {\n#else\nif (self) { if (args) {\n#endif\n"
    )
    found = edit(source, "helper(1)", "helper(2)")
    assert found.names is None
    assert "#if" in found.why


def test_a_function_that_moves_between_branches_of_the_preprocessor_changes() -> None:
    first = "static PyObject *mod_third(PyObject *self, PyObject *args) { return NULL; }\n"
    source = C.replace(first, f"#ifdef A\n{first}#endif\n")
    moved = C.replace(first, f"{first}#ifdef A\n#endif\n")
    found = bound_names({"m.c": (source.encode(), moved.encode())}, ["m.c"], lambda _: None)
    assert found.names is None


def test_braces_and_quotes_in_strings_and_comments_do_not_count() -> None:
    source = C.replace(
        "if (args) {", 'if (args) { /* } */ char c = \'}\'; char *s = "\\"}"; // }\n'
    )
    assert edit(source, "helper(1)", "helper(2)").names == ("first",)


def test_a_constructor_attribute_runs_at_import() -> None:
    source = C.replace(
        "static int table",
        "__attribute__((constructor)) static void go(void) { }\nstatic int table",
    )
    assert edit(source, "go(void) { }", "go(void) { ; }").names is None


def test_an_alias_attribute_is_another_name() -> None:
    source = C.replace(
        "int outside(int a);", 'int outside(int a) __attribute__((alias("helper")));'
    )
    source = source.replace("FromLong(5)", "FromLong(outside(5))")
    assert edit(source, "a + 1", "a + 2").names == ("first", "second", "value")


def test_an_include_that_is_not_in_the_tree_may_hide_uses() -> None:
    source = C.replace("#include <Python.h>", '#include <Python.h>\n#include "generated_api.inc"')
    assert edit(source, "helper(1)", "helper(2)").names is None
    present = edit(source, "helper(1)", "helper(2)", others={"generated_api.inc": ""})
    assert present.names == ("first",)


def test_callers_in_other_sources_and_headers_count() -> None:
    low = 'int low(int a) { return a; }\n#include "h.h"\n'
    others = {
        "h.h": "static inline int mid(int a) { return low(a); }\nint low(int);\n",
        "m.c": C.replace("helper(1)", "mid(1)"),
    }
    assert edit(low, "return a;", "return -a;", path="low.c", others=others).names == ("first",)


def test_a_deleted_and_a_new_file_concern_the_whole_module() -> None:
    assert bound_names({"m.c": (b"", None)}, ["m.c"], lambda _: None).names is None
    assert bound_names({"m.c": (None, b"")}, ["m.c"], lambda _: None).names is None


def test_an_edit_of_generated_code_is_not_looked_into() -> None:
    text = "/* Generated by Cython 3.0 */\n" + C
    assert edit(text, "helper(1)", "helper(2)").names is None


@pytest.mark.parametrize("path", ["m.c", "m.cpp", "m.pyx", "m.rs", "m.pyx.in"])
def test_junk_is_never_narrowed(path: str) -> None:
    junk = bytes(range(256)) * 3
    assert bound_names({path: (junk, junk + b"{")}, [path], lambda _: None).names is None


# --- C++ --------------------------------------------------------------------------------------------------------------

CPP = """
#include <pybind11/pybind11.h>
namespace py = pybind11;

namespace {
template <typename T> T add(T a, T b) { return a + b; }
template <> int add<int>(int a, int b) { return b + a; }
struct Point {
    Point(int x) : x_(x) { }
    ~Point() { x_ = 0; }
    int norm() const { return x_ < 0 ? -x_ : x_; }
    int operator()(int a) { return a; }
    int x_ = 1;
};
struct Derived : public Base {
    int visit_all() override { return 1; }
};
}

int Outer::method(int a) { return a * 2; }
int free_one(int a) { return add<long>(a, 1); }
static Point make() { return Point(1); }
int at_import() { return 1; }
void bind_more(py::module_ &m) {
    m.def("more", [](int a) { return a + 3; });
}

PYBIND11_MODULE(_core, m) {
    m.doc() = "about";
    m.def("one", &free_one, py::arg("a") = 4, "doc");
    m.def("two", [](Outer &o, int a) { return o.method(a); });
    m.attr("version") = at_import();
    py::class_<Point>(m, "Point")
        .def(py::init<int>())
        .def("norm", &Point::norm)
        .def("shape", [](Point &p) { return 9; })
        .def("__len__", [](Point &p) { return 5; })
        .def_property_readonly("x", [](Point &p) { return p.x_; });
    bind_more(m);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("add<long>(a, 1)", "add<long>(a, 2)", ("one",)),
        ("return a * 2;", "return a * 3;", ("two",)),
        ("o.method(a)", "o.method(a + 1)", ("two",)),
        ("return a + 3;", "return a + 4;", ("more",)),
        ("x_ < 0", "x_ <= 0", ("norm",)),
        ("return p.x_;", "return -p.x_;", ("x",)),
    ],
)
def test_pybind11_names(old: str, new: str, expected: tuple[str, ...]) -> None:
    assert edit(CPP, old, new, path="m.cpp").names == expected


def test_a_template_reaches_whoever_uses_it_unless_it_is_specialised() -> None:
    special = "template <> int add<int>(int a, int b) { return b + a; }\n"
    plain = CPP.replace(special, "")
    assert edit(plain, "return a + b;", "return b - a;", path="m.cpp").names == ("one",)
    assert edit(CPP, "return a + b;", "return b - a;", path="m.cpp").names is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return b + a;", "return b - a;"),
        (": x_(x) { }", ": x_(x) { x_ += 1; }"),
        ("{ x_ = 0; }", "{ x_ = 1; }"),
        ("{ return a; }", "{ return -a; }"),
        ("int x_ = 1;", "int x_ = 2;"),
        ("override { return 1; }", "override { return 2; }"),
        ("at_import() { return 1; }", "at_import() { return 2; }"),
        ('m.doc() = "about"', 'm.doc() = "other"'),
        ("py::init<int>()", "py::init<long>()"),
        ("return 5;", "return 6;"),
        ("return 9;", "return 10;"),
        ("bind_more(m);\n}", "}"),
        ('(m, "Point")', '(m, "Pt")'),
        ("namespace py = pybind11;", "namespace py = pybind;"),
    ],
    ids=[
        "a specialisation",
        "a constructor",
        "a destructor",
        "an operator",
        "a member's initialiser",
        "a method of a derived class",
        "what is called at import",
        "a statement of the module",
        "an init",
        "a special method",
        "a method that numpy calls",
        "a registrar's call",
        "a class's name",
        "an alias",
    ],
)
def test_these_edits_of_pybind11_code_concern_the_whole_module(old: str, new: str) -> None:
    assert edit(CPP, old, new, path="m.cpp").names is None


def test_an_argument_default_that_is_computed_runs_at_import() -> None:
    source = CPP.replace('py::arg("a") = 4', 'py::arg("a") = at_import()')
    assert (
        edit(source, "at_import() { return 1; }", "at_import() { return 2; }", path="m.cpp").names
        is None
    )
    assert edit(source, "add<long>(a, 1)", "add<long>(a, 2)", path="m.cpp").names is None


def test_registrations_inside_an_expression_are_not_read_and_widen() -> None:
    source = CPP.replace(
        'm.def("more", [](int a) { return a + 3; });',
        'return (py::class_<Point>(m, "P").def("more", [](int a) { return free_one(a); }));',
    )
    assert edit(source, "add<long>(a, 1)", "add<long>(a, 2)", path="m.cpp").names is None


def test_a_static_object_is_constructed_at_import() -> None:
    source = CPP.replace("int at_import()", "static Registry registry(free_one);\nint at_import()")
    assert edit(source, "add<long>(a, 1)", "add<long>(a, 2)", path="m.cpp").names is None


def test_a_raw_string_hides_its_braces() -> None:
    source = CPP.replace('"doc");', 'R"x( } ) " { )x");')
    assert edit(source, "return a * 2;", "return a * 3;", path="m.cpp").names == ("two",)


# --- Cython -----------------------------------------------------------------------------------------------------------

CYTHON = textwrap.dedent(
    '''
    # cython: language_level=3
    cimport cython
    from libc.math cimport sqrt as root
    cdef extern from "low.h":
        int c_low(int a)
        int renamed "c_other"(int a)

    cdef int LIMIT = 3

    cdef inline int inner(int a):
        return a + 1  # one more

    cdef int start():
        return 1

    STARTED = start()

    def first(a):
        """About first."""
        return inner(a)

    @cython.boundscheck(False)
    cpdef int second(int a) except -1:
        if a:
            return renamed(a)
        return 0

    def third(x):
        p = Packer(x)
        return len(p)

    @register
    def fourth():
        return 4

    cdef class Packer:
        """A packer."""
        cdef int size
        cdef Buffer buffer

        def __cinit__(self, size):
            self.size = size

        cdef int _grow(self):
            return self.size * 2

        def pack(self, o):
            return self._grow()

        @property
        def grown(self):
            return self._grow() + 1

        def write(self, o):
            return 0 + o

        @staticmethod
        def build(a):
            return a - 1

    cdef class Buffer:
        def __len__(self):
            return 5
    '''
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("return a + 1", "return a + 2", ("first",)),
        ("return 0\n", "return 10\n", ("second",)),
        ("self.size * 2", "self.size * 3", ("grown", "pack")),
        ("self._grow() + 1", "self._grow() + 2", ("grown",)),
        ("return a - 1", "return a - 2", ("build",)),
        ("self.size = size", "self.size = size + 1", ("Packer", "third")),
        ("return 5", "return 6", ("Buffer", "Packer", "third")),
        ("return len(p)", "return len(p) + 1", ("third",)),
    ],
)
def test_cython_names(old: str, new: str, expected: tuple[str, ...]) -> None:
    assert (
        edit(CYTHON, old, new, path="m.pyx", others={"low.h": "int c_low(int);\n"}).names
        == expected
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("language_level=3", "language_level=2"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("return 1\n", "return 2\n"),
        ("int c_low(int a)", "long c_low(int a)"),
        ("def first(a):", "def first(a, b=None):"),
        ("boundscheck(False)", "boundscheck(True)"),
        ("cdef int size", "cdef long size"),
        ("return 4", "return 5"),
        ("return 0 + o", "return 1 + o"),
        ("    @property\n", ""),
    ],
    ids=[
        "a directive",
        "module data",
        "what runs at import",
        "a declaration",
        "a signature",
        "a decorator",
        "an attribute",
        "a registered function",
        "a method of a protocol",
        "a property that becomes a method",
    ],
)
def test_these_edits_of_cython_code_concern_the_whole_module(old: str, new: str) -> None:
    assert edit(CYTHON, old, new, path="m.pyx", others={"low.h": ""}).names is None


def test_comments_of_cython_reach_nothing() -> None:
    assert edit(CYTHON, "# one more", "# 1 more", path="m.pyx", others={"low.h": ""}).names == ()


def test_a_c_function_is_followed_under_the_name_that_cython_gives_it() -> None:
    low = "int c_other(int a) { return a; }\n"
    found = edit(
        low, "return a;", "return -a;", path="low.c", others={"m.pyx": CYTHON, "low.h": ""}
    )
    assert found.names == ("second",)


def test_a_template_of_cython_is_not_understood() -> None:
    source = "{{py: a = 1}}\n" + CYTHON
    assert edit(source, "return a + 1", "return a + 2", path="m.pyx").names is None


def test_a_method_that_only_a_string_holds_apart_is_still_read() -> None:
    source = CYTHON.replace(
        "return inner(a)", 'x = """\ndef not_a_function():\n"""\n    return inner(a)'
    )
    assert edit(
        source, "return a + 1", "return a + 2", path="m.pyx", others={"low.h": ""}
    ).names == ("first",)
