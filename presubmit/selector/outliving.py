"""Why what a function does outlives a call: the module-level names and class attributes that hold on to it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.element import MODULE, Element, ElementKind
from presubmit.selector.known import caches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.selector.name_index import NameIndex, Node

_DEEPEST: Final = 4


class Users(Protocol):
    """What is asked of the name graph."""

    @property
    def index(self) -> NameIndex:
        """The names of all files."""

    def users(self, path: str, qualname: str) -> frozenset[Node]:
        """Give the elements that may name an element."""


class Outliving:
    """Finds what keeps the state that elements change."""

    def __init__(self, graph: Users) -> None:
        self._graph = graph
        self._index = graph.index
        self._known_kept: dict[str, frozenset[str]] = {}

    def reasons(self, path: str, qualname: str) -> str:
        """Say why what a function does outlives a call, all reasons; empty where it does not."""
        element = self._index.elements(path).get(qualname)
        if element is None:
            return "is not among the elements that were read"
        found: dict[str, None] = {}
        for decorator in element.decorators:
            found.update(dict.fromkeys(self._by_decorator(path, decorator)))
        for written in element.writes:
            found.update(dict.fromkeys(self._by_write(path, element, written)))
        # An object that others hold is the widest reason: it stands last.
        return "; ".join(sorted(found, key=lambda it: it.startswith("writes to a ")))

    def _by_decorator(self, path: str, decorator: str) -> Iterator[str]:
        if caches(decorator):
            yield f"decorated with {decorator}"
        elif not self._index.is_pure(path, decorator):
            hits = self._index.lookup(path, decorator)
            for hit_path, hit in hits:
                own = (self._index.elements(hit_path)[hit], *self._index.members(hit_path, hit))
                if any(
                    it == "self" or it.startswith("closure ") for el in own for it in el.writes
                ):
                    yield f"decorated with {decorator}, which keeps values"
            if not hits:
                yield f"decorated with {decorator}"

    def _by_write(  # noqa: C901, PLR0912 - one kind of change after the other
        self, path: str, element: Element, written: str
    ) -> Iterator[str]:
        kind, _, name = written.partition(" ")
        owner = element.qualname.rpartition(".")[0]
        match kind:
            case "default":
                yield f"shares the default of {name}"
            case "closure" | "call" | "gives":
                pass
            case "globals" if name == "*":
                yield "writes globals of its module"
            case "globals":
                yield _global(path, (path, name))
            case "class":
                yield _global(path, (path, f"{owner}.{name}" if name != "*" else owner))
            case "self":
                lasting = " that lives as long as its module" if self.lives_on(path, owner) else ""
                yield f"writes to a {owner}{lasting}"
            case "parameter":
                for node in self._given(path, element.qualname):
                    yield _global(path, node, sure=False)
            case "result":
                for node in self._results(path, owner, name, 0):
                    yield _global(path, node, sure=False)
            case "passes":
                for node in self._states(path, owner, name, 0):
                    yield _global(path, node, sure=False)
            case "asks":
                reference, _, method = name.rpartition(" ")
                for node in self._states(path, owner, reference, 0):
                    if self._may_change(node, method):
                        yield _global(path, node, sure=False)
            case _ if kind.startswith("self."):
                for node in self._states(path, owner, kind, 0):
                    yield _global(path, node, sure=False)
            case _ if self._index.is_module(path, kind):
                pass  # `module.register(x)`: what that function does is its own
            case _:
                for node in self._named(path, kind):
                    yield _global(path, node)

    # --- names ------------------------------------------------------------------------------------------------------

    def _named(self, path: str, dotted: str) -> Iterator[Node]:
        """Give what a changed `x` or `x.y` is, here and in the files that it comes from."""
        root, _, rest = dotted.partition(".")
        index = self._index
        if not index.defines(path, root):
            return
        if not rest:
            yield path, root
            yield from (it for it in index.origins(path, root) if index.defines(*it))
            return
        for hit_path, hit in index.lookup(path, root):
            if index.elements(hit_path)[hit].kind is ElementKind.CLASS:
                yield hit_path, f"{hit}.{rest}"
        for target in index.bindings(path).get(root, ()):
            for module in index.modules(path, target):
                yield from index.origins(module, rest)

    def _states(self, path: str, owner: str, reference: str, depth: int) -> Iterator[Node]:
        """Give the names behind a reference whose values may change."""
        if depth > _DEEPEST:
            return
        if reference.startswith("result:"):
            yield from self._results(path, owner, reference.partition(":")[2], depth)
            return
        root, _, rest = reference.partition(".")
        if root in {"self", "class"} and owner:
            if rest:
                yield from self._of_class(path, owner, rest, 0)
            return
        for node in set(self._named(path, reference)):
            if node[1] in self._kept(node[0]):
                yield node
        if rest:
            # A part of an object that is kept.
            yield from self._states(path, owner, root, depth)

    def _of_class(self, path: str, owner: str, attribute: str, depth: int) -> Iterator[Node]:
        """Give the class attribute that `self.x` is, be it of a base."""
        name = f"{owner}.{attribute}"
        if name in self._kept(path):
            yield path, name
            return
        element = self._index.elements(path).get(owner)
        if element is not None and depth <= _DEEPEST:
            for base in element.bases:
                if "=" not in base:
                    for hit in self._index.lookup(path, base):
                        yield from self._of_class(*hit, attribute, depth + 1)

    def _kept(self, path: str) -> frozenset[str]:
        """Give the names of a file whose values may change, or that functions bind anew."""
        found = self._known_kept.get(path)
        if found is None:
            shape = self._index.shapes.get(path)
            names = set(shape.kept) if shape is not None else set()
            for element in self._index.elements(path).values():
                owner = element.qualname.rpartition(".")[0]
                for written in element.writes:
                    kind, _, name = written.partition(" ")
                    if kind == "class":
                        names.add(f"{owner}.{name}")
                    elif (
                        element.kind is ElementKind.FUNCTION
                        and not name
                        and kind != "self"
                        and self._index.defines(path, kind)
                    ):
                        names.add(kind)
            found = self._known_kept[path] = frozenset(names)
        return found

    # --- calls ------------------------------------------------------------------------------------------------------

    def _results(self, path: str, owner: str, called: str, depth: int) -> Iterator[Node]:
        """Give what a function hands out that is kept."""
        if depth > _DEEPEST:
            return
        root, _, rest = called.partition(".")
        hits = self._index.lookup(path, called)
        if owner and rest and root in {"self", "cls"}:
            hits = self._index.lookup(path, f"{owner}.{rest}")
        for hit_path, hit in hits:
            element = self._index.elements(hit_path)[hit]
            if element.kind is not ElementKind.FUNCTION:
                continue
            if any(
                caches(it) or not self._index.is_pure(hit_path, it) for it in element.decorators
            ):
                yield hit_path, hit
            hit_owner = hit.rpartition(".")[0]
            for written in element.writes:
                if written.startswith("gives "):
                    reference = written.removeprefix("gives ")
                    yield from self._states(hit_path, hit_owner, reference, depth + 1)

    def _given(self, path: str, qualname: str) -> Iterator[Node]:
        """Give what callers of a function hand to it that is kept."""
        for user_path, user in self._graph.users(path, qualname):
            element = self._index.elements(user_path).get(user)
            for written in element.writes if element is not None else ():
                if written.startswith("passes "):
                    owner = user.rpartition(".")[0]
                    reference = written.removeprefix("passes ")
                    yield from self._states(user_path, owner, reference, 0)

    def _may_change(self, node: Node, method: str) -> bool:
        """Tell whether a method changes an object that a name holds."""
        path, name = node
        own = self._index.elements(path).get(name)
        if method == "__call__" and own is not None and own.kind is ElementKind.CLASS:
            return False
        used = self._index.aliases(path).get(name, ())
        hits = self._index.lookup(path, used[0]) if len(used) == 1 else ()
        for hit_path, hit in hits:
            elements = self._index.elements(hit_path)
            if f"{hit}.{method}" not in elements:
                return True
            others = self._index.members(hit_path, hit)
            if any("self" in it.writes and not it.qualname.endswith("__init__") for it in others):
                return True
        return not hits

    @functools.cached_property
    def _known_lives(self) -> dict[Node, bool]:
        return {}

    def lives_on(self, path: str, qualname: str) -> bool:
        """Tell whether an instance of a class may be kept by a module-level name."""
        key = (path, qualname)
        if key not in self._known_lives:
            self._known_lives[key] = self._find_lives(path, qualname)
        return self._known_lives[key]

    def _find_lives(self, path: str, qualname: str) -> bool:
        seen = {(path, qualname)}
        stack = [(path, qualname)]
        while stack:
            node = stack.pop()
            for user in self._graph.users(*node):
                element = self._index.elements(user[0]).get(user[1])
                kept = "." not in user[1] and user[1] in self._index.aliases(user[0])
                if user[1] == MODULE or kept:
                    return True
                if user not in seen and (element is None or element.kind is ElementKind.CLASS):
                    seen.add(user)
                    stack.append(user)
        return False

    def makers(self, path: str, qualname: str, depth: int = 0) -> frozenset[Node]:
        """Give the functions one of which runs for each instance that is made; none where none need do so."""
        elements = self._index.elements(path)
        own = [it for it in ("__init__", "__new__") if f"{qualname}.{it}" in elements]
        if own:
            return frozenset((path, f"{qualname}.{it}") for it in own)
        element = elements.get(qualname)
        if element is None or element.decorators or depth > _DEEPEST:
            return frozenset()
        for base in element.bases:
            for hit in self._index.lookup(path, base):
                if found := self.makers(*hit, depth + 1):
                    return found
        return frozenset()


def _global(path: str, node: Node, *, sure: bool = True) -> str:
    """Write where the state is; with its file where that is another one."""
    where = node[1] if node[0] == path else "::".join(node)
    return f"{'writes' if sure else 'may write'} the global {where}"
