"""What the documentation still shows in the old form, and what is public and new and said nowhere."""

from __future__ import annotations

import ast
import posixpath
import re
import tomllib
import warnings
from typing import TYPE_CHECKING, Final

from presubmit.change.definitions import read_source
from presubmit.review import docker
from presubmit.review.facts import before, packages_of, still_served, table
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.values import FileStatus, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from presubmit.review.facts import Facts, Said, Tree
    from presubmit.values import Definition

_SUFFIXES: Final = (".md", ".rst", ".txt", ".adoc", ".ipynb")
_HISTORY: Final = re.compile(
    r"(?i)change|history|news|release|whats_?new|migrat|upgrad|deprecat|licen[cs]e|authors|adr/|requirements|constraints"
)
_LARGEST: Final = 400_000
_DISTINCT: Final = 5
"""A shorter name may be a common word."""


class Gone(Value, frozen=True, kw_only=True):
    """Something that the change takes away or alters, and how to find it in a text."""

    kind: str
    what: str
    """In words: `port 8080 (now 9090)`."""
    patterns: tuple[str, ...]
    """Any of them in a line shows the old form."""
    subject: str


def remarks(facts: Facts) -> Iterable[Said]:
    """Compare what the change takes away with what head's documentation shows."""
    gone = [*_of_files(facts)]
    try:
        gone += _scripts(facts)
    except tomllib.TOMLDecodeError as error:
        yield Unchecked(
            rule="documentation", what="console scripts", why=f"pyproject.toml: {error}"
        )
    if gone:
        yield from _stale(facts, gone)
    yield from _undocumented(facts)


def _documents(tree: Tree) -> list[str]:
    """Give the files that tell users how things are; a changelog tells how they were."""
    return sorted(
        path
        for path in tree.blobs
        if path.endswith(_SUFFIXES)
        and not _HISTORY.search(path)
        and (
            posixpath.basename(path)
            .lower()
            .startswith(("readme", "contributing", "install", "usage"))
            or path.startswith(("docs/", "doc/", "documentation/"))
        )
    )


def _stale(facts: Facts, gone: list[Gone]) -> Iterator[Remark]:
    for path in _documents(facts.head):
        data = facts.head.data(path)
        if data is None or len(data) > _LARGEST:
            continue
        lines = data.decode("utf-8", "replace").splitlines()
        for one in gone:
            found = re.compile("|".join(one.patterns))
            number = next((n for n, line in enumerate(lines, start=1) if found.search(line)), None)
            if number is not None:
                yield Remark(
                    code=f"documentation.stale-{one.kind}",
                    severity=Severity.WARNING,
                    text=f"{path} still shows {one.what}",
                    why="who follows it gets an error, or something else than is told",
                    mend="tell it as it is now",
                    file=path,
                    line=number,
                    subject=one.subject,
                )


def _of_files(facts: Facts) -> Iterator[Gone]:
    variables: dict[str, str] = {}
    flags: dict[str, str] = {}
    for file in facts.change.files:
        base = facts.base.text(before(file)) or ""
        head = "" if file.status is FileStatus.DELETED else facts.head.text(file.path) or ""
        if docker.is_dockerfile(file.path) or docker.is_dockerfile(before(file)):
            yield from _of_dockerfile(base, head)
        if before(file).endswith(".py") and not _is_test(before(file)):
            old, new = _used(base), _used(head)
            variables |= {name: file.path for name in old.variables if name not in new.variables}
            flags |= {name: file.path for name in old.flags if name not in new.flags}
            yield from _defaults(old, new)
            yield from _names(facts, before(file), base, head)
    everywhere = _words(facts) if variables or flags else ""
    for name in variables:
        if name not in everywhere:
            yield Gone(
                kind="variable",
                what=f"the environment variable {name}, which nothing reads now",
                patterns=(rf"(?<![\w]){name}(?!\w)",),
                subject=name,
            )
    for name in flags:
        if not re.search(rf"{re.escape(name)}(?![\w-])", everywhere):
            yield Gone(
                kind="flag",
                what=f"the option {name}, which is gone",
                patterns=(rf"(?<![\w-]){re.escape(name)}(?![\w-])",),
                subject=name,
            )


def _words(facts: Facts) -> str:
    """Give all of head's code that may still use what one file uses no more."""
    sources = (
        p for p in facts.head.blobs if p.endswith((".py", ".sh", ".yml", ".yaml", ".toml", ".cfg"))
    )
    return "\n".join(facts.head.text(path) or "" for path in sources)


def _is_test(path: str) -> bool:
    return bool(re.search(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|conftest)\.py$", path))


# --- Dockerfiles ----------------------------------------------------------------------------------------------------


def _of_dockerfile(base: str, head: str) -> Iterator[Gone]:
    old, new = docker.stages(base), docker.stages(head)
    ports = _ports(new)
    for port in sorted(_ports(old) - ports):
        now = f" (now {', '.join(sorted(ports))})" if ports else ", which is not exposed now"
        yield Gone(
            kind="port",
            what=f"port {port}{now}",
            patterns=(
                rf"-p\s*(?:[\d.]+:)?(?:\d+:)?{port}(?!\d)",
                rf"(?<!\d):{port}(?!\d)",
                rf"\b(?i:port)[:= `]+{port}(?!\d)",
                rf"--(?:publish|port)[= ]\S*{port}(?!\d)",
            ),
            subject=port,
        )
    names = {
        name
        for stage in new
        for one in stage.of("ENV", "ARG")
        for name, _ in docker.assignments(one)
    }
    for stage in old:
        for one in stage.of("ENV", "ARG"):
            for name, _ in docker.assignments(one):
                if name not in names and len(name) >= _DISTINCT and name not in head:
                    yield Gone(
                        kind="variable",
                        what=f"the variable {name}, which the Dockerfile has no more",
                        patterns=(rf"(?<!\w){re.escape(name)}(?!\w)",),
                        subject=name,
                    )
    images = {stage.base.partition("@")[0] for stage in new}
    for stage in old:
        image = stage.base.partition("@")[0]  # a new digest of the same tag is told nowhere
        if ":" in image and image not in images and "$" not in image and new:
            yield Gone(
                kind="image",
                what=f"the image {image}, which is not the base now",
                patterns=(rf"(?<![\w/]){re.escape(image)}(?![\w-]|\.\w)",),
                subject=image,
            )


def _ports(stages: tuple[docker.Stage, ...]) -> set[str]:
    return {
        word.partition("/")[0]
        for stage in stages
        for one in stage.of("EXPOSE")
        for word in docker.fill(one.value, stage.environment()).split()
        if word.partition("/")[0].isdigit()
    }


# --- code -----------------------------------------------------------------------------------------------------------


class Used(Value, frozen=True, kw_only=True):
    """What a Python file takes from its surroundings."""

    variables: frozenset[str] = frozenset()
    flags: dict[str, str] = {}
    """Options of its command line, with their defaults as they are written."""


def _used(text: str) -> Used:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Used()
    variables: set[str] = set()
    flags: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(
                value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))
            ):
                variables.add(name)
            case ast.Call(
                func=ast.Attribute(attr="getenv" | "get" | "pop", value=owner),
                args=[ast.Constant(value=str(name)), *_],
            ):
                if "environ" in ast.unparse(owner) or ast.unparse(owner) == "os":
                    variables.add(name)
            case ast.Call(func=ast.Attribute(attr="add_argument" | "option")):
                flags |= _flags(node)
            case _:
                pass
    return Used(variables=frozenset(v for v in variables if len(v) >= _DISTINCT), flags=flags)


def _flags(call: ast.Call) -> dict[str, str]:
    default = next((ast.unparse(k.value) for k in call.keywords if k.arg == "default"), "")
    names = [
        a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
    ]
    every = (name for one in names for name in one.split("/"))
    return {name: default for name in every if re.match(r"--\w{2}", name)}


def _defaults(old: Used, new: Used) -> Iterator[Gone]:
    for name, default in old.flags.items():
        now = new.flags.get(name)
        value = default.strip("'\"")
        if now is None or now == default or not re.fullmatch(r"[\w./:-]{2,}", value):
            continue
        if value in {"None", "True", "False"}:
            continue
        shown = re.escape(value)
        yield Gone(
            kind="default",
            what=f"{value} as the default of {name} (now {now or 'none'})",
            patterns=(
                rf"{re.escape(name)}(?![\w-]).*(?i:default)[^.]{{0,40}}[\s:=`'\"(]{shown}(?!\w|\.\d)",
            ),
            subject=name,
        )


def _names(facts: Facts, path: str, base: str, head: str) -> Iterator[Gone]:
    """Give the public functions and classes that are gone from the project."""
    old = read_source(path, base.encode("utf-8", "surrogateescape")).definitions
    left = read_source(path, head.encode("utf-8", "surrogateescape"))
    if left.problem or not _package_of(facts, path):
        return
    names = {d.qualname for d in left.definitions}
    module = _package_of(facts, path)
    for one in old:
        if not one.public or one.kind == "module" or one.qualname in names or "<" in one.qualname:
            continue
        last = one.qualname.rpartition(".")[2]
        dotted = re.escape(one.qualname)
        if last.startswith("__") or _lives_on(facts, last):
            continue
        yield Gone(
            kind="name",
            what=f"{module}.{one.qualname}, which is gone",
            patterns=(
                rf"(?<![\w]){re.escape(module)}\.{dotted}(?!\w)",
                *(
                    (
                        rf"(?<![\w.`]){dotted}\(",
                        rf"auto(?:function|class|method|data)::\s*\S*\b{dotted}\s*$",
                    )
                    if len(last) >= _DISTINCT
                    else ()
                ),
            ),
            subject=f"{module}.{one.qualname}",
        )


def _lives_on(facts: Facts, name: str) -> bool:
    """Tell whether another changed file defines the name now: it has moved."""
    pattern = re.compile(
        rf"(?m)^\s*(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b|\bimport\b.*\b{re.escape(name)}\b|^{re.escape(name)}\s*[:=]"
    )
    return any(
        bool(pattern.search(text)) or still_served(text, name)
        for file in facts.change.files
        if file.path.endswith(".py") and (text := facts.head.text(file.path)) is not None
    )


def _package_of(facts: Facts, path: str) -> str:
    """Give the dotted name of a module inside one of the project's packages; empty for any other file."""
    for folder in packages_of(facts.base).values():
        if path.startswith(f"{folder}/"):
            inside = path.removeprefix(f"{posixpath.dirname(folder)}/".lstrip("/"))
            return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return ""


def _scripts(facts: Facts) -> Iterator[Gone]:
    """Give the commands that pyproject.toml installs no more."""
    if not any("pyproject.toml" in file.paths for file in facts.change.files):
        return
    old = table(tomllib.loads(facts.base.text("pyproject.toml") or ""), "project", "scripts")
    new = table(tomllib.loads(facts.head.text("pyproject.toml") or ""), "project", "scripts")
    for name in old:
        if name not in new:
            yield Gone(
                kind="command",
                what=f"the command {name}, which is not installed now",
                patterns=(
                    rf"^\s*(?:\$\s+|>\s+)?{re.escape(name)}(?=\s|$)",
                    rf"`{re.escape(name)}(?=[\s`])",
                ),
                subject=name,
            )


# --- what is new ----------------------------------------------------------------------------------------------------


def _undocumented(facts: Facts) -> Iterator[Remark]:
    """Find new public names without a docstring or an entry, where their neighbours have one."""
    documents: str | None = None
    for file in facts.change.files:
        if file.status is FileStatus.DELETED or not file.path.endswith(".py"):
            continue
        if _is_test(file.path) or not _package_of(facts, file.path):
            continue
        old = read_source(before(file), facts.base.data(before(file)) or b"").definitions
        now = read_source(file.path, facts.head.data(file.path) or b"").definitions
        known = {d.qualname for d in old}
        neighbours = [d for d in old if _is_told(d)]
        fresh = [d for d in now if _is_told(d) and d.qualname not in known]
        if not fresh or not neighbours:
            continue
        with_text = sum(d.docstring for d in neighbours)
        if documents is None:
            documents = "\n".join(facts.head.text(path) or "" for path in _documents(facts.head))
        listed = sum(_is_listed(d, documents) for d in neighbours)
        for one in fresh:
            if not one.docstring and with_text * 10 >= len(neighbours) * 9:
                yield _new(one, "no-docstring", "has no docstring, as its neighbours have")
            if (
                one.kind != "method"
                and listed * 10 >= len(neighbours) * 8
                and not _is_listed(one, documents)
            ):
                yield _new(one, "no-entry", "is named nowhere in the docs, as its neighbours are")


def _is_told(one: Definition) -> bool:
    last = one.qualname.rpartition(".")[2]
    return (
        one.public
        and one.kind != "module"
        and "<" not in one.qualname
        and not last.startswith("_")
    )


def _is_listed(one: Definition, documents: str) -> bool:
    last = one.qualname.rpartition(".")[2]
    return re.search(rf"(?<!\w){re.escape(last)}(?!\w)", documents) is not None


def _new(one: Definition, kind: str, text: str) -> Remark:
    return Remark(
        code=f"documentation.{kind}",
        severity=Severity.NOTE,
        text=f"{one.qualname} is new and public, and {text}",
        why="users do not find what is told nowhere",
        mend="document it, or start its name with `_`",
        file=one.path,
        line=one.first_line,
        subject=one.qualname,
    )
