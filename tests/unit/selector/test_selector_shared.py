"""State that one test file leaves in the process for another one, told by names alone."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.selector import select
from tests.unit.selector.changes import chosen, edited, tree_after

NORM = "def norm(x):\n    return x + 1\n\n\n"


def chosen_after(  # what a change of `norm` chooses
    code: str, writer: str, reader: str, *, names: str = "", **others: str
) -> list[str]:
    """Give the test files that a change of `norm` chooses: `a` runs the writer, `b` only reads."""
    given = f"({names})"
    files = {
        "pk/__init__.py": "",
        "pk/m.py": NORM + textwrap.dedent(code),
        "tests/test_a.py": f"from pk import m\ndef test{given}:\n    {writer}\n",
        "tests/test_b.py": f"from pk import m\ndef test{given}:\n    assert {reader}\n",
        **{
            path.replace("__", "/") + ".py": textwrap.dedent(text) for path, text in others.items()
        },
    }
    change, tree = tree_after(edited("x + 1", "x + 2", "pk/m.py", files), files)
    return chosen(select(change, tree))


STATES = {
    "a list": ("R = []\ndef first(): R.append(norm(1))", "m.first()", "m.R"),
    "a list, filled by the test": ("R = []", "m.R.append(m.norm(1))", "m.R"),
    "a list, filled further down": (
        "R = []\ndef keep(x): R.append(x)\ndef first(): keep(norm(1))",
        *("m.first()", "m.R"),
    ),
    "a list, filled by what the test calls besides": (
        "R = []\ndef keep(x): R.append(x)",
        *("m.keep(m.norm(1))", "m.R"),
    ),
    "a list that is handed on": (
        "R = []\ndef keep(to, x): to.append(x)\ndef first(): keep(R, norm(1))",
        *("m.first()", "m.R"),
    ),
    "a list, read by a function": (
        "R = []\ndef first(): R.append(norm(1))\ndef last(): return R[-1]",
        *("m.first()", "m.last()"),
    ),
    "a global": ("N = 0\ndef first():\n    global N\n    N = norm(1)", "m.first()", "m.N"),
    "a global of a module that is looked up": (
        "def first(): globals()['N'] = norm(1)\nN = 0",
        *("m.first()", "m.N"),
    ),
    "an attribute of a class": (
        "class C:\n    n = 0\ndef first(): setattr(C, 'n', norm(1))",
        *("m.first()", "m.C.n"),
    ),
    "an attribute of a class, by a method of it": (
        "class C:\n    n = 0\n    @classmethod\n    def put(cls, x): cls.n = x",
        *("m.C.put(m.norm(1))", "m.C.n"),
    ),
    "an attribute of a function": (
        "def last(): return last.n\nlast.n = 0\ndef first(): last.n = norm(1)",
        *("m.first()", "m.last()"),
    ),
    "a default": (
        "def box(x=None, _b=[]):\n    if x: _b.append(x)\n    return _b\ndef first(): box(norm(1))",
        *("m.first()", "m.box()"),
    ),
    "a default that is given back": (
        "def box(_b=[]): return _b\ndef first(): box().append(norm(1))",
        *("m.first()", "m.box()"),
    ),
    "a closure": (
        """
        def make():
            kept = []
            def put(x): kept.append(x)
            def get(): return kept[-1]
            return put, get
        put, get = make()
        """,
        *("m.put(m.norm(1))", "m.get()"),
    ),
    "a closure that binds anew": (
        """
        def make():
            n = 0
            def put(x):
                nonlocal n
                n = x
            def get(): return n
            return put, get
        both = make()
        put = both[0]
        get = both[1]
        """,
        *("m.put(m.norm(1))", "m.get()"),
    ),
    "a partial": (
        "import functools\nR = []\nadd = functools.partial(list.append, R)",
        *("m.add(m.norm(1))", "m.R"),
    ),
    "a bound method": ("R = []\nadd = R.append", "m.add(m.norm(1))", "m.R"),
    "an item of what a method gives": (
        """
        class C:
            def __init__(self): self.kept = {}
            def items(self): return self.kept
        BOX = C()
        def first(): BOX.items()[1] = norm(1)
        """,
        *("m.first()", "m.BOX.kept"),
    ),
    "what map calls": (
        "B = [[]]\ndef fill(b): b.append(norm(1))\ndef first(): list(map(fill, B))",
        *("m.first()", "m.B"),
    ),
    "a decorator": (
        """
        def keeps(size):
            seen = {}
            def around(f):
                def inner(x):
                    if x not in seen:
                        seen[x] = norm(x)
                    return seen[x]
                inner.seen = seen
                return inner
            return around
        @keeps(3)
        def first(x): return x
        """,
        *("m.first(1)", "m.first.seen"),
    ),
    "a cache, looked into": (
        (
            "import functools\n@functools.lru_cache\ndef cached(x): return x\n"
            "def first(): cached(norm(1))"
        ),
        *("m.first()", "m.cached.cache_info().misses"),
    ),
    "a thread": (
        (
            "import threading\nR = []\ndef work(): R.append(norm(1))\n"
            "def first():\n    it = threading.Thread(target=work)\n    it.start()\n    it.join()"
        ),
        *("m.first()", "m.R"),
    ),
    "what is local to a thread": (
        "import threading\nHERE = threading.local()\ndef first(): HERE.n = norm(1)",
        *("m.first()", "m.HERE.n"),
    ),
    "a generator": (
        (
            "def run():\n    n = 0\n    while True:\n        n = (yield n) or n\nG = run()\nnext(G)\n"
            "def first(): G.send(norm(1))"
        ),
        *("m.first()", "next(m.G)"),
    ),
    "a context variable": (
        "import contextvars\nV = contextvars.ContextVar('V')\ndef first(): V.set(norm(1))",
        *("m.first()", "m.V.get()"),
    ),
    "an object": (
        "class C:\n    n = 0\n    def put(self, x): self.n = x\nBOX = C()",
        *("m.BOX.put(m.norm(1))", "m.BOX.n"),
    ),
    "an object that a function makes": (
        (
            "class C:\n    n = 0\n    def put(self, x): self.n = x\ndef make(): return C()\nBOX = make()\n"
            "class H:\n    def __init__(self): self.c = BOX\n    def go(self): self.c.put(norm(1))"
        ),
        *("m.H().go()", "m.BOX.n"),
    ),
    "an object in a list": (
        (
            "class C:\n    n = 0\n    def put(self, x): self.n = x\nR = [C()]\n"
            "class H:\n    def __init__(self): self.c = R[0]\n    def go(self): self.c.put(norm(1))"
        ),
        *("m.H().go()", "m.R[0].n"),
    ),
    "an object that a test stored": (
        "R = []\nclass C:\n    n = 0\n    def put(self, x): self.n = x\ndef reg(it): R.append(it)",
        *("c = m.C(); m.reg(c); c.put(m.norm(1))", "m.R[0].n"),
    ),
    "an object that stores itself": (
        (
            "R = []\nclass C:\n    n = 0\n    def __init__(self): R.append(self)\n"
            "    def put(self, x): self.n = x"
        ),
        *("m.C().put(m.norm(1))", "m.R[0].n"),
    ),
    "the environment": (
        "import os\ndef first(): os.environ['N'] = str(norm(1))",
        *("m.first()", "__import__('os').environ['N']"),
    ),
    "a level": (
        "import logging\ndef first(): logging.getLogger().setLevel(norm(1))",
        *("m.first()", "__import__('logging').root.level"),
    ),
    "a decimal context": (
        (
            "import decimal\ndef first(): decimal.getcontext().prec = norm(1)\n"
            "def third(): return decimal.Decimal(1) / 3"
        ),
        *("m.first()", "m.third()"),
    ),
    "the filters of warnings": (
        (
            "import warnings\ndef first(): warnings.filterwarnings('ignore', lineno=norm(1))\n"
            "def warn(): warnings.warn('x')"
        ),
        *("m.first()", "m.warn() is None"),
    ),
    "the path": (
        "import sys\ndef first(): sys.path.insert(0, str(norm(1)))",
        *("m.first()", "m.sys.path[0]"),
    ),
    "the modules": (
        "import sys\ndef first(): sys.modules['x'] = norm(1)",
        *("m.first()", "__import__('x')"),
    ),
    "the locale": (
        (
            "from locale import LC_ALL, setlocale\ndef first(): setlocale(LC_ALL, str(norm(1)))\n"
            "def show(x): return f'{x:n}'"
        ),
        *("m.first()", "m.show(1)"),
    ),
    "random numbers": (
        "import random\ndef first(): random.seed(norm(1))\ndef draw(): return random.random()",
        *("m.first()", "m.draw()"),
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_file_that_reads_what_another_one_leaves_is_chosen(name: str) -> None:
    assert chosen_after(*STATES[name]) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("fixture", "writer", "reader"),
    [
        ("return []", "box.append(m.norm(1))", "box"),
        ("return []", "m.fill(box, m.norm(1))", "box"),
        ("return m.C()", "box.put(m.norm(1))", "box.n"),
    ],
)
def test_a_fixture_that_tests_share_keeps_state(fixture: str, writer: str, reader: str) -> None:
    code = "def fill(to, x): to[:] = [x]\nclass C:\n    n = 0\n    def put(self, x): self.n = x\n"
    conftest = f"import pytest\nfrom pk import m\n@pytest.fixture(SCOPE)\ndef box(): {fixture}\n"
    shared = conftest.replace("SCOPE", "scope='session'")
    assert chosen_after(code, writer, reader, names="box", conftest=shared) == ["a.py", "b.py"]
    each = conftest.replace("SCOPE", "scope='function'")
    assert chosen_after(code, writer, reader, names="box", conftest=each) == ["a.py"]


def test_a_fixture_that_only_hands_on_a_shared_one_keeps_its_state() -> None:
    conftest = """
        import pytest
        @pytest.fixture(scope="session")
        def base(): return []
        @pytest.fixture
        def box(base): return base
        """
    a = "from pk import m\ndef test(box): box.append(m.norm(1))\n"
    b = "from pk import m\ndef test(base): assert base\n"
    found = chosen_after("", "", "", conftest=conftest, tests__test_a=a, tests__test_b=b)
    assert found == ["a.py", "b.py"]


def test_who_sees_what_a_reader_leaves_is_chosen_as_well() -> None:
    code = """
        R, S = [], []
        def first(): R.append(norm(1))
        def second(): S.append(R[-1])
        """
    c = "from pk import m\ndef test(): assert m.S\n"
    found = chosen_after(code, "m.first()", "m.second() is None", tests__test_c=c)
    assert found == ["a.py", "b.py", "c.py"]


def test_what_is_left_at_import_is_seen_by_who_does_not_import_that() -> None:
    reg = "from pk import m, store\nstore.R.append(m.norm(1))\n"
    a = "import pk.reg\ndef test(): assert pk.reg\n"
    b = "from pk import m, store\ndef test(): assert store.R\n"
    others = {"pk__store": "R = []\n", "pk__reg": reg}
    found = chosen_after("", "", "", **others, tests__test_a=a, tests__test_b=b)
    assert found == ["a.py", "b.py"]


APART = {
    "nothing is kept": ("def first(): return norm(1)", "m.first()", "m.__name__"),
    "the state is another's": (
        "R, S = [], []\ndef first(): R.append(norm(1))",
        *("m.first()", "m.S"),
    ),
    "nobody who runs it writes": (
        "R = []\ndef put(): R.append(1)\ndef first(): return norm(1)",
        *("m.first()", "(m.put(), m.R)"),
    ),
    "a new object is changed": (
        "R = []\nclass C:\n    def __init__(self): self.n = norm(1)\n    def put(self, x): self.n = x",
        *("m.C().put(1)", "m.R"),
    ),
    "a cache of what others are not given": (
        (
            "import functools\n@functools.lru_cache\ndef cached(x): return x\n"
            "def first(): cached(norm(1))"
        ),
        *("m.first()", "m.cached(3)"),
    ),
    "a table is read": (
        "T = {1: (2, 3)}\ndef first(): return max(norm(1), *T[1])",
        *("m.first()", "m.T"),
    ),
}


@pytest.mark.parametrize("name", APART)
def test_a_file_that_reads_nothing_of_it_is_left_out(name: str) -> None:
    assert chosen_after(*APART[name]) == ["a.py"]


def test_what_pytest_undoes_is_not_left() -> None:
    writer = "monkeypatch.setattr(m, 'N', m.norm(1))"
    assert chosen_after("N = 1", writer, "m.N", names="monkeypatch") == ["a.py"]
    assert chosen_after("N = 1", "setattr(m, 'N', m.norm(1))", "m.N") == ["a.py", "b.py"]


def test_the_reason_names_who_leaves_what_and_no_other_test() -> None:
    files = {
        "pk/__init__.py": "",
        "pk/m.py": f"{NORM}R = []\ndef first(): R.append(norm(1))\n",
        "tests/test_a.py": "from pk import m\ndef test(): m.first()",
        "tests/test_b.py": "from pk import m\ndef test(): assert m.R",
    }
    change, tree = tree_after(edited("x + 1", "x + 2", "pk/m.py", files), files)
    reasons = {test.path: test.reasons for test in select(change, tree).tests}
    (reason,) = reasons["tests/test_b.py"]
    assert reason.rule == "state"
    assert reason.text == "may see what pk/m.py::first leaves"
    assert reason.chain == ("pk/m.py", "pk/m.py::first", "pk/m.py::R", "tests/test_b.py")
