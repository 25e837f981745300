"""Reads the definitions in a Python file, and tells which of them a change touches: pure, with `ast` alone."""

from __future__ import annotations

import ast
import copy
import fnmatch
import hashlib
import warnings
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.values import Definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MODULE: Final = "<module>"
"""The qualified name of a module's own code."""

_Def = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS: Final = (*_FUNCTIONS, ast.ClassDef)

_SETUP: Final = frozenset(
    [
        "setUp",
        "tearDown",
        "setUpClass",
        "tearDownClass",
        "asyncSetUp",
        "asyncTearDown",
        "setup",
        "teardown",
        "setup_method",
        "teardown_method",
        "setup_class",
        "teardown_class",
    ],
)
_MODULE_SETUP: Final = frozenset(
    "setUpModule tearDownModule setup_module teardown_module setup_function teardown_function".split(),  # noqa: SIM905
)


class SourceReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a file defines; `problem` says why it could not be parsed (there are no definitions then)."""

    definitions: tuple[Definition, ...]
    problem: str = ""


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """One definition, with what its value does not hold: its docstring and what it looks like to pytest."""

    definition: Definition
    text: str
    """The docstring's text."""
    parameters: tuple[str, ...] = ()
    fixture: str = ""
    """The name under which tests ask for it, where it is a fixture."""
    autouse: bool = False
    stub: bool = False
    """An overload, or a property's setter or deleter: the definition proper stands elsewhere."""


def read_source(path: str, source: bytes) -> SourceReading:
    """Give the module, classes, functions and methods in a file, in the order of their lines."""
    try:
        found = _read(path, source)
    except _Unreadable as error:
        return SourceReading(definitions=(), problem=str(error))
    return SourceReading(definitions=tuple(one.definition for one in found))


def read_definitions(path: str, source: bytes) -> tuple[Definition, ...]:
    """Give what a file defines; nothing where it cannot be parsed (`read_source` says why)."""
    return read_source(path, source).definitions


def changed_definitions(
    base_source: bytes | None, head_source: bytes, path: str
) -> tuple[Definition, ...]:
    """Give head's definitions that are new or whose code or docstring changed; a class or module counts by its own code.

    A base that cannot be parsed makes every definition new.
    """
    try:
        head = _read(path, head_source)
    except _Unreadable:
        return ()
    before = {one.definition.qualname: one for one in _base(path, base_source)}
    return tuple(
        one.definition for one in head if _differs(before.get(one.definition.qualname), one)
    )


def test_definitions_touched(
    base_source: bytes | None,
    head_source: bytes,
    *,
    functions: Sequence[str] = (),  # noqa: PT028 - this is no test
) -> set[str]:
    """Give the qualified names of head's tests that are new or changed.

    `functions` are prefixes or patterns of what the project's pytest takes for tests, besides `test`.

    A test changes with its own code, with its class's (bases, decorators, attributes, set-up, fixtures), with the
    module's set-up, and with the fixtures of the same file that it asks for, directly or through others.
    """
    try:
        head = _read("", head_source)
    except _Unreadable:
        return set()
    before = {_name(one): one for one in _base("", base_source)}
    here = {_name(one) for one in head}
    gone = tuple(one for name, one in before.items() if name not in here)
    changed = {_name(one) for one in head if _code_differs(before.get(_name(one)), one)}
    changed |= {_name(one) for one in gone}
    every = (*head, *gone)
    fixtures = _changed_fixtures(every, changed)
    tests = {_name(one): one for one in head if _is_test(one, functions)}
    shaken = _shakes_all(every, changed)
    return {
        name
        for name, one in tests.items()
        if shaken
        or name in changed
        or fixtures & set(one.parameters)
        or any(owner in changed or _class_shaken(owner, every, changed) for owner in _owners(name))
    }


# pytest would collect it in a test module that imports it.
test_definitions_touched.__test__ = False  # type: ignore[attr-defined]  # functions have no such attribute


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """The file is not Python that this Python can parse."""


def _base(path: str, source: bytes | None) -> tuple[_Found, ...]:
    if source is None:
        return ()
    try:
        return _read(path, source)
    except _Unreadable:
        return ()


def _read(path: str, source: bytes) -> tuple[_Found, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the linter's news
            tree = ast.parse(source)
        return _merge(_walk(tree, path))
    except SyntaxError as error:
        where = "" if error.lineno is None else f" (line {error.lineno})"
        raise _Unreadable(f"{error.msg}{where}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _Unreadable(str(error) or type(error).__name__) from error


def _walk(tree: ast.Module, path: str) -> Iterator[_Found]:
    exported = _exported(tree)
    open_module = not _is_private_module(path)
    yield _Found(
        definition=Definition(
            path=path,
            qualname=MODULE,
            kind="module",
            public=open_module,
            first_line=1,
            last_line=max((node.end_lineno or 1 for node in tree.body), default=1),
            docstring=ast.get_docstring(tree, clean=False) is not None,
            digest=_digest(_own_code(tree.body)),
        ),
        text=ast.get_docstring(tree, clean=False) or "",
    )
    for node in _inner(tree.body):
        named = _is_public_name(node.name) if exported is None else node.name in exported
        yield from _walk_definition(node, path, "", public=open_module and named, owner=tree)


def _walk_definition(
    node: _Def, path: str, prefix: str, *, public: bool, owner: ast.AST
) -> Iterator[_Found]:
    qualname = prefix + node.name
    yield _found(node, path, qualname, public=public, method=isinstance(owner, ast.ClassDef))
    is_class = isinstance(node, ast.ClassDef)
    inner_prefix = f"{qualname}." if is_class else f"{qualname}.<locals>."
    for inner in _inner(node.body):
        yield from _walk_definition(
            inner,
            path,
            inner_prefix,
            public=public and is_class and _is_public_name(inner.name),
            owner=node,
        )


def _found(node: _Def, path: str, qualname: str, *, public: bool, method: bool) -> _Found:
    is_class = isinstance(node, ast.ClassDef)
    kind = "class" if is_class else "method" if method else "function"
    text = ast.get_docstring(node, clean=False)
    fixture, autouse = _fixture(node)
    return _Found(
        definition=Definition(
            path=path,
            qualname=qualname,
            kind=kind,
            public=public,
            first_line=min((node.lineno, *(one.lineno for one in node.decorator_list))),
            last_line=node.end_lineno or node.lineno,
            docstring=text is not None,
            digest=_digest(_code(node)),
        ),
        text=text or "",
        parameters=_parameters(node),
        fixture=fixture,
        autouse=autouse,
        stub=_is_stub(node),
    )


def _merge(found: Iterable[_Found]) -> tuple[_Found, ...]:
    """Make one of definitions with one name: overloads, a property's parts, both sides of an `if`."""
    named: dict[str, list[_Found]] = {}
    for one in found:
        named.setdefault(one.definition.qualname, []).append(one)
    merged = [_merge_one(parts) for parts in named.values()]
    return tuple(sorted(merged, key=lambda one: (_name(one) != MODULE, one.definition.first_line)))


def _merge_one(parts: list[_Found]) -> _Found:
    if len(parts) == 1:
        return parts[0]
    proper = next((one for one in parts if not one.stub), parts[-1])
    digest = hashlib.sha256("".join(one.definition.digest for one in parts).encode())
    return msgspec.structs.replace(
        proper,
        definition=msgspec.structs.replace(
            proper.definition,
            docstring=any(one.definition.docstring for one in parts),
            digest=digest.hexdigest()[:32],
        ),
        text="\0".join(one.text for one in parts),
    )


def _code(node: _Def) -> str:
    """Give a definition's code: a function's with all that is in it, a class's without its methods."""
    if isinstance(node, ast.ClassDef):
        head = [*node.bases, *node.keywords, *node.decorator_list]
        return "\n".join((*map(ast.dump, head), _own_code(node.body)))
    body = _without_docstring(node.body)
    parts = [node.args, *node.decorator_list, *([node.returns] if node.returns else ()), *body]
    return "\n".join((type(node).__name__, *map(ast.dump, parts)))


def _own_code(body: list[ast.stmt]) -> str:
    """Give the code of a class or module without what it defines."""
    own = [node for node in _without_docstring(body) if not isinstance(node, _DEFINITIONS)]
    return "\n".join(ast.dump(_stripped(node)) for node in own)


def _stripped(node: ast.stmt) -> ast.AST:
    if not any(_inner([node])):
        return node
    return _Strip().visit(copy.deepcopy(node))  # type: ignore[no-any-return]  # typeshed's visit gives Any


class _Strip(ast.NodeTransformer):
    """Takes the definitions out of compound statements; they are compared by themselves."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return ast.Pass(lineno=node.lineno, col_offset=0)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return ast.Pass(lineno=node.lineno, col_offset=0)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return ast.Pass(lineno=node.lineno, col_offset=0)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _inner(body: Iterable[ast.AST]) -> Iterator[_Def]:
    """Give the definitions in a body, those inside its `if`, `try` and `with` too."""
    for node in body:
        if isinstance(node, _DEFINITIONS):
            yield node
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _inner(ast.iter_child_nodes(node))


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_stub(node: _Def) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    names = {_last_name(one) for one in node.decorator_list}
    return bool(names & {"overload", "setter", "deleter"})


def _last_name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _is_public_name(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _is_private_module(path: str) -> bool:
    parts = path.removesuffix(".py").removesuffix(".pyi").split("/")
    return any(not _is_public_name(part) for part in parts)


def _exported(tree: ast.Module) -> set[str] | None:
    """Give the names in `__all__`, or None where there is none or it is computed."""
    names: set[str] | None = None
    for node in tree.body:
        value = _all_value(node)
        if value is None:
            continue
        try:
            listed = ast.literal_eval(value)
        except ValueError:
            return None
        names = (names or set()) | {str(name) for name in listed}
    return names


def _all_value(node: ast.stmt) -> ast.expr | None:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="__all__"), value=value):
            return value
        case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
            return value
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value]
            )
        ):
            return value
        case _:
            return None


def _parameters(node: _Def) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        return _used_fixtures(node)
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return (*(one.arg for one in arguments), *_used_fixtures(node))


def _used_fixtures(node: _Def) -> tuple[str, ...]:
    """Give the fixtures that `@pytest.mark.usefixtures` names."""
    return tuple(
        word.value
        for one in node.decorator_list
        if isinstance(one, ast.Call) and _last_name(one) == "usefixtures"
        for word in one.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    )


def _fixture(node: _Def) -> tuple[str, bool]:
    """Give the name of a fixture (empty where it is none), and whether every test gets it."""
    for one in node.decorator_list:
        if _last_name(one) != "fixture":
            continue
        keywords = {} if not isinstance(one, ast.Call) else {k.arg: k.value for k in one.keywords}
        name, autouse = keywords.get("name"), keywords.get("autouse")
        given = name.value if isinstance(name, ast.Constant) else node.name
        return str(given), isinstance(autouse, ast.Constant) and autouse.value is True
    return "", False


def _name(one: _Found) -> str:
    return one.definition.qualname


def _code_differs(base: _Found | None, head: _Found) -> bool:
    return base is None or base.definition.digest != head.definition.digest


def _differs(base: _Found | None, head: _Found) -> bool:
    return base is None or _code_differs(base, head) or base.text != head.text


def _is_test(one: _Found, functions: Sequence[str]) -> bool:
    """Tell a test by its name; unittest's methods start with `test`, whatever pytest is configured to."""
    short = _name(one).rpartition(".")[2]
    is_function = one.definition.kind in {"function", "method"}
    named = short.startswith(("test", *functions)) or any(
        fnmatch.fnmatchcase(short, pattern) for pattern in functions
    )
    return is_function and named and "<locals>" not in _name(one)


def _owners(name: str) -> list[str]:
    """Give the classes that a method stands in, innermost last."""
    parts = name.split(".")[:-1]
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _class_shaken(owner: str, every: Iterable[_Found], changed: set[str]) -> bool:
    return any(
        _name(one) in changed
        and _name(one).rpartition(".")[0] == owner
        and (_name(one).rpartition(".")[2] in _SETUP or one.fixture)
        for one in every
    )


def _shakes_all(every: Iterable[_Found], changed: set[str]) -> bool:
    """Whether something changed that every test of the module runs through."""
    return any(
        _name(one) in changed
        and "." not in _name(one)
        and (_name(one) in _MODULE_SETUP or one.autouse)
        for one in every
    )


def _changed_fixtures(every: tuple[_Found, ...], changed: set[str]) -> set[str]:
    """Give the names of the fixtures that changed, and of those that ask for one of them."""
    fixtures = [one for one in every if one.fixture]
    names = {one.fixture for one in fixtures if _name(one) in changed}
    grown = True
    while grown:
        more = {one.fixture for one in fixtures if names & set(one.parameters)} - names
        names |= more
        grown = bool(more)
    return names
