"""Which tests may run a function or see a constant, found by the names that code uses.

Published as NameRTS (arXiv 2605.25356): a definition can only be reached by code that names it, or that the
language or a framework calls by itself. The latter is what most of the rules here are about.
"""

from __future__ import annotations

import collections
import fnmatch
import functools
import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.selector.at_hand import TestSets, importing_tests
from presubmit.selector.element import MODULE, Element, ElementKind, Shape
from presubmit.selector.graph import build_graph
from presubmit.selector.known import AUTOUSE, is_implicit
from presubmit.selector.name_index import EXAMPLES, NameIndex, Node, Use
from presubmit.selector.outliving import Outliving
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from presubmit.selector.graph import Graph
    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

_MOST: Final = 20_000
"""A walk that has met more elements says nothing that the imports do not say."""
_DEEPEST: Final = 8
"""More bases above each other are not followed."""
_ROUNDS: Final = 2
"""Methods that lead to a class are limited by their own classes, once."""
_MOST_MET: Final = 100_000
"""Elements that are met while classes are followed; after that only files limit a walk."""
_COMPUTED: Final[Node] = ("", "<computed>")
"""What stands between the methods and the elements that get members by computed names."""
_GETTING: Final = frozenset({"getattr", "members"})
_LOOKS: Final = frozenset({"getattr", "members", "exec"})
_DEFINING: Final = frozenset(
    {
        "__init_subclass__",
        "__class_getitem__",
        "__set_name__",
        "__prepare__",
        "__mro_entries__",
        "__instancecheck__",
        "__subclasscheck__",
    }
)


class NameReach(Value, frozen=True, kw_only=True):
    """What names lead to from changed elements; chains are of `path::qualname`."""

    files: dict[str, tuple[str, ...]]
    """Test files that may run a changed element or see its value."""
    at_import: dict[str, tuple[str, ...]]
    """Files whose module-level code may: every importer of such a file is affected."""
    importing: dict[str, tuple[str, ...]]
    """Test files that import one of these while they may have at hand what runs; chains end with that file."""
    unsure: tuple[str, ...]
    """Why names cannot be trusted."""


class NameGraph:
    """Elements and the names that they use, walked from changed elements to what may run them."""

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        layout: Layout,
        imports: Mapping[str, Imports],
        graph: Graph | None = None,
    ) -> None:
        self.index = NameIndex(shapes, layout, imports)
        self.layout = layout
        self._imports = imports
        self._graph = graph
        self._sets = TestSets(layout.tests)
        self._known_importing: dict[str, int] | None = None
        self._known_held: dict[tuple[Node, int], int] = {}
        self._met = 0
        self._tests = frozenset(layout.tests)
        self._conftests = frozenset(layout.conftests)
        self._support = frozenset(layout.support)
        self._called_by_bases: dict[Node, bool] = {}
        self._known_users: dict[Node, frozenset[Node]] = {}
        self._known_members: dict[str, frozenset[Node]] = {}
        self._known_given: dict[Node, frozenset[Node]] = {}
        self._known_holders: dict[str, frozenset[Node]] = {}
        self._known_parts: dict[str, frozenset[Node]] = {}
        self._near: dict[str, list[Node]] | None = None
        self._outliving = Outliving(self)

    # --- the walk -------------------------------------------------------------------------------------------------

    def reach(self, changed: Mapping[str, Collection[str]]) -> NameReach:
        """Walk from changed functions and constants to test files and to files that may run them at import."""
        unsure = []
        starts: list[Node] = []
        for path in sorted(changed):
            elements = self.index.elements(path)
            for qualname in sorted(changed[path]):
                element = elements.get(qualname)
                if element is None:
                    unsure.append(f"{path}::{qualname} is not among the elements that were read")
                elif element.kind in {ElementKind.MODULE, ElementKind.CLASS}:
                    unsure.append(f"{path}::{qualname} runs at import")
                else:
                    starts.append((path, qualname))
        masks, before = self._walk(starts, self._limit)
        if len(before) > _MOST:
            unsure.append(f"more than {_MOST} elements may use it")
        return self._reached(masks, before, unsure)

    def _walk(
        self, starts: Iterable[Node], limit: Callable[[Node], int], enough: int = 0
    ) -> tuple[dict[Node, int], dict[Node, Node | None]]:
        """Walk to users; each node goes with the tests that may have at hand all that it was reached through."""
        masks = {node: limit(node) for node in starts}
        before: dict[Node, Node | None] = dict.fromkeys(masks)
        queue = collections.deque(before)
        missing = enough
        while queue and len(before) <= _MOST:
            node = queue.popleft()
            mask = masks[node]
            if enough:
                path, qualname = node
                reached = self._importing(path) if qualname == MODULE else 0
                missing &= ~(mask & (reached | self._sets.bits.get(path, 0)))
                if not missing:
                    break
            for user in sorted(self._users(node)):
                known = masks.get(user, 0)
                more = mask & ~known
                if more and (more := more & limit(user)):
                    masks[user] = known | more
                    before.setdefault(user, node)
                    queue.append(user)
        return masks, before

    def _reached(
        self,
        masks: Mapping[Node, int],
        before: Mapping[Node, Node | None],
        unsure: list[str],
    ) -> NameReach:
        files: dict[str, tuple[str, ...]] = {}
        at_import: dict[str, tuple[str, ...]] = {}
        importing: dict[str, tuple[str, ...]] = {}
        bits = self._sets.bits
        for node in before:
            path, qualname = node
            if path in bits and path not in files and masks[node] & bits[path]:
                files[path] = _chain(node, before)
            if qualname == MODULE:
                at_import[path] = _chain(node, before)
                for test in self._sets.names(masks[node] & self._importing(path)):
                    importing.setdefault(test, at_import[path])
        self._add_unread(files, at_import, importing)
        return NameReach(
            files=files, at_import=at_import, importing=importing, unsure=tuple(unsure)
        )

    def _add_unread(
        self,
        files: dict[str, tuple[str, ...]],
        at_import: dict[str, tuple[str, ...]],
        importing: dict[str, tuple[str, ...]],
    ) -> None:
        """Add what may use anything: files that cannot be parsed, tests that run code which they build."""
        for path, shape in self.index.shapes.items():
            if shape.problem:
                why = (f"{path} cannot be parsed",)
                at_import.setdefault(path, why)
                for test in self._sets.names(self._importing(path)):
                    importing.setdefault(test, (*why, path))
                if path in self._tests:
                    files.setdefault(path, why)
            elif path in self._tests and self.index.executes(path):
                files.setdefault(path, (f"{path} runs code that it builds",))

    # --- what is at hand ------------------------------------------------------------------------------------------

    def _importing(self, path: str) -> int:
        """Give the tests that import a file."""
        if self._known_importing is None:
            graph = self._graph or build_graph(self.layout, self._imports)
            self._known_importing = importing_tests(graph.dependents, self._sets)
            for test, bit in self._sets.bits.items():
                self._known_importing[test] = self._known_importing.get(test, 0) | bit
        return self._known_importing.get(path, 0)

    def _limit(self, node: Node, rounds: int = _ROUNDS) -> int:
        """Give the tests that may have at hand what an element belongs to: its file and its class."""
        path, qualname = node
        owner = qualname.rpartition(".")[0]
        found = self._file_limit(node)
        return found & self._holding((path, owner), rounds) if owner and rounds else found

    def _file_limit(self, node: Node) -> int:
        if node == _COMPUTED:
            return self._sets.all
        found = self._importing(node[0])
        if not found and posixpath.dirname(node[0]) in self.layout.packages:
            # A module that no test is seen to import may be loaded in a way that is not seen; a script is not.
            return self._sets.all
        return found

    def _holding(self, node: Node, rounds: int) -> int:
        """Give the tests that may have an instance of a class, or the class: what leads to its name.

        A class of which a foreign base or decorator may keep a list can be got without its name.
        """
        found = self._known_held.get((node, rounds))
        if found is None:
            found = self._known_held[node, rounds] = self._find_holding(node, rounds)
        return found

    def _find_holding(self, node: Node, rounds: int) -> int:
        if self._met > _MOST_MET or self._may_be_listed(*node):
            return self._sets.all
        limit = functools.partial(self._limit, rounds=rounds - 1)
        masks, before = self._walk([node], limit, self._file_limit(node))
        self._met += len(before)
        if len(before) > _MOST:
            return self._sets.all
        reach = self._reached(masks, before, [])
        found = 0
        for test in (*reach.files, *reach.importing):
            found |= self._sets.bits[test]
        # What no name leads to must be got in a way that is not seen here.
        return found or self._sets.all

    def _may_be_listed(self, path: str, qualname: str, depth: int = 0) -> bool:
        """Tell whether what is not of the project may hand out a class without its name being used."""
        element = self.index.elements(path).get(qualname)
        if element is None or element.kind is not ElementKind.CLASS or depth > _DEEPEST:
            return True
        if path in self.layout.entry_points:
            return True
        for decorator in element.decorators:
            if not self.index.is_pure(path, decorator) and not self.index.lookup(path, decorator):
                return True
        for base in element.bases:
            keyword, found, value = base.rpartition("=")
            if self.index.is_plain_base(path, base) or (found and keyword != "metaclass"):
                continue
            hits = self.index.lookup(path, value)
            if not hits and not self.index.is_stdlib(path, value):
                return True
            if any(self._may_be_listed(*hit, depth + 1) for hit in hits):
                return True
        return False

    # --- single steps -------------------------------------------------------------------------------------------

    def users(self, path: str, qualname: str) -> frozenset[Node]:
        """Give the elements that may name an element, one step."""
        return frozenset(self._users((path, qualname)))

    def _users(self, node: Node) -> frozenset[Node]:
        found = self._known_users.get(node)
        if found is None:
            found = self._known_users[node] = frozenset(self._find_users(node))
        return found

    def _find_users(self, node: Node) -> set[Node]:
        path, qualname = node
        if node == _COMPUTED:
            return set(self._getters)
        if qualname in {MODULE, EXAMPLES, ""}:
            return set()
        name = qualname.rpartition(".")[2]
        found = set(self._named(path, qualname, name))
        element = self.index.elements(path).get(qualname)
        if "." in qualname:
            found.update(self._through_class(path, qualname, name, element))
        else:
            found.update(self._bound(path, name))
            if name in {"__getattr__", "__dir__"}:
                found.add((path, MODULE))
        if element is not None:
            found.update(self._through_decorators(path, qualname, element))
            if element.kind is ElementKind.CLASS:
                found.update(self._through_registry(path, element))
        if not (name.startswith("__") and name.endswith("__")):
            if "." in qualname:
                found.update(self._dynamic(path))
                found.add(_COMPUTED)
            else:
                found.update(self._through_module(path))
        found.update(self._asked_by_pytest(path, name, element))
        found.discard(node)
        return found

    # --- users by name --------------------------------------------------------------------------------------------

    def _named(self, path: str, qualname: str, name: str) -> Iterator[Node]:
        """Give the elements in which a name occurs in a way that may mean this one."""
        if "." not in qualname:
            for user_path in self.index.files.get(name, ()):
                for use in self.index.uses(user_path, name):
                    if self._means(use, user_path, path, name, member=False):
                        yield from _as_nodes(user_path, use)
        else:
            yield from self._named_members(name)
            if path in self.index.shapes:
                for use in self.index.uses(path, name):
                    if use.text == name:
                        yield from _as_nodes(path, use)
        yield from self._named_in_part(name)

    def _named_members(self, name: str) -> frozenset[Node]:
        """Give the elements that use an attribute; whose, nobody can tell."""
        found = self._known_members.get(name)
        if found is None:
            found = self._known_members[name] = frozenset(
                node
                for user_path in self.index.files.get(name, ())
                for use in self.index.uses(user_path, name)
                if self._means(use, user_path, "", name, member=True)
                for node in _as_nodes(user_path, use)
            )
        return found

    def _named_in_part(self, name: str) -> frozenset[Node]:
        """Give the elements that build names which may come out as this one."""
        found = self._known_parts.get(name)
        if found is None:
            nodes: set[Node] = set()
            for pattern, paths in self.index.patterns.items():
                start, _, end = pattern.partition("*")
                if name.startswith(start) and name.endswith(end):
                    for user_path in paths:
                        for use in self.index.uses(user_path, pattern):
                            nodes.update(_as_nodes(user_path, use))
            found = self._known_parts[name] = frozenset(nodes)
        return found

    def _means(  # noqa: C901, PLR0911 - one way to write a use after the other
        self, use: Use, user_path: str, path: str, name: str, *, member: bool
    ) -> bool:
        """Tell whether a use of a name may mean a name of `path`."""
        text = use.text
        if text[0] == "=":
            return False
        if text[0] == ".":
            return True
        root, *rest = text.split(".")
        if not rest:
            if user_path == path:
                return True
            return not self.index.defines(user_path, name) and self.index.executes(user_path)
        if root == "self":
            return member or root in self.index.bindings(user_path)
        if root == name and not member and user_path == path:
            return True
        if name not in rest:
            return False
        if self.index.is_external(user_path, root):
            return False
        if name == rest[0] and (modules := self._modules(user_path, root)):
            known = [it for it in modules if self.index.defines(it, name)]
            if len(known) == len(modules):
                return not member and path in modules
        return True

    def _modules(self, path: str, name: str) -> frozenset[str]:
        """Give the files of the modules that a name is bound to, where it is bound to nothing else."""
        if not self.index.is_module(path, name):
            return frozenset()
        targets = self.index.bindings(path)[name]
        found = [self.index.modules(path, it) for it in targets]
        return frozenset().union(*found) if all(found) else frozenset()

    def _bound(self, path: str, name: str) -> Iterator[Node]:
        """Give the names in other files that imports bind to this one."""
        for user_path in self.index.files.get(name, ()):
            for alias, targets in self.index.bindings(user_path).items():
                for target in targets:
                    module, _, source = target.partition(":")
                    if source == name:
                        paths, own = self.index.resolve(user_path, module)
                        if path in paths or (own and not self._elsewhere(paths, name)):
                            yield user_path, alias
        for user_path in self.index.stars:
            if user_path != path:
                for star in self.index.shapes[user_path].stars:
                    paths, own = self.index.resolve(user_path, star)
                    if path in paths or (own and not paths):
                        yield user_path, name

    def _elsewhere(self, paths: frozenset[str], name: str) -> bool:
        """Tell whether all of the files bind a name themselves."""
        return bool(paths) and all(
            self.index.defines(it, name) or not self._opaque(it) for it in paths
        )

    def _opaque(self, path: str) -> bool:
        """Tell whether a module may have names that its source does not bind."""
        shape = self.index.shapes.get(path)
        if (
            shape is None
            or shape.problem
            or shape.stars
            or "__getattr__" in self.index.elements(path)
        ):
            return True
        return any(it.dynamic for it in shape.elements)

    # --- users without a name -------------------------------------------------------------------------------------

    def _through_class(
        self, path: str, qualname: str, name: str, element: Element | None
    ) -> Iterator[Node]:
        """Give the class, where its members run without being named."""
        owner = qualname.rpartition(".")[0]
        decorated = element is not None and not all(
            self.index.is_pure(path, it) for it in element.decorators
        )
        if (
            element is None
            or decorated
            or is_implicit(name)
            or self._is_collected(name)
            or path in self._support
            or self._is_called_by_bases(path, owner)
        ):
            yield path, owner
        if name in _DEFINING or self._is_metaclass(path, owner):
            for user_path, _ in self._subclasses(path, owner):
                yield user_path, MODULE

    def _is_collected(self, name: str) -> bool:
        """Tell whether pytest takes a method of this name for a test."""
        return any(
            name.startswith(it) or fnmatch.fnmatchcase(name, it)
            for it in self.layout.settings.python_functions
        )

    def _is_called_by_bases(self, path: str, qualname: str) -> bool:
        """Tell whether a base (or a decorator) of a class may call its members by names that are not seen here."""
        key = (path, qualname)
        if key in self._looked_into:
            return True
        if key not in self._called_by_bases:
            self._called_by_bases[key] = False
            self._called_by_bases[key] = self._bases_call(path, qualname)
        return self._called_by_bases[key]

    @functools.cached_property
    def _looked_into(self) -> frozenset[Node]:
        """Give the classes whose members are got by computed names from `self`: in a subclass, or a base beside them."""
        parents: dict[Node, set[Node]] = {}
        children: dict[Node, set[Node]] = {}
        looking: set[Node] = set()
        for path in self.index.shapes:
            for element in self.index.elements(path).values():
                if "getattr self" in element.dynamic:
                    looking.add((path, element.qualname.rpartition(".")[0]))
        for path in self.index.shapes if looking else ():
            for element in self.index.classes(path):
                for base in element.bases:
                    if "=" not in base and not self.index.is_plain_base(path, base):
                        for hit in self.index.lookup(path, base):
                            parents.setdefault((path, element.qualname), set()).add(hit)
                            children.setdefault(hit, set()).add((path, element.qualname))
        return frozenset(_closed(_closed(looking, children), parents))

    def _bases_call(self, path: str, qualname: str) -> bool:
        element = self.index.elements(path).get(qualname)
        if element is None:
            return True
        if any(it.dynamic for it in (element, *self.index.members(path, qualname))):
            return True
        for decorator in element.decorators:
            if not self.index.is_pure(path, decorator) and not self.index.lookup(path, decorator):
                return True
        for base in element.bases:
            if self.index.is_plain_base(path, base):
                continue
            keyword, found, value = base.rpartition("=")
            if found and keyword != "metaclass":
                continue
            hits = self.index.lookup(path, value)
            if not hits or any(self._is_called_by_bases(*hit) for hit in hits):
                return True
        return False

    def _is_metaclass(self, path: str, qualname: str, seen: frozenset[Node] = frozenset()) -> bool:
        element = self.index.elements(path).get(qualname)
        if element is None or (path, qualname) in seen:
            return False
        for base in element.bases:
            if "=" in base:
                continue
            last = base.rpartition(".")[2]
            if last == "type" or last.endswith(("Meta", "MetaClass", "Metaclass", "Type")):
                return True
            if any(
                self._is_metaclass(*hit, seen | {(path, qualname)})
                for hit in self.index.lookup(path, base)
            ):
                return True
        return False

    def _subclasses(self, path: str, qualname: str) -> set[Node]:
        """Give the classes that are defined with a class as base or metaclass, or as part of an annotation."""
        found: set[Node] = set()
        stack = [(path, qualname)]
        while stack:
            node = stack.pop()
            name = node[1].rpartition(".")[2]
            users = set(self._named(*node, name))
            if "." not in node[1]:
                users.update(self._bound(node[0], name))
            for user in users - found:
                element = self.index.elements(user[0]).get(user[1])
                if user[1] == EXAMPLES:
                    found.add(user)
                elif element is None or element.kind is ElementKind.CLASS:
                    found.add(user)
                    stack.append(user)
        return found

    def _through_registry(self, path: str, element: Element) -> Iterator[Node]:
        """Give what may find a class in a list of classes: the base that keeps it, whoever asks for subclasses."""
        for base in element.bases:
            if self.index.is_plain_base(path, base):
                continue
            for hit in self.index.lookup(path, base.rpartition("=")[2]):
                if "metaclass=" in base or self._registers(*hit):
                    yield hit
        if element.bases:
            for user_path in self.index.files.get("__subclasses__", ()):
                for use in self.index.uses(user_path, "__subclasses__"):
                    yield from _as_nodes(user_path, use)

    def _registers(self, path: str, qualname: str, depth: int = 0) -> bool:
        """Tell whether a class learns of its subclasses."""
        element = self.index.elements(path).get(qualname)
        if element is None or depth > _DEEPEST:
            return False
        if f"{qualname}.__init_subclass__" in self.index.elements(path):
            return True
        return any(
            ("metaclass=" in base and not self.index.is_plain_base(path, base))
            or any(
                self._registers(*hit, depth + 1)
                for hit in self.index.lookup(path, base.rpartition("=")[2])
            )
            for base in element.bases
        )

    def _through_decorators(self, path: str, qualname: str, element: Element) -> Iterator[Node]:
        """Give what a decorator may have made known: users of the registrar, else importers of the file."""
        owner = qualname.rpartition(".")[0]
        for decorator in element.decorators:
            if self.index.is_pure(path, decorator):
                continue
            root, _, rest = decorator.partition(".")
            if owner and f"{owner}.{root}" in self.index.elements(path):
                yield path, f"{owner}.{root}"
            elif self._is_registrar(path, root, by_attribute=bool(rest)):
                yield from self.index.origins(path, root)
            elif hits := self.index.lookup(path, decorator) - {(path, qualname)}:
                for hit in hits:
                    yield from self._kept_by(*hit)
                if any(self._calls_argument(*hit) for hit in hits):
                    yield path, MODULE
            else:
                yield path, MODULE

    def _is_registrar(self, path: str, root: str, *, by_attribute: bool) -> bool:
        """Tell whether a name stands for an object of the project that may keep what it decorates."""
        if self.index.is_module(path, root) or self.index.is_external(path, root):
            return False
        origins = self.index.origins(path, root)
        if any(name in self.index.aliases(it) for it, name in origins):
            return True
        return by_attribute and any(self.index.defines(it, name) for it, name in origins)

    def _calls_argument(self, path: str, qualname: str) -> bool:
        """Tell whether a decorator of the project calls what it is given before it returns."""
        return any(
            it.startswith("call ") for own in self._takers(path, qualname) for it in own.writes
        )

    def _takers(self, path: str, qualname: str) -> list[Element]:
        """Give what runs when a decorator is applied."""
        elements = self.index.elements(path)
        names = (qualname, *(f"{qualname}.{it}" for it in ("__new__", "__init__", "__call__")))
        return [elements[it] for it in names if it in elements]

    def _kept_by(self, path: str, qualname: str) -> Iterator[Node]:
        """Give what looks into the module-level names in which a decorator of the project stores something."""
        elements = self.index.elements(path)
        own = self._takers(path, qualname)
        helpers = [elements[use] for it in own for use in it.uses if use in elements]
        for it in (*own, *helpers):
            for name in it.writes:
                if name != qualname and self.index.defines(path, name):
                    for user in self._users((path, name)):
                        if user[0] != path or not f"{user[1]}.".startswith(f"{qualname}."):
                            yield user

    @functools.cached_property
    def _getters(self) -> tuple[Node, ...]:
        """Give the elements that get members by computed names: of whatever object they are given."""
        return tuple(
            (path, it.qualname)
            for path, shape in self.index.shapes.items()
            for it in shape.elements
            if not _GETTING.isdisjoint(it.dynamic)
        )

    def _dynamic(self, path: str) -> list[Node]:
        """Give the elements near a file that look names up which do not stand in the source."""
        if self._near is None:
            self._near = {}
            for user_path, shape in self.index.shapes.items():
                found = [
                    (user_path, it.qualname)
                    for it in shape.elements
                    if it.dynamic not in {(), ("getattr self",)}
                ]
                if found:
                    for near in {user_path, *self._imported(user_path)}:
                        self._near.setdefault(near, []).extend(found)
        return self._near.get(path, [])

    def _through_module(self, path: str) -> frozenset[Node]:
        """Give the elements that may get any name of a module: they look names up in it, or run text."""
        found = self._known_holders.get(path)
        if found is None:
            nodes: set[Node] = set()
            for user_path, alias in self.index.importers_of(path):
                for use in self.index.uses(user_path, alias):
                    if use.text == alias:
                        nodes.update(self._given_by(user_path, use.user))
            for user_path, qualname in self._dynamic(path):
                dynamic = self.index.elements(user_path)[qualname].dynamic
                if (
                    ("exec" in dynamic and user_path == path)
                    or ("imports" in dynamic and not _LOOKS.isdisjoint(dynamic))
                    or ("members" in dynamic and user_path == path)
                ):
                    nodes.add((user_path, qualname))
            found = self._known_holders[path] = frozenset(nodes)
        return found

    def _given_by(self, path: str, user: str) -> frozenset[Node]:
        """Give what may look names up in a module that an element has as a value: itself, or what it calls."""
        found = self._known_given.get((path, user))
        if found is None:
            element = self.index.elements(path).get(user)
            nodes: set[Node] = set()
            if element is not None:
                nodes.add((path, user))
                for text in (*element.uses, *element.head_uses):
                    if text[0] not in ".=":
                        nodes |= self.index.lookup(path, text)
            found = self._known_given[path, user] = frozenset(
                (it, name)
                for it, name in nodes
                if not _LOOKS.isdisjoint(self.index.elements(it)[name].dynamic)
            )
        return found

    def _imported(self, path: str) -> Iterator[str]:
        """Give the files that a file imports directly."""
        for targets in self.index.bindings(path).values():
            for target in targets:
                yield from self.index.modules(path, target)
                yield from self.index.resolve(path, target.partition(":")[0])[0]
        for star in self.index.shapes[path].stars:
            yield from self.index.resolve(path, star)[0]
        value = self.index.imports.get(path)
        if value is not None:
            for name in (*value.names, *value.strings):
                yield from self.index.resolve(path, name)[0]
            for prefix in value.prefixes:
                yield from self.index.below(prefix)
            if value.dynamic:
                yield from self.index.shapes

    # --- what pytest calls ----------------------------------------------------------------------------------------

    def _asked_by_pytest(  # noqa: C901 - fixtures and hooks
        self, path: str, name: str, element: Element | None
    ) -> Iterator[Node]:
        decorators = element.decorators if element is not None else ()
        fixture = any(it.rpartition(".")[2].endswith("fixture") for it in decorators)
        given = self._fixture_names(path, name)
        special = path in self._conftests or path in self._tests or path in self._support
        if fixture or given or (element is None and special):
            for asked in (name, *given):
                for user_path in self.index.files.get(f"={asked}", ()):
                    if self._sees(user_path, path):
                        for use in self.index.uses(user_path, f"={asked}"):
                            yield user_path, use.user
            for user_path, user in self._fixture_getters:
                if self._sees(user_path, path):
                    yield user_path, user
        everyone = name.startswith("pytest_") and (
            element is None or element.kind is ElementKind.FUNCTION
        )
        if AUTOUSE in decorators or everyone:
            for test in self._tests:
                if self._sees(test, path):
                    yield test, ""

    def _fixture_names(self, path: str, name: str) -> set[str]:
        """Give the names by which tests ask for a fixture that has another one than its function."""
        return {
            alias
            for here, known in self.index.origins(path, name)
            for alias, used in self.index.aliases(here).items()
            if "=fixture" in used and (known == alias or known in used)
        }

    @functools.cached_property
    def _fixture_getters(self) -> tuple[Node, ...]:
        """Give the elements that ask for fixtures by computed names."""
        return tuple(
            (path, it.qualname)
            for path, shape in self.index.shapes.items()
            for it in shape.elements
            if "fixtures" in it.dynamic
        )

    def _sees(self, user_path: str, path: str) -> bool:
        """Tell whether pytest offers the fixtures and hooks of one file to another."""
        if path in self._conftests:
            folder = posixpath.dirname(path)
            return not folder or user_path.startswith(f"{folder}/")
        return path not in self._tests or user_path == path

    # --- state ----------------------------------------------------------------------------------------------------

    def keeps_state(self, path: str, qualname: str) -> str:
        """Say why what a function does outlives a call; empty where it does not."""
        return self._outliving.reasons(path, qualname)

    def makers(self, path: str, qualname: str) -> frozenset[Node]:
        """Give the functions one of which runs for each instance of a class; none where none need do so."""
        return self._outliving.makers(path, qualname)

    def lives_on(self, path: str, qualname: str) -> bool:
        """Tell whether a module-level name may hold an instance of a class, by names alone."""
        return self._outliving.lives_on(path, qualname)


def _as_nodes(path: str, use: Use) -> Iterator[Node]:
    """Give the nodes of a use: what is used in a head runs at import, and stays with the element."""
    if use.user not in {MODULE, EXAMPLES} or not use.head:
        yield path, use.user
    if use.head:
        yield path, MODULE


def _closed(starts: Iterable[Node], steps: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """Give what steps lead to from some nodes, these included."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        for node in steps.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def _chain(node: Node, before: Mapping[Node, Node | None]) -> tuple[str, ...]:
    found = []
    step: Node | None = node
    while step is not None:
        path, qualname = step
        if step != _COMPUTED:
            found.append(path if qualname in {MODULE, EXAMPLES, ""} else f"{path}::{qualname}")
        step = before[step]
    return tuple(dict.fromkeys(reversed(found)))
