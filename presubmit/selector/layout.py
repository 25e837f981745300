"""Where a project keeps its tests and its modules: read off the paths of its tree and its configuration texts."""

from __future__ import annotations

import configparser
import fnmatch
import functools
import posixpath
import re
import shlex
import tomllib
from typing import TYPE_CHECKING, Any, Final

from presubmit.runners.values import Collects  # noqa: TC001 - a field's type is read at run time
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CONFIG_NAMES: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
"""The files whose texts `make_layout` wants, in pytest's order of precedence."""

_DEFAULT_PYTHON_FILES: Final = ("test_*.py", "*_test.py")
_DEFAULT_NORECURSE: Final = (
    "*.egg",
    ".*",
    "_darcs",
    "build",
    "CVS",
    "dist",
    "node_modules",
    "venv",
    "{arch}",
)
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "_tests"})
_FOREIGN_COLLECTORS: Final = (
    "--doctest-rst",
    "--doctest-plus",
    "--markdown-docs",
    "--codeblocks",
    "--nbval",
)


class PytestSettings(Value, frozen=True):
    """What of pytest's configuration decides which files are tests."""

    source: str = ""
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = _DEFAULT_PYTHON_FILES
    python_functions: tuple[str, ...] = ("test",)
    """Prefixes or patterns of the names of tests."""
    norecursedirs: tuple[str, ...] = _DEFAULT_NORECURSE
    pythonpath: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    """Plugins that `-p` in addopts loads."""
    usefixtures: tuple[str, ...] = ()
    """Fixtures that every test gets."""
    doctest_modules: bool = False
    doctest_globs: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    """Options by which other plugins collect documents."""
    collects: Collects | None = None
    """What another runner than pytest collects; what stands above is then of no matter."""
    entered: frozenset[str] = frozenset()
    """The folders that such a runner looks into, where it goes by packages."""


class Layout(Value, frozen=True):
    """Which files are tests, and by which dotted names each Python file can be imported."""

    settings: PytestSettings
    tests: tuple[str, ...]
    conftests: tuple[str, ...]
    names: dict[str, tuple[str, ...]]
    """The names of each Python file; the first is its path in dots."""
    packages: frozenset[str]
    """Folders that hold an `__init__.py`."""
    scripts: dict[str, str]
    """Console scripts and the modules they start."""
    entry_points: tuple[str, ...]
    """Modules that entry points name."""
    plugins: tuple[str, ...]
    """Modules that pytest loads for every test (`-p`, entry points of the group pytest11)."""
    type_tests: tuple[str, ...] = ()
    """Files in which tests of types are written (pytest-mypy-plugins)."""
    problems: tuple[str, ...] = ()
    """What of the configuration could not be read."""

    @property
    def support(self) -> tuple[str, ...]:
        """The Python files below folders for tests that are neither tests nor conftests."""
        apart = {*self.tests, *self.conftests}
        return tuple(it for it in self.names if in_test_folder(it) and it not in apart)

    def in_testpaths(self, path: str) -> bool:
        """Tell whether a bare `pytest` would look at this file."""
        return not self.settings.testpaths or any(
            _below(path, pattern) for pattern in self.settings.testpaths
        )


def make_layout(
    paths: Sequence[str],
    texts: Mapping[str, str],
    *,
    gone: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
    collects: Collects | None = None,
) -> Layout:
    """Work out the layout of a tree; `gone` are paths of the base whose names must stay known.

    `collects` says which files are tests where another runner than pytest runs them.
    """
    lost = set(gone)
    settings, problems = make_settings(texts)
    project = _Project(texts)
    python = sorted({path for path in (*paths, *lost) if is_python(path)})
    packages = frozenset(
        posixpath.dirname(path)
        for path in python
        if posixpath.basename(path) in {"__init__.py", "__init__.pyi"}
    )
    if collects is not None:
        settings = _of_runner(collects, packages, settings.pythonpath)
    roots = _roots(python, packages, settings, project)
    names = {path: _names(path, roots, project.package_dirs) for path in python}
    for link, target in (links or {}).items():
        for path in python:
            if path.startswith(f"{target}/"):
                names[path] += (dotted(link + path[len(target) :]),)
    return Layout(
        settings=settings,
        tests=tuple(sorted(path for path in set(paths) - lost if is_test(path, settings))),
        conftests=tuple(sorted(p for p in python if posixpath.basename(p) == "conftest.py")),
        names=names,
        packages=packages,
        scripts=project.scripts,
        entry_points=tuple(sorted(project.entry_points)),
        plugins=tuple(
            sorted({*settings.plugins, *project.pytest_plugins, *_loaded(python, settings)})
        ),
        type_tests=tuple(
            it for it in paths if "mypy" in it and fnmatch.fnmatchcase(it, "*mypy*.y*ml")
        ),
        problems=tuple(dict.fromkeys((*problems, *project.problems))),
    )


def is_python(path: str) -> bool:
    """Tell a Python source by its name."""
    return path.endswith((".py", ".pyw"))


def in_test_folder(path: str) -> bool:
    """Tell whether a path lies below a folder with a name such as `tests`."""
    return any(part.lower() in _TEST_FOLDERS for part in path.split("/")[:-1])


def is_test(path: str, settings: PytestSettings) -> bool:
    """Tell whether the project's runner would collect tests from this file."""
    folder, name = posixpath.split(path)
    if settings.collects is not None:
        return _is_collected(path, settings.collects, settings.entered)
    entered = not _not_entered(folder, settings.norecursedirs)
    if name in {"conftest.py", "__init__.py"} or not entered:
        return False
    if is_python(path):
        if _matches(path, name, settings.python_files):
            return True
        if settings.doctest_modules and name not in {"setup.py", "__main__.py"}:
            return not settings.testpaths or any(_below(path, it) for it in settings.testpaths)
        return False
    return _matches(path, name, settings.doctest_globs)


def _is_collected(path: str, collects: Collects, entered: frozenset[str]) -> bool:
    """Tell whether another runner than pytest would; `entered` are the folders that it looks into."""
    if not path.endswith(".py") or (collects.packages and posixpath.dirname(path) not in entered):
        return False
    if collects.folders and not any(path.startswith(f"{it}/") for it in collects.folders):
        return False
    return any(
        fnmatch.fnmatchcase(f"/{path}" if "/" in pattern else posixpath.basename(path), pattern)
        for pattern in collects.patterns
    )


def _of_runner(
    collects: Collects, packages: frozenset[str], pythonpath: tuple[str, ...]
) -> PytestSettings:
    """Give the settings of a project whose tests another runner runs: those of pytest are not read there."""
    entered = set(collects.folders or ("",))
    for folder in sorted(packages):
        if posixpath.dirname(folder) in entered:
            entered.add(folder)
    return PytestSettings(
        testpaths=collects.folders,
        python_files=collects.patterns,
        pythonpath=pythonpath,
        collects=collects,
        entered=frozenset(entered),
    )


def _loaded(python: Sequence[str], settings: PytestSettings) -> set[str]:
    """Give the modules that another runner than pytest loads for every test."""
    collects = settings.collects
    if collects is None:
        return set()
    loaded = set(collects.loads)
    if collects.applications:
        marks = ("models.py", "apps.py", "models/__init__.py", "migrations/__init__.py")
        homes = {p[: -len(it)] for p in python for it in marks if f"/{p}".endswith(f"/{it}")}
        loaded |= {
            dotted(path)
            for path in python
            if path.startswith(tuple(homes)) and not is_test(path, settings)
        }
    return loaded


def dotted(path: str) -> str:
    """Write a file's path as a dotted name; a dot inside a folder's name becomes `·`."""
    return ".".join(_parts(path))


def _parts(path: str) -> list[str]:
    """Give the parts of a file's dotted name."""
    stem = path.removesuffix(".py") if path.endswith(".py") else path.removesuffix(".pyw")
    if not stem.isascii():
        stem = stem.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    parts = [part for part in stem.replace(".", "·").split("/") if part]
    if parts and parts[-1] == "__init__":
        parts.pop()
    return parts


@functools.lru_cache(maxsize=4096)
def _not_entered(folder: str, patterns: tuple[str, ...]) -> bool:
    parts = folder.split("/") if folder else []
    for depth, part in enumerate(parts):
        whole = "/".join(parts[: depth + 1])
        for pattern in patterns:
            if "/" in pattern:
                if fnmatch.fnmatchcase(whole, pattern.rstrip("/")):
                    return True
            elif fnmatch.fnmatchcase(part, pattern):
                return True
    return False


@functools.lru_cache(maxsize=64)
def _patterns(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile patterns as pytest takes them: without a slash for a file's name, with one for its path's end."""
    names = [it for it in patterns if "/" not in it]
    ends = [f"*/{it.lstrip('/')}" for it in patterns if "/" in it]
    return _any_of(names), _any_of(ends)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    # Nothing matches where there is no pattern.
    return re.compile("|".join(fnmatch.translate(it) for it in patterns) or r"(?!)")


def _matches(path: str, name: str, patterns: tuple[str, ...]) -> bool:
    """Match a path with several patterns in one go: this is asked of every file of the tree."""
    names, ends = _patterns(patterns)
    return names.match(name) is not None or ends.match(f"/{path}") is not None


def _below(path: str, pattern: str) -> bool:
    """Tell whether a path is what a testpaths entry names, or below it."""
    entry = posixpath.normpath(pattern.replace("\\", "/")) if pattern else "."
    if entry == ".":
        return True
    parts = path.split("/")
    depth = entry.count("/") + 1
    if "**" in entry:
        heads = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return any(_glob(entry).fullmatch(head) is not None for head in heads)
    head = "/".join(parts[:depth])
    return head == entry or _glob(entry).fullmatch(head) is not None


@functools.lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """Compile a path pattern in which `*` stays inside one folder and `**` does not."""
    out = ""
    rest = pattern
    while rest:
        if rest.startswith("**/"):
            out, rest = out + "(?:.*/)?", rest[3:]
        elif rest.startswith("**"):
            out, rest = out + ".*", rest[2:]
        elif rest[0] == "*":
            out, rest = out + "[^/]*", rest[1:]
        elif rest[0] == "?":
            out, rest = out + "[^/]", rest[1:]
        else:
            out, rest = out + re.escape(rest[0]), rest[1:]
    return re.compile(out, re.DOTALL)


def matches_glob(path: str, pattern: str) -> bool:
    """Match a path with a user's pattern: `docs/**`, `*.md` (anywhere), `src/pkg` (all below)."""
    entry = pattern.strip().removeprefix("./").rstrip("/")
    if not entry:
        return False
    if "/" not in entry and _glob(entry).fullmatch(posixpath.basename(path)):
        return True
    return _glob(entry).fullmatch(path) is not None or (
        _glob(entry + "/**").fullmatch(path) is not None
    )


# --- pytest's configuration -----------------------------------------------------------------------------------------


def make_settings(texts: Mapping[str, str]) -> tuple[PytestSettings, tuple[str, ...]]:
    """Find pytest's settings in the configuration at the top of the tree, and what could not be read."""
    problems: list[str] = []
    for name in CONFIG_NAMES:
        if name not in texts:
            continue
        try:
            table = _pytest_table(name, texts[name])
        except (ValueError, configparser.Error) as error:
            problems.append(f"{name} cannot be read: {str(error).splitlines()[0]}")
            continue
        if table is not None:
            return _settings(name, table), tuple(problems)
    return PytestSettings(), tuple(problems)


def _pytest_table(name: str, text: str) -> Mapping[str, Any] | None:
    if name.endswith(".toml"):
        data = tomllib.loads(text)
        if name != "pyproject.toml":
            found = data.get("pytest", data)
            return found if isinstance(found, dict) else None
        tool = data.get("tool")
        section = tool.get("pytest") if isinstance(tool, dict) else None
        if not isinstance(section, dict):
            return None
        options = section.get("ini_options")
        return options if isinstance(options, dict) else section
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    section_name = "tool:pytest" if name == "setup.cfg" else "pytest"
    if parser.has_section(section_name):
        return dict(parser.items(section_name))
    return {} if name in {"pytest.ini", ".pytest.ini"} else None


def _settings(source: str, table: Mapping[str, Any]) -> PytestSettings:
    addopts = tuple(_words(table.get("addopts", ())))
    return PytestSettings(
        source=source,
        testpaths=tuple(_words(table.get("testpaths", ()))),
        python_files=tuple(_words(table.get("python_files", ()))) or _DEFAULT_PYTHON_FILES,
        python_functions=tuple(_words(table.get("python_functions", ()))) or ("test",),
        norecursedirs=tuple(_words(table.get("norecursedirs", ()))) or _DEFAULT_NORECURSE,
        pythonpath=tuple(_words(table.get("pythonpath", ()))),
        addopts=addopts,
        plugins=tuple(_option_values(addopts, "-p")),
        usefixtures=tuple(_words(table.get("usefixtures", ()))),
        doctest_modules="--doctest-modules" in addopts,
        doctest_globs=tuple(_option_values(addopts, "--doctest-glob")),
        foreign=tuple(it for it in addopts if it.startswith(_FOREIGN_COLLECTORS)),
    )


def _words(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    if not isinstance(value, str):
        return []
    try:
        return shlex.split(value, comments=False)
    except ValueError:
        return value.split()


def _option_values(words: Sequence[str], option: str) -> list[str]:
    values = []
    for index, word in enumerate(words):
        if word == option and index + 1 < len(words):
            values.append(words[index + 1])
        elif word.startswith(option) and word != option:
            values.append(word[len(option) :].lstrip("="))
    return [it for it in values if it and not it.startswith("no:")]


# --- import roots ---------------------------------------------------------------------------------------------------


class _Project:
    """What the packaging configuration says of modules: folders, scripts, entry points."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.roots: set[str] = set()
        self.package_dirs: dict[str, str] = {}
        self.scripts: dict[str, str] = {}
        self.entry_points: set[str] = set()
        self.pytest_plugins: set[str] = set()
        self.problems: list[str] = []
        for path, text in texts.items():
            folder, name = posixpath.split(path)
            try:
                if name == "pyproject.toml":
                    self._take_pyproject(folder, tomllib.loads(text))
                elif name == "setup.cfg":
                    self._take_setup_cfg(folder, text)
            except (ValueError, configparser.Error) as error:
                self.problems.append(f"{path} cannot be read: {str(error).splitlines()[0]}")

    def _take_pyproject(self, folder: str, data: Mapping[str, Any]) -> None:
        self.roots.add(folder)
        poetry = _table(data, "tool", "poetry")
        for project, groups in ((_table(data, "project"), "entry-points"), (poetry, "plugins")):
            for key in ("scripts", "gui-scripts"):
                self._take_points(_table(project, key), scripts=True)
            for group, points in _table(project, groups).items():
                if isinstance(points, dict):
                    self._take_points(points, plugins=group == "pytest11")
        for name, target in _table(data, "tool", "setuptools", "package-dir").items():
            self._take_package_dir(folder, name, target)
        for value in _source_folders(data):
            self.roots.add(_join(folder, value))

    def _take_setup_cfg(self, folder: str, text: str) -> None:
        self.roots.add(folder)
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        parser.read_string(text)
        if parser.has_option("options", "package_dir"):
            for line in (parser.get("options", "package_dir") or "").splitlines():
                name, found, target = line.partition("=")
                if found:
                    self._take_package_dir(folder, name.strip(), target.strip())
        if parser.has_option("options.packages.find", "where"):
            self.roots.add(_join(folder, parser.get("options.packages.find", "where") or ""))
        if parser.has_section("options.entry_points"):
            for group, lines in parser.items("options.entry_points"):
                points = [line.partition("=") for line in (lines or "").splitlines()]
                self._take_points(
                    {name.strip(): value.strip() for name, found, value in points if found},
                    scripts=group in {"console_scripts", "gui_scripts"},
                    plugins=group == "pytest11",
                )

    def _take_package_dir(self, folder: str, name: object, target: object) -> None:
        if isinstance(name, str) and isinstance(target, str):
            if name:
                self.package_dirs[_join(folder, target)] = name
            else:
                self.roots.add(_join(folder, target))

    def _take_points(
        self, points: Mapping[str, object], *, scripts: bool = False, plugins: bool = False
    ) -> None:
        for name, value in points.items():
            if not isinstance(value, str):
                continue
            module = re.split(r"[:\s\[]", value.strip(), maxsplit=1)[0]
            if not module:
                continue
            if scripts:
                self.scripts[name] = module
            else:
                self.entry_points.add(module)
            if plugins:
                self.pytest_plugins.add(module)


def _source_folders(data: Mapping[str, Any]) -> Iterator[str]:
    """Give the folders in which build backends are told to find packages."""
    yield from _words(_table(data, "tool", "setuptools", "packages", "find").get("where"))
    for package in _words(
        _table(data, "tool", "hatch", "build", "targets", "wheel").get("packages")
    ):
        yield posixpath.dirname(package)
    for item in _table(data, "tool", "poetry").get("packages") or ():
        if isinstance(item, dict) and isinstance(item.get("from"), str):
            yield item["from"]
    for table, key in (
        (_table(data, "tool", "maturin"), "python-source"),
        (_table(data, "tool", "pdm", "build"), "package-dir"),
        (_table(data, "tool", "uv", "build-backend"), "module-root"),
    ):
        if isinstance(table.get(key), str):
            yield table[key]


def _table(data: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        inner = data.get(key)
        if not isinstance(inner, dict):
            return {}
        data = inner
    return data


def _join(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path.replace("\\", "/")))
    return "" if joined == "." else joined


def _roots(
    python: Sequence[str],
    packages: frozenset[str],
    settings: PytestSettings,
    project: _Project,
) -> frozenset[str]:
    """Every folder from which modules may be imported."""
    roots = {"", *project.roots, *(_join("", it) for it in settings.pythonpath)}
    for folder in list(project.roots):
        roots.update(_join(folder, name) for name in ("src", "lib", "python"))
    roots.update({"src", "lib", "python"})
    for folder in {path.rpartition("/")[0] for path in python}:
        roots.add(_outside_packages(folder, packages))
    return frozenset(roots)


def _outside_packages(folder: str, packages: frozenset[str]) -> str:
    """Give the first folder upward that is no package: what pytest puts on `sys.path`."""
    while folder and folder in packages:
        folder = posixpath.dirname(folder)
    return folder


def _names(path: str, roots: frozenset[str], package_dirs: Mapping[str, str]) -> tuple[str, ...]:
    """Every dotted name of a file, its path in dots first."""
    parts = _parts(path)
    names = [".".join(parts)]
    folder = path
    # A path has no empty parts, so each folder around a file takes one part of its name.
    depth = path.count("/")
    while folder:
        folder = folder.rpartition("/")[0]
        rest = parts[depth:]
        depth -= 1
        if folder in roots:
            names.append(".".join(rest))
        if folder in package_dirs:
            names.append(".".join((package_dirs[folder], *rest) if package_dirs[folder] else rest))
    return tuple(dict.fromkeys(name for name in names if name))
