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


_READ_MEMBERS: Final = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "NamedTuple", "TypedDict"})
_IMPLICIT: Final = frozenset(
    [
        "keys",
        "read",
        # File-like objects, and what `io`, `logging`, `xml`, `html` and `unittest` call of what they are given.
        "read1",
        "readall",
        "readable",
        "writable",
        "seekable",
        "truncate",
        "detach",
        "getvalue",
        "filter",
        "emit",
        "format",
        "handle",
        "getMessage",
        "start",
        "end",
        "data",
        "comment",
        "pi",
        "doctype",
        "start_ns",
        "end_ns",
        "startElement",
        "endElement",
        "startElementNS",
        "endElementNS",
        "startDocument",
        "endDocument",
        "startPrefixMapping",
        "endPrefixMapping",
        "characters",
        "ignorableWhitespace",
        "processingInstruction",
        "skippedEntity",
        "resolveEntity",
        "fatalError",
        "setDocumentLocator",
        # Importers, and the readers of resources.
        "find_spec",
        "find_module",
        "find_loader",
        "find_distributions",
        "invalidate_caches",
        "create_module",
        "exec_module",
        "load_module",
        "module_repr",
        "get_data",
        "get_code",
        "get_source",
        "get_filename",
        "get_resource_reader",
        "is_package",
        "iter_modules",
        "open_resource",
        "resource_path",
        "is_resource",
        # Time zones, event loops, protocols and transports, pickles, context variables, copies, numbers.
        "utcoffset",
        "dst",
        "tzname",
        "fromutc",
        "connection_made",
        "connection_lost",
        "data_received",
        "eof_received",
        "datagram_received",
        "error_received",
        "buffer_updated",
        "get_buffer",
        "pause_writing",
        "resume_writing",
        "persistent_id",
        "persistent_load",
        "find_class",
        "reducer_override",
        "as_integer_ratio",
        "conjugate",
        "is_integer",
        "bit_length",
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


def believes(module: str) -> bool:
    """Tell a module whose decorators are known as pure."""
    return module.partition(".")[0] in _PURE_MODULES


def is_inert_base(base: str) -> bool:
    """Tell whether a base is a plain one whose machinery does not read what stands in the body of a subclass."""
    return is_plain_base(base) and base.rpartition(".")[2] not in _READ_MEMBERS


def caches(decorator: str) -> bool:
    """Tell whether a decorator keeps what the function gave."""
    return decorator.rpartition(".")[2] in _CACHES


def is_plain_base(base: str) -> bool:
    """Tell whether a base is one whose code calls only a subclass's dunders."""
    if base in {"metaclass=ABCMeta", "metaclass=abc.ABCMeta"}:
        return True
    return "=" not in base and base.rpartition(".")[2] in _PLAIN
