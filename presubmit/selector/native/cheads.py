"""What stands before a brace or a semicolon in C and C++: a function's name, a class, a table, a declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from presubmit.selector.native.ctokens import Token, angle, closing_of, groups_of, outside_of
from presubmit.selector.native.elements import IMPLICIT

_ATTRIBUTES: Final = frozenset(
    {
        "__attribute__",
        "__declspec",
        "alignas",
        "noexcept",
        "decltype",
        "throw",
        "requires",
        "explicit",
        "_Alignas",
    }
)
CLASSES: Final = frozenset({"class", "struct", "union"})
RUN_ALONE: Final = frozenset(
    {"constructor", "__constructor__", "destructor", "__destructor__", "ifunc"}
)
MODULE_CALLS: Final = frozenset(
    {"PyModule_AddFunctions", "Py_InitModule", "Py_InitModule3", "Py_InitModule4"}
)
_TYPE_AND_NAME: Final = 2


@dataclass
class Scope:
    """What an opened brace belongs to, where that is a class or a namespace."""

    kind: str
    name: str = ""
    derived: bool = False


def without_attributes(head: list[Token]) -> list[Token]:
    """Drop `__attribute__((...))` and what is like it, and `template <...>`."""
    found: list[Token] = []
    at = 0
    while at < len(head):
        if head[at].text in _ATTRIBUTES and at + 1 < len(head) and head[at + 1].text == "(":
            at = closing_of(head, at + 1) + 1
        elif head[at].text == "template" and at + 1 < len(head) and head[at + 1].text == "<":
            at = angle(head, at + 1) + 1
        else:
            if head[at].kind != "directive":
                found.append(head[at])
            at += 1
    return found


def first_word(tokens: list[Token]) -> str:
    """Give the word that says what a declaration is, past `static` and the like."""
    skipped = {
        "typedef",
        "static",
        "const",
        "constexpr",
        "inline",
        "extern",
        "friend",
        "export",
        "volatile",
    }
    return next((it.text for it in tokens if it.text not in skipped), "")


def class_scope(head: list[Token]) -> Scope:
    """Give the scope that the head of a class opens."""
    words = [it.text for it in head]
    cut = words.index(":") if ":" in words else len(words)
    names = [it.text for it in head[:cut] if it.kind == "word" and it.text != "final"]
    return Scope("class", names[-1] if names else "", derived=cut < len(words))


def name_function(  # noqa: PLR0911 - one case for each kind of name
    plain: list[Token], scope: Scope | None
) -> tuple[tuple[str, ...], str]:
    """Give the names that a function may have, and why it is reached without being named."""
    groups = groups_of(plain)
    texts = [it.text for it in plain]
    first = plain[groups[0] - 1] if groups[0] else Token("operator", "")
    name = first.text if first.kind == "word" else "?"
    if "operator" in texts:
        return ("operator",), "an operator"
    if first.kind != "word":
        return (name,), "a function whose name cannot be told"
    if groups[0] == 1:
        return (name,), "a constructor, or a function that a macro makes"
    before = texts[groups[0] - 2]
    if before == "~":
        return (name,), "a destructor"
    if before == "::":
        owner = texts[groups[0] - 3] if groups[0] > 2 else ""  # noqa: PLR2004 - `A :: name (`
        if owner in {name, ">"}:
            return (name,), "a constructor, or a member of a template"
    if scope is not None and name == scope.name:
        return (name,), "a constructor"
    if ":" in texts[groups[0] :]:
        return (name,), "a constructor"
    names = [plain[at - 1].text for at in groups if plain[at - 1].kind == "word"]
    return tuple(dict.fromkeys(names)), ""


def in_class(plain: list[Token], scope: Scope | None) -> bool:
    """Tell a function of a class, by its scope or its qualified name."""
    return scope is not None or any(it.text == "::" for it in plain[: groups_of(plain)[0]])


def called_unnamed(names: tuple[str, ...], scope: Scope | None) -> str:
    """Say why a function is called by whoever does not name it; empty where it is not."""
    if scope is not None and scope.derived:
        return "a method of a derived class"
    return "a method that C++ calls by itself" if IMPLICIT.intersection(names) else ""


def declared_name(head: list[Token]) -> str:  # noqa: PLR0911 - one case for each thing that looks alike
    """Give the name that a prototype declares; a macro's call, which looks alike, has no type before it."""
    plain = without_attributes(head)
    outside = [it.text for it in outside_of(plain)]
    groups = groups_of(plain)
    if (
        not groups
        or "=" in outside
        or "{" in outside
        or {"typedef", "using", "operator"} & {*outside}
    ):
        return ""
    at = groups[0]
    if (
        len(groups) > 1
        or at < _TYPE_AND_NAME
        or plain[at - 1].kind != "word"
        or closing_of(plain, at) != len(plain) - 1
    ):
        return ""
    before = plain[at - 2]
    if before.kind != "word" and before.text not in {"*", "&", ">"}:
        return ""
    if before.text in {"return", "new", "delete", "throw", "else", "goto"}:
        return ""
    inner = plain[at + 1 : -1]
    # `Type name(value);` is a variable that is constructed, and runs at import.
    if any(it.kind in {"string", "number", "char"} or it.text in {"(", "{", "."} for it in inner):
        return ""
    if inner and all(it.kind == "word" or it.text == "," for it in inner) and not _typed(inner):
        return ""
    return plain[at - 1].text


def _typed(inner: list[Token]) -> bool:
    """Tell `int a, long b` or `void` from `a, b`."""
    parts: list[list[Token]] = [[]]
    for token in inner:
        if token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    basic = {
        "void",
        "int",
        "char",
        "long",
        "short",
        "double",
        "float",
        "unsigned",
        "size_t",
        "bool",
        "Py_ssize_t",
    }
    return all(len(it) > 1 or (it and it[0].text in basic) for it in parts)


def is_method_table(head: list[Token]) -> bool:
    """Tell a table of methods or members that Python sees."""
    words = [it.text for it in head]
    return (
        "PyMethodDef" in words
        and "=" in words
        and "{" in words
        and words.index("PyMethodDef") < words.index("=")
    )


def entries_of(head: list[Token], outside: list[Token]) -> list[list[Token]]:
    """Split a table's braces; what stands between the entries goes to `outside`."""
    start = next(at for at, it in enumerate(head) if it.text == "{" and it.kind == "operator")
    end = closing_of(head, start)
    outside += head[: start + 1]
    found: list[list[Token]] = []
    at = start + 1
    while at < end:
        if head[at].text == "{" and head[at].kind == "operator":
            close = closing_of(head, at)
            found.append(head[at : close + 1])
            at = close + 1
        else:
            outside.append(head[at])
            at += 1
    outside += head[end:]
    return found
