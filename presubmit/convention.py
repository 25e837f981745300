"""What a project's own files say about how it is built, tested, linted and documented.

Everything here is pure: a project is the paths of its tree and a function that gives a file's text.
Sources: the packaging user guide (pyproject.toml, PEP 517, 518, 621, 735, 660) and pip's requirements file format.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.errors import ConfigError
from presubmit.selector.layout import CONFIG_NAMES, make_settings
from presubmit.values import Requirements, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

_TEST_NAMES: Final = ("tests", "test", "testing", "dev")
_REQUIREMENT_FILES: Final = (
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "test/requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
    "requirements.txt",
)
LOCK_FILES: Final[Mapping[str, str]] = {
    "uv.lock": "package",
    "pylock.toml": "packages",
    "poetry.lock": "package",
    "pdm.lock": "package",
}
"""The lock files that are read, the first one wins; and the table that their packages stand in."""
_NATIVE_SUFFIXES: Final = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".cu",
        ".cuh",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".inl",
        ".pyx",
        ".pxd",
        ".pxi",
        ".f",
        ".f90",
        ".rs",
        ".s",
        ".asm",
    ]
)
_BUILD_FILES: Final = (
    "setup.py",
    "pyproject.toml",
    "meson.build",
    "CMakeLists.txt",
    "Cargo.toml",
    "setup.cfg",
)
_DECLARES_EXTENSION: Final = re.compile(
    r"\bext_modules\b|\bExtension\s*\(|\bPybind11Extension\b|\bcythonize\s*\(|extension_module\s*\("
    r"|\bpybind11_add_module\b|\bnanobind_add_module\b|\bpython_add_library\b|\bext-modules\b"
    r"|\bPython3?_add_library\b|\bpyo3\b|\bRustExtension\b|\bcffi_modules\b",
    re.IGNORECASE,
)


class Project(Value, frozen=True, kw_only=True):
    """A project's paths and its parsed pyproject.toml (empty where there is none)."""

    paths: frozenset[str]
    pyproject: dict[str, Any]

    def table(self, *names: str) -> dict[str, Any]:
        """Give a table of pyproject.toml, empty where it is absent or no table."""
        found: Any = self.pyproject
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}


def read_project(paths: Iterable[str], read: Callable[[str], str | None]) -> Project:
    """Parse pyproject.toml, where there is one. Raises ConfigError where it is not TOML."""
    text = read("pyproject.toml")
    try:
        pyproject = tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"pyproject.toml is not TOML: {error}", hint="mend the file") from error
    return Project(paths=frozenset(paths), pyproject=pyproject)


# --- build ----------------------------------------------------------------------------------------------------------


class Backend(Value, frozen=True, kw_only=True):
    """A PEP 517 build backend: `name` is `setuptools.build_meta`, paths are relative to the project."""

    name: str
    path: tuple[str, ...]
    requires: tuple[str, ...]
    origin: str


def build_backend(project: Project) -> Backend | None:
    """Find the build backend; None where the project has nothing that could be installed."""
    system = project.table("build-system")
    if "build-backend" in system:
        return Backend(
            name=str(system["build-backend"]),
            path=tuple(system.get("backend-path", ())),
            requires=tuple(system.get("requires", ())),
            origin="pyproject.toml [build-system]",
        )
    if system or "setup.py" in project.paths or (project.table("project")):
        # PEP 517: without a backend, pip uses setuptools as a direct `setup.py` call would.
        return Backend(
            name="setuptools.build_meta:__legacy__",
            path=(),
            requires=tuple(system.get("requires", ("setuptools", "wheel"))),
            origin="convention: setuptools (PEP 517's default)",
        )
    return None


def native_sources(project: Project, read: Callable[[str], str | None]) -> tuple[str, ...]:
    """Say why extension modules are expected: each native source, once a build file declares a module."""
    declared = [
        path
        for path in sorted(project.paths)
        if posixpath.basename(path) in _BUILD_FILES
        and not _is_test_path(path)
        and _DECLARES_EXTENSION.search(read(path) or "")
    ]
    if not declared:
        return ()
    sources = [p for p in sorted(project.paths) if is_native(p) and not _is_test_path(p)]
    return (*declared, *sources)


def is_native(path: str) -> bool:
    """Whether a file is compiled: C, C++, CUDA, Cython, Fortran, Rust, assembler, and their headers."""
    return posixpath.splitext(path)[1].lower() in _NATIVE_SUFFIXES


def is_build_file(path: str, triggers: Sequence[str] = ()) -> bool:
    """Whether a change of this file can change what a build does, whatever the sources say."""
    name = posixpath.basename(path)
    return (
        name in _BUILD_FILES
        or name in {"MANIFEST.in", "meson_options.txt", "meson.options", "Cargo.lock"}
        or path.endswith((".cmake", ".in"))
        or any(fnmatch.fnmatch(path, pattern) for pattern in triggers)
    )


def _is_test_path(path: str) -> bool:
    return path.split("/", maxsplit=1)[0] in {
        "test",
        "tests",
        "testing",
        "docs",
        "doc",
        "examples",
        "benchmarks",
    }


# --- tests ----------------------------------------------------------------------------------------------------------


ORIGIN: Final = "convention: "
"""How the origin of an option begins that a tree's own files call for."""


def test_command(
    paths: Collection[str], read: Callable[[str], str | None]
) -> tuple[tuple[str, ...], str] | None:
    """Give the command of the tests with its origin where it is not pytest: for a site of Django without pytest's files."""
    if "DJANGO_SETTINGS_MODULE" not in (read("manage.py") or "") or "conftest.py" in paths:
        return None
    texts = {str(name): read(name) or "" for name in CONFIG_NAMES if name in paths}
    if make_settings(texts)[0].source:
        return None
    return ("python", "manage.py", "test"), f"{ORIGIN}manage.py"


# --- requirements ---------------------------------------------------------------------------------------------------


class TestRequirements(Value, frozen=True, kw_only=True):
    """What has to be installed to test the project."""

    together: tuple[Requirements, ...]
    local: tuple[str, ...]
    constraints: Requirements | None
    constraint_files: tuple[str, ...]
    dynamic_extras: tuple[str, ...]


def test_requirements(
    project: Project,
    read: Callable[[str], str | None],
    *,
    extras: Sequence[str],
    groups: Sequence[str],
    files: Sequence[str],
    packages: Sequence[str],
    constraints: Requirements | None,
) -> TestRequirements:
    """Gather dependencies, test extras, test groups and test requirement files; pytest is always among them.

    Named extras, groups and files must exist (ConfigError); unnamed ones are found by the usual names, a group
    before an extra before a file. Paths, URLs and repositories are kept apart as `local`.
    `constraints` are those of a lock file (`lock_constraints`).
    """
    gathered: list[Requirements] = []
    table = project.table("project")
    static = [str(line) for line in table.get("dependencies", ())]
    if static:
        gathered.append(Requirements(origin="pyproject.toml [project]", lines=tuple(static)))
    dynamic = table.get("dynamic", ()) if table else ("dependencies", "optional-dependencies")
    dynamic_extras: tuple[str, ...] = ()
    found = False
    for group in groups or _first(_TEST_NAMES, project.table("dependency-groups")):
        lines = tuple(group_lines(project, group))
        gathered.append(Requirements(origin=f"dependency group {group}", lines=lines))
        found = True
    if "optional-dependencies" in dynamic:
        dynamic_extras = tuple(extras) or (() if found else _TEST_NAMES[:3])
    else:
        optional = project.table("project", "optional-dependencies")
        named = extras or (() if found else _first(_TEST_NAMES, optional))
        for extra in named:
            lines = tuple(extra_lines(project, extra))
            gathered.append(Requirements(origin=f"extra {extra}", lines=lines))
            found = True
    wanted = files or (() if found else _first(_REQUIREMENT_FILES, project.paths))
    for path in wanted:
        lines = tuple(requirement_file_lines(path, read))
        gathered.append(Requirements(origin=path, lines=lines))
    gathered.append(Requirements(origin="config build.packages", lines=tuple(packages)))
    return _sorted_out(gathered, dynamic_extras, constraints)


def _sorted_out(
    gathered: Sequence[Requirements],
    dynamic_extras: tuple[str, ...],
    constraints: Requirements | None,
) -> TestRequirements:
    local: list[str] = []
    plain: list[str] = []
    apart: list[Requirements] = []
    origins: list[str] = []
    files: list[str] = []
    for requirements in gathered:
        files += [line[3:] for line in requirements.lines if line.startswith("-c ")]
        remote = [
            line
            for line in requirements.lines
            if not is_local_requirement(line) and not line.startswith("-c ")
        ]
        local += [line for line in requirements.lines if is_local_requirement(line)]
        if any("--hash" in line for line in remote):
            # pip wants a hash for every line as soon as one has it: such a file is installed by itself.
            apart.append(Requirements(origin=requirements.origin, lines=tuple(remote)))
        elif remote:
            plain += [line for line in dict.fromkeys(remote) if line not in plain]
            origins.append(requirements.origin)
    names = {
        _name_of(line)
        for r in (*apart, Requirements(origin="", lines=tuple(plain)))
        for line in r.lines
    }
    if "pytest" not in names:
        plain.append("pytest")
        origins.append("pytest")
    together = Requirements(origin=", ".join(origins), lines=tuple(plain))
    return TestRequirements(
        together=(*apart, together),
        local=tuple(dict.fromkeys(local)),
        constraints=constraints,
        constraint_files=tuple(dict.fromkeys(files)),
        dynamic_extras=dynamic_extras,
    )


def group_lines(project: Project, group: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Give a dependency group's requirement lines, included groups expanded (PEP 735)."""
    groups = {canonicalize_name(k): v for k, v in project.table("dependency-groups").items()}
    wanted = canonicalize_name(group)
    if wanted not in groups or wanted in seen:
        why = "includes itself" if wanted in seen else "is not in pyproject.toml"
        raise ConfigError(f"the dependency group `{group}` {why}", hint="see [dependency-groups]")
    if not isinstance(groups[wanted], list):
        raise ConfigError(
            f"the dependency group `{group}` is no list", hint="see [dependency-groups]"
        )
    for entry in groups[wanted]:
        if isinstance(entry, str):
            yield from _expanded(project, entry)
        elif isinstance(entry, dict) and "include-group" in entry:
            yield from group_lines(project, str(entry["include-group"]), (*seen, wanted))


def extra_lines(project: Project, extra: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Give an extra's requirement lines; `own-name[other]` is expanded."""
    optional = {
        canonicalize_name(k): v
        for k, v in project.table("project", "optional-dependencies").items()
    }
    wanted = canonicalize_name(extra)
    if wanted not in optional:
        raise ConfigError(
            f"the extra `{extra}` is not in pyproject.toml",
            hint="see [project.optional-dependencies]",
        )
    if wanted in seen:
        return
    for line in optional[wanted]:
        yield from _expanded(project, str(line), (*seen, wanted))


def _expanded(project: Project, line: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Replace the project's own name, with extras, by what those extras hold."""
    own = project.table("project").get("name")
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        yield line
        return
    if own is None or canonicalize_name(requirement.name) != canonicalize_name(str(own)):
        yield line
        return
    for extra in sorted(requirement.extras):
        yield from extra_lines(project, extra, seen)


def requirement_file_lines(
    path: str, read: Callable[[str], str | None], seen: tuple[str, ...] = ()
) -> Iterator[str]:
    """Give a requirement file's lines: comments dropped, continuations joined, `-r` and `-c` followed.

    A constraint file comes out as one `-c <path>` line, relative to the project.
    """
    text = read(path)
    if text is None:
        raise ConfigError(
            f"the requirement file {path} is not in the tree", hint="see [build] requirements"
        )
    folder = posixpath.dirname(path)
    for line in _logical_lines(text):
        named = _NAMES_A_FILE.match(line)
        if named is None:
            yield line
            continue
        inner = posixpath.normpath(posixpath.join(folder, line[named.end() :].strip()))
        if named.group().lstrip("-").startswith("c"):
            yield f"-c {inner}"
        elif inner not in seen:
            yield from requirement_file_lines(inner, read, (*seen, path))


_NAMES_A_FILE: Final = re.compile(r"-[rc]\s*|--(?:requirement|constraint)(?:=|\s+)")


def _logical_lines(text: str) -> Iterator[str]:
    # A comment does not go on in the next line, whatever it ends with.
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    for raw in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s+)#.*$", "", raw).strip()
        if line:
            yield line


def is_local_requirement(line: str) -> bool:
    """Whether installing this line runs code that is not from the package index: a path, URL or repository."""
    if line.startswith(("-e", "--editable")):
        return True
    return not line.startswith("-") and _LOCAL.match(line) is not None


_LOCAL: Final = re.compile(
    r"[./~]"  # a path
    r"|[\w.-]+\+"  # git+https:, git+git@
    r"|[\w.+-]+://|file:"
    r"|[\w.-]+\s*(?:\[[^\]]*\]\s*)?@"  # PEP 508: name @ URL
    r"|[^;#@\[<>=!~\s]*/"
    r"|[^;#@\[<>=!~\s]+\.(?:whl|zip|tar\.\w+|tgz)\s*(?:;|$)"
)


def lock_constraints(project: Project, read: Callable[[str], str | None]) -> Requirements | None:
    """Read the versions that a lock file pins (uv.lock, poetry.lock, pdm.lock, pylock.toml) as constraints.

    A package that is locked at several versions (split by marker) is left out: which one holds depends on the
    interpreter.
    """
    for name, table in LOCK_FILES.items():
        if name not in project.paths:
            continue
        try:
            locked = tomllib.loads(read(name) or "").get(table, [])
        except tomllib.TOMLDecodeError:
            continue
        versions: dict[str, set[str]] = {}
        for package in locked if isinstance(locked, list) else ():
            if not isinstance(package, dict):
                continue
            source = package.get("source", {})
            editable = isinstance(source, dict) and {"editable", "virtual", "directory"} & set(
                source
            )
            if "name" in package and "version" in package and not editable:
                versions.setdefault(str(package["name"]), set()).add(str(package["version"]))
        lines = tuple(f"{n}=={next(iter(v))}" for n, v in sorted(versions.items()) if len(v) == 1)
        return Requirements(origin=name, lines=lines) if lines else None
    return None


def _first(names: Sequence[str], among: Iterable[str]) -> tuple[str, ...]:
    present = {canonicalize_name(n) if "." not in n and "/" not in n else n: n for n in among}
    for name in names:
        if name in present:
            return (present[name],)
    return ()


def _name_of(line: str) -> str:
    try:
        return canonicalize_name(Requirement(line.split(" --hash", maxsplit=1)[0].strip()).name)
    except InvalidRequirement:
        return ""


def python_floor(project: Project, read: Callable[[str], str | None]) -> str:
    """Give the lowest Python that the project supports, as `3.9`; empty where it names none."""
    text = str(project.table("project").get("requires-python", ""))
    if not text:
        found = re.search(
            r"python_requires\s*=\s*(?:\"([^\"\n]+)\"|'([^'\n]+)'|([<>=!~][^\n]+))",
            (read("setup.cfg") or "") + "\n" + (read("setup.py") or ""),
        )
        text = next(filter(None, found.groups()), "") if found else ""
    versions = re.findall(r"(?:>=|~=|==|>)\s*3\.(\d+)", text)
    return f"3.{min(int(v) for v in versions)}" if versions else ""


# --- lint and docs --------------------------------------------------------------------------------------------------


def has_ruff(project: Project) -> bool:
    """Whether the project configures ruff."""
    return bool(project.table("tool", "ruff")) or bool({"ruff.toml", ".ruff.toml"} & project.paths)


def ruff_settings(project: Project, read: Callable[[str], str | None]) -> dict[str, Any]:
    """Give ruff's `lint` settings from wherever the project keeps them (old top-level ones below them)."""
    top = project.table("tool", "ruff")
    for name in ("ruff.toml", ".ruff.toml"):
        if name in project.paths:
            try:
                top = tomllib.loads(read(name) or "")
            except tomllib.TOMLDecodeError:
                top = {}
    lint = top.get("lint", {})
    return {**top, **(lint if isinstance(lint, dict) else {})}


class DocsConvention(Value, frozen=True, kw_only=True):
    """A docstring convention (`numpy`, `google`, `rst` or empty), and whether the project enforces it."""

    name: str
    enforced: bool
    origin: str


def docs_convention(
    project: Project, read: Callable[[str], str | None], sources: Iterable[str]
) -> DocsConvention:
    """Find the docstring convention: what the project configures, else what its docstrings look like.

    `sources` are texts of Python files to count styles in.
    """
    ruff = ruff_settings(project, read)
    selected = [str(code) for key in ("select", "extend-select") for code in ruff.get(key, ())]
    ignored = {str(code) for key in ("ignore", "extend-ignore") for code in ruff.get(key, ())}
    enforced = "D" not in ignored and any(
        code == "ALL" or re.fullmatch(r"D\d*", code) or code.startswith("DOC") for code in selected
    )
    configured = (
        ruff.get("pydocstyle", {}).get("convention")
        if isinstance(ruff.get("pydocstyle"), dict)
        else None
    )
    if configured in {"numpy", "google"}:
        return DocsConvention(
            name=str(configured), enforced=enforced, origin="ruff's pydocstyle.convention"
        )
    if project.table("tool", "numpydoc_validation"):
        return DocsConvention(name="numpy", enforced=True, origin="[tool.numpydoc_validation]")
    old = project.table("tool", "pydocstyle")
    if old.get("convention") in {"numpy", "google"}:
        return DocsConvention(
            name=str(old["convention"]), enforced=True, origin="[tool.pydocstyle]"
        )
    return DocsConvention(
        name=_prevailing(sources), enforced=enforced, origin="the project's own docstrings"
    )


def _prevailing(sources: Iterable[str]) -> str:
    counted = {"numpy": 0, "google": 0, "rst": 0}
    for text in sources:
        counted["numpy"] += len(
            re.findall(
                r"^\s*(?:Parameters|Returns|Raises|Examples)\n\s*-{4,}\s*$", text, re.MULTILINE
            )
        )
        counted["google"] += len(
            re.findall(r"^\s+(?:Args|Returns|Raises|Yields):\s*$", text, re.MULTILINE)
        )
        counted["rst"] += len(
            re.findall(r"^\s+:(?:param|type|returns?|rtype|raises)\b", text, re.MULTILINE)
        )
    name, most = max(counted.items(), key=lambda item: item[1])
    return name if most > 0 else ""
