"""From lines or code objects that ran to the functions whose bodies they are, by the names that the selector uses.

A function is what a module or class defines, under whatever `if`, `try` or loop; what is nested in one belongs to it.
"""

import ast
from typing import Dict, List, Set, Tuple, Union

Code = Tuple[int, str, bool]

_HOLDERS = ("body", "orelse", "finalbody", "handlers", "cases")


class Table:
    """Which function each line of one file belongs to."""

    def __init__(self, source: Union[bytes, str]) -> None:
        """Read a file's source; raises what `ast.parse` does."""
        tree = ast.parse(source)
        self.names: List[str] = []
        self._known: Dict[str, int] = {}
        self._owner: Dict[int, int] = {}
        self._shared: Set[int] = set()
        self._begins: Dict[Tuple[int, str], int] = {}
        self._codes: Dict[Code, Tuple[int, bool]] = {}
        self._walk(tree.body, "")

    def resolve(self, ran: Union[Set[int], Set[Code]]) -> Tuple[Set[int], bool]:
        """Give the indexes of the functions that ran, and whether module code did.

        `ran` are lines, or code objects by their first line, their name and whether they are or lie in a function.
        """
        if ran and isinstance(next(iter(ran)), tuple):
            return self._resolve_codes(ran)
        return self._resolve_lines(ran)

    def _resolve_codes(self, ran):
        found, module = set(), False
        for code in ran:
            place = self._codes.get(code)
            if place is None:
                place = self._codes[code] = self._place(*code)
            found.add(place[0])
            module = module or place[1]
        found.discard(-1)
        return found, module

    def _place(self, first, name, function):
        """Give the function that a code object belongs to, -1 for none, and whether it may be module code."""
        if not function:
            return -1, True  # a module, or the body of a class
        begins = self._begins.get((first, name))
        if begins is not None:
            return begins, False
        # It is nested in a function, or what a lambda or a generator at module level is.
        owner = self._owner.get(first, -1)
        return owner, owner < 0 or first in self._shared

    def _resolve_lines(self, lines):
        owner, shared = self._owner, self._shared
        found = {owner.get(line, -1) for line in lines}
        module = -1 in found or bool(shared and not shared.isdisjoint(lines))
        found.discard(-1)
        return found, module

    def _walk(self, statements, prefix):
        for node in statements:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, prefix + node.name)
            elif isinstance(node, ast.ClassDef):
                self._walk(node.body, prefix + node.name + ".")
            else:
                for field in _HOLDERS:
                    inner = getattr(node, field, None)
                    if isinstance(inner, list):
                        self._walk(inner, prefix)

    def _function(self, node, name):
        """Note a function's body lines; its header runs where it is defined."""
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(name)
        number = self._known[name]
        # A code object begins at its first decorator.
        for line in (node.lineno, *(one.lineno for one in node.decorator_list)):
            self._begins[line, node.name] = number
        first = node.body[0].lineno
        header = [node.lineno]
        header += [_last(default) for default in node.args.defaults]
        header += [_last(default) for default in node.args.kw_defaults if default is not None]
        if node.returns is not None:
            header.append(_last(node.returns))
        for line in range(first, _last(node) + 1):
            if line in self._owner:  # `def f(): return 1; ...` and its like share lines
                self._shared.add(line)
            self._owner[line] = number
        if max(header) >= first:
            self._shared.update(range(first, max(header) + 1))


def _last(node):
    return getattr(node, "end_lineno", None) or node.lineno
