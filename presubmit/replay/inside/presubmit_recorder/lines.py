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
        self._later: Set[int] = set()
        self._walk(tree.body, "")
        if tree.body and tree.body[0].lineno in self._later:
            self._later.clear()  # no line is sure to show that the module was imported
            self._shared.add(tree.body[0].lineno)

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
        # It is nested in a function, or a lambda at module level: the module itself shows by a code object of its own.
        return self._owner.get(first, -1), False

    def _resolve_lines(self, lines):
        owner = self._owner
        found = {owner[line] for line in lines if line in owner}
        module = any(
            line not in owner or line in self._shared for line in lines if line not in self._later
        )
        return found, module

    def _walk(self, statements, prefix):
        for node in statements:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, prefix + node.name)
                self._later.add(node.lineno)
                self._lambdas(node.args)
            elif isinstance(node, ast.ClassDef):
                self._walk(node.body, prefix + node.name + ".")
            else:
                for field in _HOLDERS:
                    inner = getattr(node, field, None)
                    if isinstance(inner, list):
                        self._walk(inner, prefix)
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr):
                    self._lambdas(part)

    def _lambdas(self, node):
        """Note the lines of lambdas: what runs there may be a call of one, long after the import."""
        for one in ast.walk(node):
            if isinstance(one, ast.Lambda):
                self._later.update(range(one.lineno, _last(one) + 1))

    def _function(self, node, name):
        """Note a function's body lines; its header runs where it is defined."""
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(name)
        number = self._known[name]
        # A code object begins at its first decorator.
        for line in (node.lineno, *(one.lineno for one in node.decorator_list)):
            self._begins[line, node.name] = number
        first = _first(node.body[0])
        header = [node.lineno]
        header += [_last(default) for default in node.args.defaults]
        header += [_last(default) for default in node.args.kw_defaults if default is not None]
        if node.returns is not None:
            header.append(_last(node.returns))
        for line in range(first, _last(node) + 1):
            if line in self._owner:  # `def f(): return 1; ...` and its like share lines
                self._shared.add(line)
            self._owner[line] = number
        if len(node.body) == 1 and ast.get_docstring(node, clean=False) is not None:
            # Of a docstring alone no line runs: a call shows on the line that defines it.
            self._owner[node.lineno] = number
        if max(header) >= first:
            self._shared.update(range(first, max(header) + 1))


def _first(node):
    return min((node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))))


def _last(node):
    return getattr(node, "end_lineno", None) or node.lineno
