"""Which names a piece of code uses and what it changes, and a digest of it: one walk over its syntax tree."""

from __future__ import annotations

import ast
import hashlib
import operator
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.stores import Stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*\(|[.|]\s*([A-Za-z_]\w*)")
_CODE: Final = re.compile(r"\b(?:import|def|lambda|class)\s")
_END: Final = re.compile(r"(?:^|[^\w])([A-Za-z_]\w+)$")
_START: Final = re.compile(r"\w+(?=$|\W)")
_LONGEST: Final = 200_000

_MUTATORS: Final = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "put",
        "register",
        "remove",
        "setdefault",
        "update",
    ]
)
_GETTERS: Final = frozenset(
    {"getattr", "setattr", "delattr", "hasattr", "getattr_static", "__getattribute__"}
)
_GETTERS_BY_FIRST: Final = frozenset({"attrgetter", "methodcaller", "getfixturevalue"})
_MEMBERS: Final = frozenset(
    {"__dict__", "__subclasses__", "getmembers", "getmembers_static", "testmod"}
)
_EXECUTORS: Final = frozenset({"eval", "exec", "globals", "execfile", "FunctionType"})
_IMPORTERS: Final = frozenset(
    {
        "import_module",
        "__import__",
        "resolve_name",
        "import_string",
        "import_object",
        "importorskip",
    }
)
_SCOPES: Final = frozenset(
    {
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
    }
)
_DOCUMENTED: Final = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_FRAGMENTS: Final = 2
"""A shorter known part of a built name says too little."""
_DOC: Final = "__doc__"
_LEAVE: Final = object()


def _plans() -> dict[type, tuple[str, Callable[[ast.AST], object], int]]:
    """Give for each node type its mark, a getter of its fields and their number."""
    found: dict[type, tuple[str, Callable[[ast.AST], object], int]] = {}
    for name in dir(ast):
        kind = getattr(ast, name)
        if isinstance(kind, type) and issubclass(kind, ast.AST):
            fields = [it for it in kind._fields if it not in {"type_comment", "kind"}]
            if fields:
                found[kind] = (name, operator.attrgetter(*fields), len(fields))
            else:
                found[kind] = (name, repr, 0)
    return found


_PLANS: Final = _plans()


def docstring(body: list[ast.stmt]) -> str | None:
    """Give the docstring that a body opens with."""
    if body and isinstance(first := body[0], ast.Expr) and isinstance(first.value, ast.Constant):
        value = first.value.value
        return value if isinstance(value, str) else None
    return None


def digest(tokens: Iterable[str]) -> str:
    """Digest tokens in order."""
    text = "\0".join(tokens)
    if not text:
        return ""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


class Uses:
    """Collects what one element uses; `take` may be called several times."""

    def __init__(self, first_parameter: str = "", *, of_class: bool = False) -> None:
        self.tokens: list[str] = []
        self.docstrings: list[str] = []
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.imports: list[tuple[str, str]] = []
        self.stars: list[str] = []
        self.dynamic: set[str] = set()
        self._first = first_parameter
        self._of_class = of_class
        """Whether the first parameter is a class."""
        self._stores = Stores()
        self._names: set[str] = set()
        self._chains: set[tuple[str, ...]] = set()
        self._copied: set[tuple[str, ...]] = set()
        self._copies: set[int] = set()
        self._others: set[str] = set()
        self._stored: set[str] = set()
        self._changed: set[tuple[str, bool]] = set()
        self._asked: set[int] = set()
        self._parameters: set[str] = set()
        self._called: set[str] = set()
        self._outer: set[str] = set()
        self._depth = 0

    def take(self, *nodes: ast.AST) -> None:
        """Walk over nodes: add their tokens and note what they use."""
        stack: list[object] = list(reversed(nodes))
        tokens = self.tokens
        pop, append = stack.pop, tokens.append
        while stack:
            node = pop()
            kind = type(node)
            plan = _PLANS.get(kind)
            if plan is None:
                # This loop sees every value of every node: the commonest kinds first, no calls.
                if kind is str:
                    append(node)  # type: ignore[arg-type]
                elif kind is list:
                    append(f"[{len(node)}")  # type: ignore[arg-type]
                    stack.extend(reversed(node))  # type: ignore[call-overload]
                elif node is _LEAVE:
                    self._depth -= 1
                else:
                    append(repr(node))
                continue
            mark, fields, count = plan
            append(mark)
            if count == 0:
                continue
            special = _SPECIAL.get(kind)
            if special is not None and special(self, node, stack):
                continue
            if count == 1:
                stack.append(fields(node))  # type: ignore[arg-type]
            else:
                stack.extend(reversed(fields(node)))  # type: ignore[arg-type, call-overload]

    # --- what single nodes say; True: the children are done -------------------------------------------------------

    def on_name(self, node: ast.Name, _: list[object]) -> bool:
        """Note an identifier."""
        name = node.id
        self.tokens.append(name)
        if type(node.ctx) is ast.Load:
            self._names.add(name)
            if name in _EXECUTORS:
                self.dynamic.add("exec")
            elif name in _IMPORTERS:
                self.dynamic.add("imports")
            elif name == "__all__" or (name in {"dir", "vars"} and id(node) not in self._asked):
                self.dynamic.add("members")
        else:
            self.tokens.append("=")
            self._bind(name)
        return True

    def _bind(self, name: str) -> None:
        if self._depth:
            self._names.add(name)
        else:
            self.locals.add(name)
        self._stored.add(name)

    def on_attribute(self, node: ast.Attribute, stack: list[object]) -> bool:
        """Note a chain of attributes, down to what it starts from."""
        parts = [node.attr]
        self.tokens.append(type(node.ctx).__name__)
        value: ast.expr = node.value
        while type(value) is ast.Attribute:
            parts.append(value.attr)
            value = value.value
        self.tokens.extend(parts)
        stored = type(node.ctx) is not ast.Load
        if stored:
            self._stores.changed.append((node.value, node.attr))
        if stored and node.attr == _DOC:
            parts = parts[1:]  # who gives an object another docstring reads none
        if type(value) is ast.Name:
            self.tokens.append(value.id)
            parts.append(value.id)
            found = self._copied if id(node) in self._copies else self._chains
            found.add(tuple(reversed(parts)))
            if stored:
                self._changed.add((value.id, bool(self._depth)))
        else:
            self.tokens.append(".")
            self._others.update(f".{part}" for part in parts)
            stack.append(value)
        for part in parts:
            if part in _IMPORTERS or (part == "modules" and parts[-1] == "sys"):
                self.dynamic.add("imports")
            if part in _MEMBERS and value is not None:
                own = type(value) is ast.Name and value.id == self._first
                self.dynamic.add("getattr self" if own else "members")
        return True

    def on_constant(self, node: ast.Constant, _: list[object]) -> bool:
        """Note the words of a string."""
        value = node.value
        self.tokens.append(repr(value))
        if type(value) is str:
            self.word(value)
        return True

    def word(self, text: str) -> None:
        """Note the names in a string: all of it, or what is called or looked up in code."""
        if len(text) > _LONGEST:
            self.dynamic.add("exec")
            text = text[:_LONGEST]
        if _DOTTED.fullmatch(text):
            self._others.update(f".{part}" for part in re.split("[.:]", text))
        elif "\n" not in text and " " not in text.strip():
            for part in _IDENTIFIER.findall(text):
                self._others.add(f".{part}")
        elif _CODE.search(text):
            self._others.update(f".{part}" for part in _IDENTIFIER.findall(text))
        else:
            for called, looked_up in _CALLED.findall(text):
                self._others.add(f".{called or looked_up}")

    def on_joined(self, node: ast.JoinedStr, _: list[object]) -> bool:
        """Note the known parts of an f-string."""
        values = node.values
        for index, part in enumerate(values):
            if type(part) is ast.Constant and isinstance(part.value, str):
                self._part(part.value, before=index > 0, after=index + 1 < len(values))
        return False

    def _part(self, text: str, *, before: bool, after: bool) -> None:
        """Note a known part of a text with unknown parts before or after it."""
        if after and (match := _END.search(text)) and len(match[1]) >= _FRAGMENTS:
            self._others.add(f".{match[1]}*")
        if before and (match := _START.match(text)) and len(match[0]) > _FRAGMENTS:
            self._others.add(f".*{match[0]}")

    def on_binary(self, node: ast.BinOp, _: list[object]) -> bool:
        """Note the known parts of a text that is added to or filled in."""
        left, right = node.left, node.right
        if type(left) is ast.Constant and isinstance(left.value, str):
            if type(node.op) is ast.Add:
                self._part(left.value, before=False, after=True)
            elif type(node.op) is ast.Mod:
                self._template(re.split(r"%\(?\w*\)?[-#0 +]*\d*[a-z]", left.value))
        if (
            type(node.op) is ast.Add
            and type(right) is ast.Constant
            and isinstance(right.value, str)
        ):
            self._part(right.value, before=True, after=False)
        return False

    def _template(self, parts: list[str]) -> None:
        for index, part in enumerate(parts):
            self._part(part, before=index > 0, after=index + 1 < len(parts))

    def on_call(  # noqa: C901 - one kind of call after the other
        self, node: ast.Call, _: list[object]
    ) -> bool:
        """Note calls that change what they are called on, or look names up."""
        function = node.func
        self._stores.call(node, _MUTATORS)
        if type(function) is ast.Attribute:
            name = function.attr
            if name in _MUTATORS and type(root := _root(function.value)) is ast.Name:
                self._changed.add((root.id, bool(self._depth)))
            if name == "format" and type(text := function.value) is ast.Constant:
                self._template(re.split(r"\{[^{}]*\}", str(text.value)))
            if name in _EXECUTORS:
                self.dynamic.add("exec")
        elif type(function) is ast.Name:
            name = function.id
            if not self._depth and name in self._parameters:
                self._called.add(name)
            if name in {"dir", "vars"} and node.args:
                self._asked.add(id(function))
                self._looks_at(node.args[0], "members")
        else:
            return False
        position = 1 if name in _GETTERS else 0 if name in _GETTERS_BY_FIRST else None
        if position is not None:
            wanted = node.args[position : position + 1]
            if name == "getfixturevalue" and not all(map(_known, wanted)):
                self.dynamic.add("fixtures")
            elif name == "__getattribute__" and _of_super(function):
                self.dynamic.add("getattr self")
            elif not wanted or not all(map(_known, wanted)):
                self._looks_at(node.args[0] if position and node.args else None, "getattr")
        return False

    def _looks_at(self, subject: ast.expr | None, how: str) -> None:
        """Note that members are looked up which are not named; those of a method's own object are few."""
        own = type(subject) is ast.Name and subject.id == self._first
        self.dynamic.add("getattr self" if own else how)

    def on_subscript(self, node: ast.Subscript, _: list[object]) -> bool:
        """Note what an assignment to an item changes."""
        if type(node.ctx) is not ast.Load:
            self._stores.changed.append((_keyed(node), ""))
            if type(root := _root(node.value)) is ast.Name:
                self._changed.add((root.id, bool(self._depth)))
        return False

    def on_binding(self, node: ast.AST, _: list[object]) -> bool:
        """Note which values variables stand for."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._stores.bind(target, value)
                    if _is_docstring(target) and _is_docstring(value):
                        self._copies.add(id(value))
            case ast.AugAssign(target=target):
                self._stores.changed.append((target, ""))
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                self._stores.bind(target, value)
            case _:
                pass
        return False

    def on_return(self, node: ast.Return | ast.Yield, _: list[object]) -> bool:
        """Note what is given back."""
        if node.value is not None:
            self._stores.given.append(node.value)
        return False

    def on_import(self, node: ast.Import, _: list[object]) -> bool:
        """Note what `import` binds."""
        for alias in node.names:
            if alias.asname:
                self.imports.append((alias.asname, alias.name))
            else:
                top = alias.name.partition(".")[0]
                self.imports.append((top, top))
        return False

    def on_import_from(self, node: ast.ImportFrom, _: list[object]) -> bool:
        """Note what `from … import` binds."""
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self.imports.append((alias.asname or alias.name, f"{module}:{alias.name}"))
        return False

    def on_scope(self, node: ast.AST, stack: list[object]) -> bool:
        """Enter a nested function, class or comprehension; what it binds is no local of the element."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._bind(node.name)
        self._depth += 1
        stack.append(_LEAVE)
        if type(node) in _DOCUMENTED and (text := docstring(node.body)) is not None:  # type: ignore[attr-defined]
            self.docstrings.append(text)
            fields = _PLANS[type(node)][1]
            values = fields(node)
            assert isinstance(values, tuple)  # noqa: S101 - tells mypy
            stack.extend(
                value[1:] if value is node.body else value  # type: ignore[attr-defined]
                for value in reversed(values)
            )
            return True
        return False

    def on_global(self, node: ast.Global, _: list[object]) -> bool:
        """Note what is declared global."""
        self.globals.update(node.names)
        return False

    def on_nonlocal(self, node: ast.Nonlocal, _: list[object]) -> bool:
        """Note what is changed around a nested function."""
        self._changed.update((name, True) for name in node.names)
        return False

    def on_argument(self, node: ast.arg, _: list[object]) -> bool:
        """Note a parameter."""
        self._bind(node.arg)
        if not self._depth:
            self._parameters.add(node.arg)
        return False

    def on_named(self, node: ast.AST, _: list[object]) -> bool:
        """Note what `except … as x` and `case x` bind."""
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            self._bind(name)
        return False

    def also(self, other: Uses) -> None:
        """Take over what other code uses, as seen from outside of this element."""
        self._outer.update(other.uses())
        self.dynamic.update(other.dynamic)

    # --- the sums ---------------------------------------------------------------------------------------------------

    def uses(self) -> Iterator[str]:
        """Give the names used, as `Element` writes them."""
        bound = self.bound()
        for name in self._names:
            if name not in bound:
                yield name
        # A local object's docstring that another object gets is read by who reads that one's.
        copied = (
            chain if chain[0] not in bound or chain[0] == self._first else chain[:-1]
            for chain in self._copied
        )
        for root, *rest in (*self._chains, *copied):
            if root not in bound:
                yield ".".join((root, *rest))
            elif root == self._first and rest:
                yield f"self.{rest[0]}"
                yield from (f".{part}" for part in rest[1:])
            else:
                yield from (f".{part}" for part in rest)
        yield from self._others
        yield from self._outer

    def bound(self) -> set[str]:
        """Give the names that mean local variables all over the element."""
        return self.locals - self.globals - {name for name, _ in self.imports}

    def writes(self) -> Iterator[str]:
        """Give what it changes that outlives a call."""
        yield from self.globals & self._stored
        bound = self.bound()
        for name, nested in self._changed:
            if name == self._first:
                yield "self"
            elif name not in bound:
                yield name
            elif nested:
                yield f"closure {name}"
        yield from (f"call {name}" for name in self._called)
        yield from self._stores.tokens(
            first=self._first,
            of_class=self._of_class,
            bound=bound,
            parameters=self._parameters,
        )


_SPECIAL: Final[dict[type, Any]] = {
    ast.Name: Uses.on_name,
    ast.Attribute: Uses.on_attribute,
    ast.Constant: Uses.on_constant,
    ast.JoinedStr: Uses.on_joined,
    ast.BinOp: Uses.on_binary,
    ast.Call: Uses.on_call,
    ast.Subscript: Uses.on_subscript,
    ast.Import: Uses.on_import,
    ast.ImportFrom: Uses.on_import_from,
    ast.Global: Uses.on_global,
    ast.Nonlocal: Uses.on_nonlocal,
    ast.Assign: Uses.on_binding,
    ast.AugAssign: Uses.on_binding,
    ast.AnnAssign: Uses.on_binding,
    ast.NamedExpr: Uses.on_binding,
    ast.For: Uses.on_binding,
    ast.AsyncFor: Uses.on_binding,
    ast.comprehension: Uses.on_binding,
    ast.withitem: Uses.on_binding,
    ast.Return: Uses.on_return,
    ast.Yield: Uses.on_return,
    ast.arg: Uses.on_argument,
    ast.ExceptHandler: Uses.on_named,
    ast.MatchAs: Uses.on_named,
    ast.MatchStar: Uses.on_named,
    ast.MatchMapping: Uses.on_named,
    **dict.fromkeys(_SCOPES, Uses.on_scope),
}


def _of_super(node: ast.expr) -> bool:
    """Tell a method that is looked up with `super()`."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "super"
    )


def _keyed(node: ast.Subscript) -> ast.expr:
    """Give what an assignment to an item changes; with the item where that is a module or a global name."""
    value = node.value
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    return node if named and value.func.id == "globals" else value  # type: ignore[attr-defined]


def _is_docstring(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == _DOC


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _known(node: ast.expr) -> bool:
    """Tell whether the name that is looked up stands in the source, at least in part."""
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr(values=values):
            texts = [it.value for it in values if isinstance(it, ast.Constant)]
            return any(len(str(text)) > _FRAGMENTS for text in texts)
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            return any(
                isinstance(it, ast.Constant) and len(str(it.value)) > _FRAGMENTS
                for it in (left, right)
            )
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            return len(text.partition("%")[0]) >= _FRAGMENTS
        case ast.IfExp(body=body, orelse=orelse):
            return _known(body) and _known(orelse)
        case _:
            return False
