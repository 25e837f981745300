"""What names lead to: from a changed element to the tests that may run it."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.selector.imports import read_imports
from presubmit.selector.layout import make_layout
from presubmit.selector.names import NameGraph, NameReach
from presubmit.selector.shape import MODULE, read_shape


def graph(*, settings: str = "", **sources: str) -> NameGraph:
    """Make a graph; `pkg__a` stands for `pkg/a.py`, `test_x` for `tests/test_x.py`."""
    texts = {"pkg/__init__.py": "", "tests/test_far.py": "def test_far(): assert 1\n"}
    for name, text in sources.items():
        path = name.replace("__", "/") if "__" in name else f"tests/{name}"
        texts[f"{path}.py".replace("//", "/")] = textwrap.dedent(text)
    layout = make_layout(tuple(texts), {"pytest.ini": settings})
    shapes = {path: read_shape(text.encode()) for path, text in texts.items()}
    imports = {
        path: read_imports(
            text.encode(),
            module=layout.names[path][0],
            is_package=path.endswith("__init__.py"),
        )
        for path, text in texts.items()
    }
    return NameGraph(shapes, layout, imports)


def reach(changed: str, **sources: str) -> NameReach:
    path, _, name = changed.partition("::")
    return graph(**sources).reach({path: [name]})


def chosen(changed: str, **sources: str) -> set[str]:
    found = reach(changed, **sources)
    assert found.unsure == ()
    return {it.removeprefix("tests/").removesuffix(".py") for it in found.files}


F = "def f(): return 1\ndef other(): return 2\n"


# --- by name --------------------------------------------------------------------------------------------------------


def test_a_test_that_calls_the_function_is_reached_and_one_that_calls_its_neighbour_is_not() -> (
    None
):
    assert chosen(
        "pkg/a.py::f",
        pkg__a=F,
        test_a="from pkg.a import f\ndef test_a(): f()\n",
        test_b="from pkg.a import other\ndef test_b(): other()\n",
    ) == {"test_a"}


def test_the_chain_names_every_element_on_the_way() -> None:
    found = reach(
        "pkg/a.py::f",
        pkg__a=F,
        pkg__b="from pkg.a import f\ndef g(): return f()\n",
        test_b="from pkg.b import g\ndef test_b(): g()\n",
    )
    chain = found.files["tests/test_b.py"]
    assert chain[0] == "pkg/a.py::f"
    assert "pkg/b.py::g" in chain
    assert chain[-1].startswith("tests/test_b.py")
    assert found.at_import == {}


@pytest.mark.parametrize(
    "test",
    [
        "from pkg.a import f as g\ndef test_x(): g()\n",
        "from pkg import a\ndef test_x(): a.f()\n",
        "import pkg.a\ndef test_x(): pkg.a.f()\n",
        "import pkg.a as q\ndef test_x(): q.f()\n",
        "from pkg.a import *\ndef test_x(): f()\n",
        "def test_x():\n    from pkg.a import f\n    f()\n",
        "from pkg import a\ndef test_x(): getattr(a, 'f')()\n",
        "from pkg import a\ndef test_x(name): getattr(a, name)()\n",
        "def test_x(monkeypatch): monkeypatch.setattr('pkg.a.f', None)\n",
        "def test_x(): run([python, '-c', 'from pkg.a import f; f()'])\n",
        "from importlib import import_module\ndef test_x(): vars(import_module('pkg.a'))\n",
        "from pkg.a import f\nCASES = [f]\ndef test_x(): CASES[0]()\n",
        "from pkg.a import f\ndef test_x(run=f): run()\n",
    ],
)
def test_every_way_to_name_a_function_reaches_it(test: str) -> None:
    assert chosen("pkg/a.py::f", pkg__a=F, test_x=test) == {"test_x"}


def test_an_import_alone_is_no_use() -> None:
    assert (
        chosen(
            "pkg/a.py::f",
            pkg__a=F,
            pkg__b="from pkg.a import f\ndef g(): return 1\n",
            test_b="from pkg.b import g\ndef test_b(): g()\n",
        )
        == set()
    )


def test_a_local_variable_of_the_same_name_is_no_use() -> None:
    assert (
        chosen("pkg/a.py::f", pkg__a=F, test_x="def test_x():\n    f = 1\n    print(f)\n") == set()
    )


def test_an_attribute_of_a_foreign_module_is_no_use() -> None:
    source = "class C:\n    def compile(self): return 1\n"
    assert (
        chosen(
            "pkg/a.py::C.compile",
            pkg__a=source,
            test_x="import re\ndef test_x(): re.compile('a')\n",
        )
        == set()
    )


def test_a_name_is_followed_through_re_exports() -> None:
    assert chosen(
        "pkg/a.py::f",
        pkg__a=F,
        pkg__api="from pkg.a import f as call\n",
        test_x="from pkg import api\ndef test_x(): api.call()\n",
        test_y="from pkg import api\ndef test_y(): api.answer()\n",
    ) == {"test_x"}


def test_a_table_is_a_further_name() -> None:
    found = reach(
        "pkg/a.py::f",
        pkg__a=F + "TABLE = {'a': f}\n",
        test_x="from pkg.a import TABLE\ndef test_x(): TABLE['a']()\n",
    )
    assert set(found.files) == {"tests/test_x.py"}
    assert found.at_import == {}


def test_a_constant_reaches_the_functions_that_read_it() -> None:
    assert chosen(
        "pkg/a.py::LIMIT",
        pkg__a="LIMIT = 3\ndef g(): return LIMIT\ndef h(): return 1\n",
        test_g="from pkg.a import g\ndef test_g(): g()\n",
        test_h="from pkg.a import h\ndef test_h(): h()\n",
    ) == {"test_g"}


def test_parts_of_built_names_reach_what_they_may_name() -> None:
    source = "class C:\n    def do_a(self): return 1\n    def run(self, x): getattr(self, f'do_{x}')()\n"
    assert chosen(
        "pkg/a.py::C.do_a",
        pkg__a=source,
        test_x="from pkg.a import C\ndef test_x(): C().run('a')\n",
    ) == {"test_x"}


def test_code_in_strings_names_what_it_calls() -> None:
    source = "class E:\n    def call_unop(self): return 1\n"
    assert chosen(
        "pkg/a.py::E.call_unop",
        pkg__a=source,
        pkg__gen="def write(out): out.append('environment.call_unop(')\n",
        test_x="from pkg.gen import write\ndef test_x(): write([])\n",
    ) == {"test_x"}


# --- without a name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["__init__", "__eq__", "__enter__", "__add__", "__del__"])
def test_what_the_language_calls_is_reached_through_the_class(method: str) -> None:
    assert chosen(
        f"pkg/a.py::C.{method}",
        pkg__a=f"class C:\n    def {method}(self, *a): return 1\ndef make(): return C()\n",
        test_x="from pkg.a import make\ndef test_x(): make()\n",
    ) == {"test_x"}


def test_a_base_class_is_run_by_users_of_its_subclass() -> None:
    assert chosen(
        "pkg/a.py::Base.__init__",
        pkg__a="class Base:\n    def __init__(self): self.x = 1\n",
        pkg__b="from pkg.a import Base\nclass D(Base):\n    pass\n",
        test_x="from pkg.b import D\ndef test_x(): D()\n",
    ) == {"test_x"}


def test_a_framework_calls_any_method_of_a_subclass() -> None:
    source = "from {} import Base\nclass C(Base):\n    def serve(self): return 1\n"
    test = "from pkg.a import C\ndef test_x(): C()\n"
    assert chosen("pkg/a.py::C.serve", pkg__a=source.format("django"), test_x=test) == {"test_x"}
    assert (
        chosen(
            "pkg/a.py::C.serve",
            pkg__a=source.format("pkg.b"),
            pkg__b="class Base:\n    pass\n",
            test_x=test,
        )
        == set()
    )


def test_a_subclass_hook_runs_where_subclasses_are_defined() -> None:
    found = reach(
        "pkg/a.py::Base.__init_subclass__",
        pkg__a="class Base:\n    def __init_subclass__(cls): check(cls)\n",
        pkg__b="from pkg.a import Base\nclass D(Base):\n    pass\n",
    )
    assert "pkg/b.py" in found.at_import


def test_a_registered_class_is_reached_through_the_base_that_keeps_it() -> None:
    assert chosen(
        "pkg/b.py::D.__init__",
        pkg__a="class Base:\n    def __init_subclass__(cls): KNOWN.append(cls)\nKNOWN = []\n",
        pkg__b="from pkg.a import Base\nclass D(Base):\n    def __init__(self): self.x = 1\n",
        test_x="from pkg.a import Base\ndef test_x(): Base.make('D')\n",
    ) == {"test_x"}


# --- decorators -----------------------------------------------------------------------------------------------------


def test_a_registering_decorator_ties_the_function_to_its_registrar() -> None:
    assert chosen(
        "pkg/b.py::view",
        pkg__a="class App:\n    def route(self, x): return x\napp = App()\n",
        pkg__b="from pkg.a import app\n@app.route('/')\ndef view(): return 1\n",
        test_x="from pkg.a import app\ndef test_x(): app.get('/')\n",
    ) == {"test_x"}


def test_a_dispatching_function_reaches_what_is_registered_for_a_type() -> None:
    assert chosen(
        "pkg/b.py::_",
        pkg__a="import functools\n@functools.singledispatch\ndef show(x): return 1\n",
        pkg__b="from pkg.a import show\n@show.register\ndef _(x: int): return 2\n",
        test_x="from pkg.a import show\ndef test_x(): show(1)\n",
    ) == {"test_x"}


def test_a_decorator_of_a_module_that_keeps_nothing_ties_nothing() -> None:
    sources = {
        "pkg__util": "def dispatchable(f): return f\n",
        "pkg__a": "import pkg.util as u\n@u.dispatchable\ndef f(): return 1\n@u.dispatchable\ndef g(): return 1\n",
        "test_f": "from pkg.a import f\ndef test_f(): f()\n",
        "test_g": "from pkg.a import g\ndef test_g(): g()\n",
    }
    assert chosen("pkg/a.py::f", **sources) == {"test_f"}


def test_a_decorator_that_stores_ties_to_users_of_the_store() -> None:
    assert chosen(
        "pkg/a.py::f",
        pkg__util="STORE = {}\ndef keep(f):\n    STORE[f.__name__] = f\n    return f\ndef call(n): return STORE[n]()\n",
        pkg__a="from pkg.util import keep\n@keep\ndef f(): return 1\n",
        test_x="from pkg.util import call\ndef test_x(): call('a')\n",
    ) == {"test_x"}


def test_a_foreign_decorator_that_may_register_affects_importers_of_the_file() -> None:
    found = reach("pkg/a.py::f", pkg__a="import celery\n@celery.task\ndef f(): return 1\n")
    assert set(found.at_import) == {"pkg/a.py"}


@pytest.mark.parametrize(
    "decorator",
    [
        "def keep(f):\n    f()\n    return f\n",
        "class keep:\n    def __init__(self, f): self.value = f()\n",
    ],
)
def test_a_decorator_that_calls_what_it_decorates_runs_it_at_import(decorator: str) -> None:
    found = reach("pkg/a.py::f", pkg__a=f"{decorator}@keep\ndef f(): return 1\n")
    assert set(found.at_import) == {"pkg/a.py"}


def test_a_decorator_whose_wrapper_calls_what_it_decorates_does_not_run_it_at_import() -> None:
    decorator = "def keep(f):\n    def wrapper(): return f()\n    return wrapper\n"
    found = reach("pkg/a.py::f", pkg__a=f"{decorator}@keep\ndef f(): return 1\n")
    assert found.at_import == {}


def test_a_function_that_an_annotation_calls_runs_at_import() -> None:
    code = "from pkg.a import f\ndef g(x: Annotated[int, f()]): return x\n"
    assert set(reach("pkg/a.py::f", pkg__a=F, pkg__b=code).at_import) == {"pkg/b.py"}
    deferred = f"from __future__ import annotations\n{code}"
    assert reach("pkg/a.py::f", pkg__a=F, pkg__b=deferred).at_import == {}


# --- at import ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "X = f()\n",
        "X = make(f)\n",
        "register(f)\n",
        "def g(a=f()): ...\n",
        "class C:\n    x = f()\n",
        "def g(): return f()\nX = g()\n",
        "for x in y:\n    f()\n",
    ],
)
def test_what_module_code_may_run_is_told(code: str) -> None:
    found = reach("pkg/a.py::f", pkg__a=F, pkg__b=f"from pkg.a import f\n{code}")
    assert set(found.at_import) == {"pkg/b.py"}


@pytest.mark.parametrize(
    "code",
    [
        "__all__ = ['f']\n",
        "X = f\n",
        "X = [f, 1]\n",
        "X = lambda: f()\n",
        "def g(a=f): ...\n",
        "def g(): return f()\n",
    ],
)
def test_what_module_code_only_stores_does_not_run_at_import(code: str) -> None:
    assert reach("pkg/a.py::f", pkg__a=F, pkg__b=f"from pkg.a import f\n{code}").at_import == {}


def test_a_lazy_module_is_affected_as_a_whole() -> None:
    found = reach("pkg/a.py::__getattr__", pkg__a="def __getattr__(name): return 1\n")
    assert "pkg/a.py" in found.at_import


# --- tests ----------------------------------------------------------------------------------------------------------


def test_a_fixture_reaches_the_tests_that_ask_for_it() -> None:
    sources = {
        "conftest": """
            import pytest
            from pkg.a import f
            @pytest.fixture
            def thing(): return f()
            @pytest.fixture
            def more(thing): return thing
        """,
        "test_x": "def test_x(more): assert more\n",
        "test_y": "import pytest\n@pytest.mark.usefixtures('thing')\ndef test_y(): assert 1\n",
        "test_z": "def test_z(tmp_path): assert 1\n",
        "pkg__a": F,
    }
    assert chosen("pkg/a.py::f", **sources) == {"test_x", "test_y"}


def test_an_automatic_fixture_reaches_every_test_below_its_conftest() -> None:
    found = reach(
        "tests/sub/conftest.py::thing",
        tests__sub__conftest="import pytest\n@pytest.fixture(autouse=True)\ndef thing(): return 1\n",
        tests__sub__test_x="def test_x(): assert 1\n",
    )
    assert set(found.files) == {"tests/sub/test_x.py"}


def test_a_hook_of_a_conftest_reaches_every_test_below() -> None:
    assert chosen(
        "tests/conftest.py::pytest_runtest_setup",
        conftest="def pytest_runtest_setup(item): return 1\n",
        test_x="def test_x(): assert 1\n",
    ) == {"test_x", "test_far"}


def test_an_imported_or_inherited_test_class_runs_in_both_files() -> None:
    assert chosen(
        "pkg/a.py::f",
        pkg__a=F,
        test_a="from pkg.a import f\nclass TestA:\n    def test_a(self): f()\n",
        test_b="from test_a import TestA\n",
        test_c="import test_a\nclass TestC(test_a.TestA):\n    pass\n",
    ) == {"test_a", "test_b", "test_c"}


def test_tests_of_a_shared_base_run_in_its_subclasses() -> None:
    assert chosen(
        "pkg/a.py::f",
        pkg__a=F,
        base="from pkg.a import f\nclass Base:\n    def test_it(self): f()\n",
        test_x="from tests.base import Base\nclass TestX(Base):\n    pass\n",
    ) == {"test_x"}


def test_methods_that_the_settings_make_tests_run_in_subclasses() -> None:
    sources = {
        "pkg__a": "class Mixin:\n    def check_it(self): return 1\n",
        "test_x": "from pkg.a import Mixin\nclass TestX(Mixin): pass\n",
        "test_y": "def test_y(): print(thing().check_it())\n",
    }
    settings = "[pytest]\npython_functions = check_*\n"
    found = graph(settings=settings, **sources).reach({"pkg/a.py": ["Mixin.check_it"]})
    assert "tests/test_x.py" in found.files


def test_a_test_that_runs_built_code_is_always_reached() -> None:
    assert chosen("pkg/a.py::f", pkg__a=F, test_x="def test_x(): exec(open('a').read())\n") == {
        "test_x"
    }


def test_a_test_that_cannot_be_parsed_is_always_reached() -> None:
    assert chosen("pkg/a.py::f", pkg__a=F, test_x="def test_x(:\n") == {"test_x"}


def test_a_module_that_cannot_be_parsed_affects_its_importers() -> None:
    assert "pkg/b.py" in reach("pkg/a.py::f", pkg__a=F, pkg__b="def (:\n").at_import


# --- what is at hand ------------------------------------------------------------------------------------------------

CLASSES = """
class C:
    def run(self): return 1
class D:
    def run(self): return 2
"""


def test_a_method_is_not_run_by_tests_that_never_get_its_class() -> None:
    assert chosen(
        "pkg/a.py::C.run",
        pkg__a=CLASSES,
        test_c="from pkg.a import C\ndef test_c(): C().run()\n",
        test_d="from pkg.a import D\ndef test_d(): D().run()\n",
    ) == {"test_c"}


@pytest.mark.parametrize(
    ("more", "test"),
    [
        ("def make(): return C()\n", "from pkg.a import make\ndef test(): make().run()\n"),
        ("ONE = C()\n", "from pkg.a import ONE\ndef test(): ONE.run()\n"),
        ("ALL = []\nALL.append(C())\n", "from pkg.a import ALL\ndef test(): ALL[0].run()\n"),
        ("class E(C): pass\n", "from pkg.a import E\ndef test(): E().run()\n"),
        ("KINDS = {'c': C}\n", "from pkg.a import KINDS\ndef test(): KINDS['c']().run()\n"),
        ("def f(made=C()): return made\n", "from pkg.a import f\ndef test(): f().run()\n"),
        ("class H:\n    c = C()\n", "from pkg.a import H\ndef test(): H.c.run()\n"),
        ("", "from pkg import a\ndef test(name): getattr(a, name)().run()\n"),
        ("", "from pkg import a\ndef test(): vars(a).popitem()[1]().run()\n"),
    ],
)
def test_every_way_to_get_an_object_of_a_class_reaches_its_methods(more: str, test: str) -> None:
    assert chosen("pkg/a.py::C.run", pkg__a=CLASSES + more, test_x=test) == {"test_x"}


def test_an_object_that_a_module_makes_is_at_hand_for_whoever_imports_it() -> None:
    found = reach(
        "pkg/a.py::C.run",
        pkg__a=CLASSES,
        pkg__base="THINGS = []\ndef go(): [it.run() for it in THINGS]\n",
        pkg__b="from pkg import base\nfrom pkg.a import C\nbase.THINGS.append(C())\n",
        test_b="import pkg.b\nfrom pkg.base import go\ndef test_b(): go()\n",
        test_d="from pkg.a import D\ndef test_d(): D().run()\n",
    )
    assert set(found.files) == {"tests/test_b.py"}


def test_a_fixture_hands_out_an_object_of_a_class() -> None:
    assert chosen(
        "pkg/a.py::C.run",
        pkg__a=CLASSES,
        conftest="""
            import pytest
            from pkg.a import C
            @pytest.fixture
            def thing(): return C()
        """,
        test_x="def test_x(thing): thing.run()\n",
        test_d="from pkg.a import D\ndef test_d(): D().run()\n",
    ) == {"test_x"}


def test_a_class_that_a_foreign_base_may_list_can_be_got_without_its_name() -> None:
    assert chosen(
        "pkg/a.py::C.run",
        pkg__a="import yaml\nclass C(yaml.YAMLObject):\n    def run(self): return 1\n",
        test_x="import yaml\nimport pkg.a\ndef test_x(): yaml.load('!C {}').run()\n",
    ) == {"test_x"}


def test_a_class_that_its_base_lists_is_got_through_the_base() -> None:
    assert chosen(
        "pkg/a.py::D.run",
        pkg__a="class B:\n    def __init_subclass__(cls): KINDS[cls.__name__] = cls\n"
        "KINDS = {}\nclass D(B):\n    def run(self): return 1\n",
        test_x="from pkg.a import KINDS\ndef test_x(): KINDS['D']().run()\n",
    ) == {"test_x"}


def test_a_method_is_run_by_whoever_gets_members_by_computed_names_and_has_its_class() -> None:
    found = reach(
        "pkg/a.py::C.run",
        pkg__a=CLASSES,
        pkg__far="def call(it, name): return getattr(it, name)()\n",
        test_x="from pkg.a import C\nfrom pkg.far import call\ndef test_x(): call(C(), next(names))\n",
        test_y="from pkg.far import call\ndef test_y(): call(1, next(names))\n",
    )
    assert set(found.files) == {"tests/test_x.py"}
    assert found.files["tests/test_x.py"][:2] == ("pkg/a.py::C.run", "pkg/far.py::call")


def test_what_a_test_file_defines_runs_only_where_that_file_is_imported() -> None:
    assert chosen(
        "pkg/a.py::f",
        pkg__a=F,
        test_x="from pkg.a import f\nclass Fake:\n    def read_all(self): f()\n"
        "def test_x(): Fake().read_all()\n",
        test_y="from pkg.a import other\ndef test_y(): other().read_all()\n",
    ) == {"test_x"}


def test_module_code_counts_for_tests_that_can_have_what_it_runs() -> None:
    found = reach(
        "pkg/a.py::C.run",
        pkg__a=CLASSES,
        pkg__b="from pkg.a import D\nX = D().run()\n",
        test_b="import pkg.b\ndef test_b(): pkg.b\n",
        test_c="import pkg.b\nfrom pkg.a import C\ndef test_c(): C\n",
    )
    assert set(found.importing) == {"tests/test_c.py"}


# --- what cannot be told --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nowhere", MODULE, "C"])
def test_what_is_no_function_or_constant_is_unsure(name: str) -> None:
    assert reach(f"pkg/a.py::{name}", pkg__a="class C: ...\n").unsure


# --- single steps ---------------------------------------------------------------------------------------------------


def test_users_gives_one_step() -> None:
    found = graph(
        pkg__a=F + "def g(): return f()\ndef h(): return g()\nX = f()\n",
    ).users("pkg/a.py", "f")
    assert found == {("pkg/a.py", "g"), ("pkg/a.py", MODULE), ("pkg/a.py", "X")}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "import functools\n@functools.lru_cache\ndef f(x): return x\n",
            "decorated with functools.lru_cache",
        ),
        ("N = 1\ndef f():\n    global N\n    N = 2\n", "writes the global N"),
        ("N = []\ndef f(x): N.append(x)\n", "writes the global N"),
        ("def f(x, seen=[]): seen.append(x)\n", "shares the default of seen"),
        ("import lib\n@lib.memo\ndef f(x): return x\n", "decorated with lib.memo"),
        (
            (
                "def memo(g):\n    seen = {}\n    def h(k): seen[k] = g(k)\n    return h\n"
                "@memo\ndef f(x): return x\n"
            ),
            "decorated with memo, which keeps values",
        ),
        ("def f(x):\n    y = []\n    y.append(x)\n", ""),
        ("@property\ndef f(self): return 1\n", ""),
    ],
)
def test_what_outlives_a_call_is_told(code: str, why: str) -> None:
    assert graph(pkg__a=code).keeps_state("pkg/a.py", "f") == why


def test_an_object_of_a_module_keeps_what_its_methods_write() -> None:
    source = "class C:\n    def put(self, x): self.x = x\n    def get(self): return 1\n"
    kept = graph(pkg__a=source + "HERE = C()\n")
    assert (
        kept.keeps_state("pkg/a.py", "C.put") == "writes to a C that lives as long as its module"
    )
    assert kept.keeps_state("pkg/a.py", "C.get") == ""
    assert graph(pkg__a=source).keeps_state("pkg/a.py", "C.put") == "writes to a C"


# --- what a name alone does not say ---------------------------------------------------------------------------------


OWN = {
    "a registry called cache": (
        "SEEN = []\ndef cache(f):\n    SEEN.append(f)\n    return f\n",
        "from pkg.b import cache\n@cache\ndef f(): return 1\n",
        "from pkg import a\nfrom pkg.b import SEEN\ndef test_x(): SEEN[0]()\n",
    ),
    "an object called types": (
        (
            "class R:\n    def __init__(self): self.all = []\n"
            "    def add(self, f):\n        self.all.append(f)\n        return f\n"
            "types = R()\ndef run(): return types.all[0]()\n"
        ),
        "from pkg.b import types\n@types.add\ndef f(): return 1\n",
        "from pkg import a\nfrom pkg.b import run\ndef test_x(): run()\n",
    ),
}


@pytest.mark.parametrize("form", OWN)
def test_a_decorator_of_the_project_is_not_the_known_one_of_its_name(form: str) -> None:
    maker, user, test = OWN[form]
    assert chosen("pkg/a.py::f", pkg__b=maker, pkg__a=user, test_x=test) == {"test_x"}


def test_a_base_of_the_project_is_not_the_known_one_of_its_name() -> None:
    assert chosen(
        "pkg/a.py::C.work",
        pkg__b="import lib\nclass Protocol(lib.Framework): pass\n",
        pkg__a="from pkg.b import Protocol\nclass C(Protocol):\n    def work(self): return 1\n",
        test_x="from pkg.a import C\ndef test_x(): C()\n",
    ) == {"test_x"}


@pytest.mark.parametrize("source", ["functools import cache", "lib import cache"])
def test_a_known_name_that_is_not_of_the_project_is_believed(source: str) -> None:
    assert (
        chosen(
            "pkg/a.py::f",
            pkg__a=f"from {source}\n@cache\ndef f(): return 1\ndef g(): return 2\n",
            test_x="from pkg.a import g\ndef test_x(): g()\n",
        )
        == set()
    )


@pytest.mark.parametrize("text", ["import functools as t", "from typing import override as o"])
def test_a_known_module_may_be_imported_by_any_name(text: str) -> None:
    assert graph(pkg__a=f"{text}\n").index.is_believed("pkg/a.py", "t.cache")


MIXIN = "class Mixin:\n    def go(self, n): return getattr(self, n)()\n"


def test_a_mixin_that_gets_members_by_computed_names_reaches_those_of_the_bases_beside_it() -> (
    None
):
    assert chosen(
        "pkg/a.py::Other.work",
        pkg__b=MIXIN,
        pkg__a="class Other:\n    def work(self): return 1\n",
        pkg__c="from pkg.a import Other\nfrom pkg.b import Mixin\nclass D(Mixin, Other): pass\n",
        test_x="from pkg.c import D\nimport sys\ndef test_x(): D().go(sys.argv[1])\n",
    ) == {"test_x"}


def test_a_mixin_that_gets_members_by_computed_names_reaches_those_of_subclasses() -> None:
    assert chosen(
        "pkg/c.py::E.work",
        pkg__b=MIXIN,
        pkg__a="from pkg.b import Mixin\nclass D(Mixin): pass\n",
        pkg__c="from pkg.a import D\nclass E(D):\n    def work(self): return 1\n",
        test_x="from pkg.c import E\nimport sys\ndef test_x(): E().go(sys.argv[1])\n",
    ) == {"test_x"}


@pytest.mark.parametrize("call", ["getattr(o, n)", "object.__getattribute__(o, n)"])
def test_a_function_that_gets_members_of_what_it_is_given_reaches_those_of_any_class(
    call: str,
) -> None:
    assert chosen(
        "pkg/a.py::C.work",
        pkg__b=f"def go(o, n): return {call}()\n",
        pkg__a="class C:\n    def work(self): return 1\n",
        test_x="import sys\nfrom pkg.a import C\nfrom pkg.b import go\n"
        "def test_x(): go(C(), sys.argv[1])\n",
    ) == {"test_x"}


@pytest.mark.parametrize("name", ["start", "pi", "emit", "readinto", "find_spec", "exec_module"])
def test_what_the_standard_library_calls_on_plain_objects_runs_where_the_class_is_used(
    name: str,
) -> None:
    assert chosen(
        f"pkg/a.py::C.{name}",
        pkg__a=f"class C:\n    def {name}(self, *args): return 1\n",
        test_x="import lib\nfrom pkg.a import C\ndef test_x(): lib.use(C())\n",
    ) == {"test_x"}


FIXTURE = 'import pytest\n@pytest.fixture(name="thing")\ndef _thing(): return 1\n'


def test_a_fixture_is_asked_for_by_the_name_that_it_is_given() -> None:
    assert chosen(
        "tests/conftest.py::_thing",
        conftest=FIXTURE,
        test_x="def test_x(thing): assert thing\n",
        test_y="def test_y(other): assert other\n",
    ) == {"test_x"}


def test_a_fixture_keeps_its_given_name_where_a_conftest_imports_it() -> None:
    assert chosen(
        "pkg/fix.py::_thing",
        pkg__fix=FIXTURE,
        conftest="from pkg.fix import _thing\n",
        test_x="def test_x(thing): assert thing\n",
        test_y="def test_y(other): assert other\n",
    ) == {"test_x"}


def test_a_fixture_that_is_asked_for_by_a_computed_name_may_be_any() -> None:
    assert chosen(
        "tests/conftest.py::_thing",
        conftest=FIXTURE + "@pytest.fixture\ndef b(): return 1\n",
        test_x="def test_x(request, name): request.getfixturevalue(name)\n",
        test_y="def test_y(request): request.getfixturevalue('b')\n",
    ) == {"test_x"}
