"""Says of objects whether a walk of references sees all their state, asks those that can say it, or stays in the dark."""

import _thread
import abc
import array
import collections
import contextvars
import datetime as dt
import decimal
import functools
import gc
import io
import itertools
import logging
import operator
import random
import re
import struct
import sys
import threading
import types
import typing
import weakref

_PYTHON_MADE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_IMMUTABLE = 1 << 8

VALUES = frozenset((int, str, bytes, float, complex, bool, type(None)))
"""Of these, equal ones are the same."""


def _links():
    """Give the type of what an `lru_cache` keeps its results in; the cache itself refers to all that these hold."""
    cached = functools.lru_cache(2)(len)
    cached("")
    spaces = [it for it in gc.get_referents(cached) if type(it) is dict]
    found = {type(it) for space in spaces for it in space.values()}
    return [it for it in found if it.__name__ == "_lru_list_elem"]


CACHE = type(functools.lru_cache(None)(len))
ATOMS = VALUES | frozenset(
    (
        *(type(Ellipsis), type(NotImplemented), range, slice, memoryview, re.Pattern, re.Match),
        *(types.CodeType, types.FrameType, types.TracebackType, types.ModuleType),
        *(types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType),
        *(types.MethodDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType),
        *(dt.date, dt.datetime, dt.time, dt.timedelta, dt.timezone),
        *(decimal.Decimal, operator.itemgetter, operator.attrgetter),
        *(operator.methodcaller, contextvars.Token, weakref.ref, logging.Logger),
        *(struct.Struct, type(abc.ABC.__dict__.get("_abc_impl")), types.BuiltinFunctionType),
        type(typing.NamedTuple("_Pair", [("one", int)]).one),
        *(logging.RootLogger, _thread.RLock, type(_thread.allocate_lock()), object, *_links()),
    )
)
"""What has no state of its own, or none that is walked; a `weakref` is not followed: it must keep nothing alive."""

_SEEN = ATOMS | frozenset(
    (
        *(object, dict, list, tuple, set, frozenset, type, collections.OrderedDict),
        *(collections.defaultdict, collections.deque, types.FunctionType, types.MethodType),
        *(types.BuiltinFunctionType, types.CellType, types.MappingProxyType, property),
        *(types.SimpleNamespace, functools.partial, classmethod, staticmethod, CACHE),
        *(weakref.ref, contextvars.ContextVar, type({}.keys()), type({}.values())),
        *(type({}.items()), *(getattr(types, it, type) for it in ("GenericAlias", "UnionType"))),
    )
)

FIXED = frozenset(
    (
        *(tuple, frozenset, property, classmethod, staticmethod, types.MethodType),
        *(types.FunctionType, types.MappingProxyType, getattr(types, "GenericAlias", tuple)),
    )
)
"""What always refers to the same; a function's own `__dict__` is looked at instead of it."""


def _at(frame):
    """Give where a suspended frame is, and its variables."""
    if frame is None:
        return None
    values = [it if type(it) in VALUES else id(it) for it in frame.f_locals.values()]
    return frame.f_lasti, values


_ASKED = {
    bytearray: bytes,
    array.array: array.array.tobytes,
    itertools.count: repr,
    random.Random: random.Random.getstate,
    io.BytesIO: lambda it: None if it.closed else (it.tell(), it.getvalue()),
    io.StringIO: lambda it: None if it.closed else (it.tell(), it.getvalue()),
    types.GeneratorType: lambda it: _at(it.gi_frame),
    types.CoroutineType: lambda it: _at(it.cr_frame),
    CACHE: lambda it: it.cache_info()[1:],
    decimal.Context: lambda it: (
        it.prec,
        it.rounding,
        it.Emin,
        it.Emax,
        it.clamp,
        it.capitals,
        [*it.traps.values()],
    ),
    **{type(iter(it)): lambda it: it.__reduce__()[2:] for it in ((), [], "", b"", range(1))},
}
"""What can be asked for its state without running any of the project's code."""

_PYTESTS = (
    "_pytest",
    "pytest",
    "pluggy",
    "xdist",
    "presubmit_recorder",
    "presubmit_pytest_plugin",
)
_MACHINERY = (logging.Logger, logging.Manager, threading.Thread, threading.Condition)
_known = {}


def question(kind):
    """Give what asks an object of this type for its state, None where there is nothing to ask."""
    return _ASKED.get(kind)


def parts(thing):
    """Give what an object that was asked leads to all the same."""
    kind = type(thing)
    if kind is CACHE:
        return gc.get_referents(thing)
    if kind is types.GeneratorType or kind is types.CoroutineType:
        frame = thing.gi_frame if kind is types.GeneratorType else thing.cr_frame
        return [] if frame is None else [*frame.f_locals.values()]
    return []


def is_boundary(kind):
    """Tell a type whose objects belong to the machinery: pytest's own, loggers, threads."""
    found = _known.get(kind)
    if found is None:
        top = str(getattr(kind, "__module__", "")).partition(".")[0]
        found = _known[kind] = (
            top in _PYTESTS
            or (top == "typing" and kind.__name__.endswith("SpecialForm"))
            or issubclass(kind, _MACHINERY)
        )
    return found


_sight = {}


def is_seen(kind):
    """Tell whether the references of an object of this type are all its state."""
    found = _sight.get(kind)
    if found is None:
        found = _sight[kind] = _is_named(kind, "zoneinfo", "ZoneInfo") or all(
            one in _SEEN or issubclass(one, BaseException) or _is_python(one)
            for one in type.mro(kind)
            if one is not object
        )
    return found


def _is_named(kind, module, name):
    """Tell a type of the standard library's that need not be loaded."""
    return kind is getattr(sys.modules.get(module), name, None)


def _is_python(kind):
    """Tell a class that a class statement made from one of an extension."""
    if not kind.__flags__ & _PYTHON_MADE or kind.__flags__ & _IMMUTABLE:
        return False
    module = sys.modules.get(str(kind.__dict__.get("__module__")))
    if module is None:
        return True  # made by a class statement in a namespace of its own
    return str(getattr(module, "__file__", None) or "").endswith(
        (".py", ".pyw")
    ) or module.__name__ in (
        "abc",
        "codecs",
        "io",
        "os",
        "_collections_abc",
        "__main__",
    )


def registrations(kind):
    """Give how many classes were registered with an abstract one; what `isinstance` remembers apart."""
    try:
        return len(abc._get_dump(kind)[0])  # noqa: SLF001 - the only way
    except (AttributeError, TypeError):
        return None
