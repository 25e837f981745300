"""What is known of common decorators and base classes: whether they may call what they are given."""

from __future__ import annotations

from typing import Final

AUTOUSE: Final = "autouse"
"""What `Element.decorators` holds besides for a fixture that every test gets unasked."""

_PURE: Final = frozenset(
    [
        "property",
        "staticmethod",
        "classmethod",
        "override",
        "overload",
        "final",
        "runtime_checkable",
        "no_type_check",
        "dataclass",
        "abstractmethod",
        "abstractproperty",
        "contextmanager",
        "asynccontextmanager",
        "wraps",
        "lru_cache",
        "cache",
        "cached_property",
        "total_ordering",
        "singledispatch",
        "singledispatchmethod",
        "unique",
        "fixture",
        "autouse",
    ]
)
_PURE_MODULES: Final = frozenset(
    [
        "functools",
        "contextlib",
        "abc",
        "dataclasses",
        "typing",
        "typing_extensions",
        "t",
        "te",
        "enum",
        "pytest",
        "unittest",
        "mock",
        "hypothesis",
        "warnings",
        "types",
        "attr",
        "attrs",
        "click",
        "numba",
        "np",
        "numpy",
        "six",
    ]
)
_CACHES: Final = frozenset({"lru_cache", "cache", "cached_property"})
_PLAIN: Final = frozenset(
    [
        "object",
        "Exception",
        "BaseException",
        "ABC",
        "Generic",
        "Protocol",
        "dict",
        "list",
        "set",
        "frozenset",
        "tuple",
        "str",
        "int",
        "float",
        "bytes",
        "ValueError",
        "TypeError",
        "KeyError",
        "IndexError",
        "AttributeError",
        "RuntimeError",
        "LookupError",
        "OSError",
        "IOError",
        "ArithmeticError",
        "ImportError",
        "NotImplementedError",
        "StopIteration",
        "AssertionError",
        "UserWarning",
        "Warning",
        "DeprecationWarning",
        "RuntimeWarning",
        "FutureWarning",
        "UnicodeError",
        "SyntaxError",
        "Enum",
        "IntEnum",
        "StrEnum",
        "Flag",
        "NamedTuple",
        "TypedDict",
    ]
)


_IMPLICIT: Final = frozenset(
    [
        "keys",
        "read",
        "readinto",
        "readline",
        "readlines",
        "write",
        "writelines",
        "flush",
        "close",
        "seek",
        "tell",
        "fileno",
        "isatty",
        "send",
        "throw",
        "mro",
        "setup",
        "teardown",
        "setUp",
        "tearDown",
        "setUpClass",
        "tearDownClass",
        "runTest",
        "asyncSetUp",
        "asyncTearDown",
        "setup_method",
        "teardown_method",
        "setup_class",
        "teardown_class",
        "setup_function",
        "teardown_function",
    ]
)
"""Names of methods that the standard library and test runners call on plain objects."""


TYPING: Final = frozenset(
    [
        "Annotated",
        "Callable",
        "ClassVar",
        "Dict",
        "FrozenSet",
        "Final",
        "Generic",
        "Iterable",
        "Iterator",
        "List",
        "Literal",
        "Mapping",
        "Optional",
        "Sequence",
        "Set",
        "Tuple",
        "Type",
        "TypeAlias",
        "Union",
        "dict",
        "frozenset",
        "list",
        "set",
        "tuple",
        "type",
    ]
)
"""Names whose subscripts only describe types."""
TYPE_MAKERS: Final = frozenset({"TypeVar", "NewType", "ParamSpec", "TypeVarTuple"})
"""Calls that only describe types."""


def is_implicit(name: str) -> bool:
    """Tell whether a member may be called without its name in the source."""
    if name.startswith("_") and name.endswith("_"):
        return True
    return name in _IMPLICIT or name.lower().startswith("test")


def is_pure(decorator: str) -> bool:
    """Tell whether a decorator is known neither to call nor to keep for others what it decorates."""
    root, _, rest = decorator.partition(".")
    if not rest:
        return decorator in _PURE
    return root in _PURE_MODULES or rest in {"setter", "getter", "deleter"}


def caches(decorator: str) -> bool:
    """Tell whether a decorator keeps what the function gave."""
    return decorator.rpartition(".")[2] in _CACHES


def is_plain_base(base: str) -> bool:
    """Tell whether a base is one whose code calls only a subclass's dunders."""
    if base in {"metaclass=ABCMeta", "metaclass=abc.ABCMeta"}:
        return True
    return "=" not in base and base.rpartition(".")[2] in _PLAIN
