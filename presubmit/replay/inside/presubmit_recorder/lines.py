"""From lines that ran to the functions whose bodies they are, by the names that the selector uses.

A function is what a module or class defines, under whatever `if`, `try` or loop; what is nested in one belongs to it.
"""

import ast
from typing import Dict, List, Set, Tuple, Union

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
        self._walk(tree.body, "")

    def resolve(self, lines: Set[int]) -> Tuple[Set[int], bool]:
        """Give the indexes of the functions of which a body line is among `lines`, and whether module code is."""
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
