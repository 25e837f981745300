"""What a test leaves behind for another one, in a recorded run that is simulated by hand."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.selector.graph import build_graph
from presubmit.selector.imports import read_imports
from presubmit.selector.layout import make_layout
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_scene import Names
from presubmit.selector.recorded_spread import Changed, spread
from presubmit.selector.recording import Ran
from presubmit.selector.shape import read_shape

A, B = "tests/test_a.py", "tests/test_b.py"
FIRST = "compute get put __new__"
"""What runs in the test that fills the state; the other one only runs `get`, and `__new__` where there is one."""


def chosen(code: str, *, a: str = FIRST, b: str = "get __new__", **others: str) -> set[str]:
    """Give the tests that see a change of `compute`."""
    texts = {
        "pkg/__init__.py": "",
        "pkg/a.py": "def compute(k=1): return k\n" + textwrap.dedent(code),
        A: "from pkg import a\ndef test_a():\n    assert a.get(1)\n",
        B: "from pkg import a\ndef test_b():\n    assert a.get(1)\n",
    }
    texts.update({name.replace("__", "/") + ".py": text for name, text in others.items()})
    layout = make_layout(tuple(texts), {"pytest.ini": ""})
    shapes = {path: read_shape(text.encode()) for path, text in texts.items()}
    assert not any(it.problem for it in shapes.values())
    imports = {
        path: read_imports(
            text.encode(), module=layout.names[path][0], is_package=path.endswith("__init__.py")
        )
        for path, text in texts.items()
    }
    contexts = [
        Ran(
            context=f"test:{path}::{name}",
            functions={
                path: (name,),
                **{
                    module: tuple(
                        it.qualname
                        for it in shapes[module].elements
                        if it.qualname.rpartition(".")[2] in ran.split()
                    )
                    for module in texts
                    if module.startswith("pkg/")
                },
            },
        )
        for path, name, ran in ((A, "test_a", a), (B, "test_b", b))
    ]
    rows = pack(contexts)
    index = Index(lambda keys: {key: rows[key] for key in keys if key in rows})
    hits = spread(
        index,
        Changed(bodies={"pkg/a.py": frozenset({"compute"})}, paths=frozenset({"pkg/a.py"})),
        names=Names(shapes, layout, imports),
        graph=build_graph(layout, imports),
        folders=(),
    )
    seen = {index.contexts[number].id.partition("::")[0] for number in hits.contexts}
    return seen | hits.files.keys()


FORMS = {
    "a local alias of a table": """
        _C = {}
        def get(k):
            c = _C
            if k not in c: c[k] = compute(k)
            return c[k]
    """,
    "an alias of an alias": """
        _C = {}
        def get(k):
            c = d = _C
            for e in (c,):
                e[k] = compute(k)
            return _C[k]
    """,
    "a class attribute set by a class method": """
        class K:
            _d = None
            @classmethod
            def get(cls, k):
                if cls._d is None: cls._d = compute(k)
                return cls._d
        def get(k): return K.get(k)
    """,
    "a class attribute set through type(self)": """
        class K:
            _d = None
            def get(self, k):
                if self._d is None: type(self)._d = compute(k)
                return self._d
        def get(k): return K().get(k)
    """,
    "a class attribute set through __class__": """
        class K:
            _d = None
            def get(self, k):
                if self._d is None: self.__class__._d = compute(k)
                return self._d
        def get(k): return K().get(k)
    """,
    "a table in the body of a class": """
        class K:
            _d = {}
            def get(self, k):
                if k not in self._d: self._d[k] = compute(k)
                return self._d[k]
        def get(k): return K().get(k)
    """,
    "a table in the body of a base": """
        class Base:
            _d = {}
        class K(Base):
            def get(self, k):
                if k not in self._d: self._d[k] = compute(k)
                return self._d[k]
        def get(k): return K().get(k)
    """,
    "a table of a class in a class method": """
        class K:
            _d = {}
            @classmethod
            def get(cls, k):
                if k not in cls._d: cls._d[k] = compute(k)
                return cls._d[k]
        def get(k): return K.get(k)
    """,
    "globals()": """
        V = None
        def get(k):
            if V is None: globals()["V"] = compute(k)
            return V
    """,
    "globals() with a computed name": """
        def get(k):
            n = "V" + str(k)
            if n not in globals(): globals()[n] = compute(k)
            return globals()[n]
    """,
    "setattr on the module": """
        import sys
        V = None
        def get(k):
            if V is None: setattr(sys.modules[__name__], "V", compute(k))
            return V
    """,
    "an attribute of the module": """
        import sys
        V = None
        def get(k):
            if V is None: sys.modules[__name__].V = compute(k)
            return V
    """,
    "setattr on the class": """
        class K:
            _d = None
            def get(self, k):
                if self._d is None: setattr(type(self), "_d", compute(k))
                return self._d
        def get(k): return K().get(k)
    """,
    "a singleton of __new__": """
        class K:
            _i = None
            def __new__(cls):
                if cls._i is None:
                    cls._i = super().__new__(cls)
                    cls._i.v = compute()
                return cls._i
            def get(self): return self.v
        def get(k): return K().get()
    """,
    "a heap": """
        import heapq
        Q = []
        def get(k):
            if not Q: heapq.heappush(Q, compute(k))
            return Q[0]
    """,
    "a call of an object's own method": """
        class Box:
            def __init__(self): self.v = None
            def keep(self, v): self.v = v
        BOX = Box()
        def get(k):
            if BOX.v is None: BOX.keep(compute(k))
            return BOX.v
    """,
    "a function that fills what it is given": """
        B = {}
        def put(b): b[1] = compute()
        def get(k):
            if not B: put(B)
            return B[1]
    """,
    "a function that sets an attribute in __dict__": """
        class O: pass
        OBJ = O()
        def put(o): o.__dict__["v"] = compute()
        def get(k):
            if not hasattr(OBJ, "v"): put(OBJ)
            return OBJ.v
    """,
    "__dict__ of an object of the module": """
        class O: pass
        OBJ = O()
        def get(k):
            if not hasattr(OBJ, "v"): OBJ.__dict__["v"] = compute()
            return OBJ.v
    """,
    "an accessor": """
        _R = {}
        def reg(): return _R
        def get(k):
            if k not in reg(): reg()[k] = compute(k)
            return reg()[k]
    """,
    "an accessor and a local name": """
        _R = {}
        def reg(): return _R
        def get(k):
            r = reg()
            if k not in r: r[k] = compute(k)
            return r[k]
    """,
    "a cached accessor": """
        import functools
        @functools.cache
        def reg(): return {}
        def get(k):
            if k not in reg(): reg()[k] = compute(k)
            return reg()[k]
    """,
    "an accessor of an object": """
        _I = None
        class O: pass
        def reg():
            global _I
            if _I is None: _I = O()
            return _I
        def get(k):
            if not hasattr(reg(), "v"): reg().v = compute(k)
            return reg().v
    """,
    "a list in a table": """
        _R = {}
        def get(k):
            if k not in _R: _R.setdefault(k, []).append(compute(k))
            return _R[k]
    """,
    "a cache that is made by a call": """
        import functools
        cached = functools.lru_cache(None)(compute)
        def get(k): return cached(k)
    """,
    "in place": """
        _R = []
        def get(k):
            r = _R
            if not r: r += [compute(k)]
            return r[0]
    """,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_test_that_is_served_by_what_another_left_is_kept(form: str) -> None:
    assert chosen(FORMS[form]) == {A, B}


def test_state_in_another_module_is_seen_by_whoever_reads_it_there() -> None:
    code = "from pkg import s\ndef put():\n    s.V[1] = compute()\n"
    state = "V = {}\ndef get(k): return V[k]\n"
    assert chosen(code, b="get", pkg__s=state) == {A, B}


@pytest.mark.parametrize(
    "code",
    [
        "def get(k):\n    c = {}\n    c[k] = compute(k)\n    return c[k]\n",
        "LIMIT = 3\ndef get(k):\n    return max(compute(k), LIMIT)\n",
        "LIMIT = 3\ndef clip(a, b): return a\ndef get(k):\n    return clip(compute(k), LIMIT)\n",
        "T = {1: 2}\ndef get(k):\n    return T.get(compute(k)) or len(T)\n",
        "def new(): return {}\ndef get(k):\n    c = new()\n    c[k] = compute(k)\n    return c\n",
        "def put(b): b[1] = compute()\ndef get(k):\n    b = {}\n    put(b)\n    return b\n",
        (
            "class K:\n    def __init__(self): self._d = {}\n"
            "    def get(self, k):\n        self._d[k] = compute(k)\n        return self._d\n"
        ),
    ],
)
def test_what_ends_with_its_test_is_not_seen_by_others(code: str) -> None:
    assert chosen(code) == {A}


def test_what_a_base_writes_is_seen_by_a_subclass_in_another_file() -> None:
    code = "class K:\n    v = None\n    def put(self): self.v = compute()\n"
    other = "from pkg.a import K\nclass D(K):\n    def get(self): return self.v\nHERE = D()\n"
    assert chosen(code, b="get", pkg__d=other) == {A, B}


def test_what_a_module_makes_is_no_state_of_the_module() -> None:
    made = "class N: pass\nALL = []\n"
    code = "from pkg import n\ndef get(k):\n    it = n.N()\n    it.v = compute(k)\n    return it\n"
    assert chosen(code, pkg__n=made) == {A}
