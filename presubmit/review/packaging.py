"""What the built wheel would lack of the package folder; an editable install hides it."""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from presubmit.review import wheel
from presubmit.review.built import BUILD_BOTH
from presubmit.review.facts import packages_of, table
from presubmit.review.values import Remark, Severity, Unchecked
from presubmit.selector.layout import matches_glob
from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from presubmit.review.facts import Facts, Said, Tree

_CODE: Final = (".py", ".pyi")
_INSTALL_FILES: Final = frozenset(["setup.py", "setup.cfg", "MANIFEST.in", "meson.build"])
_BACKENDS: Final = (
    *("setuptools", "hatch", "flit", "poetry", "pdm", "uv", "maturin"),
    *("meson-python", "scikit-build"),
)
_NO_DATA: Final = (
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".h",
    ".hpp",
    ".pyx",
    ".pxd",
    ".md",
    ".rst",
    ".build",
    ".in",
)


def remarks(facts: Facts) -> Iterable[Said]:
    """Follow the build files for every file that the change adds to a package; a wheel that was built knows better."""
    static = list(_by_build_files(facts))
    wheels = facts.built.wheels if facts.built is not None else None
    if wheels is None:
        yield from static
        yield from _unbuilt(facts)
        return
    # What the build files say of a file that the wheel has is wrong; of one that it lacks, it says how to mend it.
    yield from wheel.remarks(facts, wheels, [one for one in static if isinstance(one, Remark)])


def _unbuilt(facts: Facts) -> Iterator[Unchecked]:
    """Say that no wheel was built, where it was asked for or where what it holds may have changed."""
    why = facts.built.why_no_wheels if facts.built is not None else ""
    if not why and facts.built is None and _changes_wheel(facts):
        why = f"no wheel was built: {BUILD_BOTH}"
    if why:
        yield Unchecked(rule="packaging", what="what the wheel holds", why=why)


def _changes_wheel(facts: Facts) -> bool:
    """Tell whether a build file says otherwise what is installed."""
    changed = {path for file in facts.change.files for path in file.paths}
    if any(posixpath.basename(path) in _INSTALL_FILES for path in changed):
        return True
    if "pyproject.toml" not in changed:
        return False
    return _install_tables(facts.base) != _install_tables(facts.head)


def _install_tables(tree: Tree) -> object:
    try:
        project = tomllib.loads(tree.text("pyproject.toml") or "")
    except tomllib.TOMLDecodeError:
        return None
    return [table(project, "build-system"), *(table(project, "tool", it) for it in _BACKENDS)]


def _by_build_files(facts: Facts) -> Iterable[Said]:
    fresh = [
        f.path
        for f in facts.change.files
        if f.status in {FileStatus.ADDED, FileStatus.RENAMED} and _package(facts.head, f.path)
    ]
    if not fresh:
        return
    try:
        project = tomllib.loads(facts.head.text("pyproject.toml") or "")
    except tomllib.TOMLDecodeError as error:
        yield Unchecked(
            rule="packaging", what="what the wheel holds", why=f"pyproject.toml: {error}"
        )
        return
    backend = str(table(project, "build-system").get("build-backend", "setuptools.build_meta"))
    if backend.startswith("mesonpy"):
        yield from _by_meson(facts, fresh)
    elif backend.startswith("setuptools"):
        yield from _by_setuptools(facts, project, fresh)


def _package(tree: Tree, path: str) -> str:
    """Give the folder of the package that a file belongs to; empty for tests and for what is outside."""
    if re.search(r"(?:^|/)(?:tests?|testing)/", path):
        return ""
    return next((f for f in packages_of(tree).values() if path.startswith(f"{f}/")), "")


def _remark(kind: str, path: str, text: str, mend: str) -> Remark:
    return Remark(
        code=f"packaging.{kind}",
        severity=Severity.WARNING,
        text=text,
        why="the wheel lacks it, and an editable install does not show that",
        mend=mend,
        file=path,
        line=1,
        subject=path,
    )


def _by_meson(facts: Facts, fresh: Iterable[str]) -> Iterator[Remark]:
    """Every Python file must be named, in lists that stand in the nearest meson.build."""
    for path in fresh:
        if not path.endswith(_CODE):
            continue
        folder = posixpath.dirname(path)
        build = next((b for b in _above(folder) if b in facts.head.blobs), None)
        if build is None:
            continue
        text = facts.head.text(build) or ""
        siblings = [
            p
            for p in facts.head.blobs
            if posixpath.dirname(p) == folder and p.endswith(_CODE) and p != path
        ]
        habit = [p for p in siblings if _named(p, text)]
        if "install_sources" not in text or "install_subdir" in text or not habit:
            continue
        if not _named(path, text):
            name = posixpath.basename(path)
            yield _remark(
                "not-listed",
                path,
                f"{path} is not in the install list of {build}, as its neighbours are",
                f"add '{name}' to `py.install_sources` in {build}",
            )


def _named(path: str, text: str) -> bool:
    return re.search(rf"['\"/]{re.escape(posixpath.basename(path))}['\"]", text) is not None


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield f"{folder}/meson.build"
        folder = posixpath.dirname(folder)
    yield "meson.build"


# --- setuptools -----------------------------------------------------------------------------------------------------


def _by_setuptools(facts: Facts, project: dict[str, Any], fresh: list[str]) -> Iterator[Said]:
    setup = facts.head.text("setup.py") or ""
    config = configparser.RawConfigParser(strict=False)
    try:
        config.read_string(facts.head.text("setup.cfg") or "")
    except configparser.Error as error:
        yield Unchecked(rule="packaging", what="what the wheel holds", why=f"setup.cfg: {error}")
        return
    yield from _no_init(facts, project, config, setup, fresh)
    yield from _unlisted(project, config, setup, fresh)
    yield from _data(facts, project, config, setup, fresh)


def _no_init(
    facts: Facts,
    project: dict[str, Any],
    config: configparser.RawConfigParser,
    setup: str,
    fresh: list[str],
) -> Iterator[Remark]:
    """Only `find_packages` and `find:` ask for `__init__.py`; automatic discovery takes any folder."""
    strict = re.search(r"\bfind_packages\s*\(", setup) is not None
    strict |= config.get("options", "packages", fallback="").strip() == "find:"
    strict |= table(project, "tool", "setuptools", "packages", "find").get("namespaces") is False
    if not strict:
        return
    said = set()
    for path in fresh:
        folder = posixpath.dirname(path)
        above = f"{posixpath.dirname(folder)}/__init__.py"
        if (
            not path.endswith(".py")
            or f"{folder}/__init__.py" in facts.head.blobs
            or folder in said
        ):
            continue
        if above in facts.head.blobs:
            said.add(folder)
            yield _remark(
                "no-init",
                path,
                f"{folder} has no __init__.py, and the build finds only folders that have one",
                f"add {folder}/__init__.py",
            )


def _unlisted(
    project: dict[str, Any], config: configparser.RawConfigParser, setup: str, fresh: list[str]
) -> Iterator[Remark]:
    """Compare packages that are named one by one."""
    listed = table(project, "tool", "setuptools").get("packages")
    origin = "pyproject.toml"
    if not isinstance(listed, list):
        listed, origin = _literal_packages(setup), "setup.py"
    if not listed:
        words = config.get("options", "packages", fallback="").split()
        listed, origin = [w for w in words if not w.startswith("find")], "setup.cfg"
    if not listed:
        return
    for path in fresh:
        folder = posixpath.dirname(path)
        name = folder.removeprefix("src/").replace("/", ".")
        if posixpath.basename(path) == "__init__.py" and name not in listed:
            yield _remark(
                "not-listed",
                path,
                f"the package {name} is not in the list of packages in {origin}",
                f'add "{name}" to it',
            )


def _literal_packages(setup: str) -> list[str]:
    try:
        tree = ast.parse(setup)
    except (SyntaxError, ValueError):
        return []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "packages"
            and isinstance(node.value, ast.List)
        ):
            items = [e.value for e in node.value.elts if isinstance(e, ast.Constant)]
            if len(items) == len(node.value.elts):
                return [str(item) for item in items]
    return []


def _data(
    facts: Facts,
    project: dict[str, Any],
    config: configparser.RawConfigParser,
    setup: str,
    fresh: list[str],
) -> Iterator[Said]:
    """Files that are no modules come along only where a pattern or MANIFEST.in says so."""
    data = [
        p for p in fresh if not p.endswith((".py", *_NO_DATA)) and "." in posixpath.basename(p)
    ]
    if not data:
        return
    requires = " ".join(map(str, table(project, "build-system").get("requires", [])))
    plugin = (
        re.search(r"setuptools[-_]scm|setuptools-git|hatch-vcs", f"{requires} {setup}") is not None
    )
    own = table(project, "tool", "setuptools")
    # pyproject.toml switches it on by itself, setup.cfg and setup.py do not.
    included = bool(own.get("include-package-data", bool(own) or "project" in project))
    included &= "project" in project or bool(own)
    switch = config.get("options", "include_package_data", fallback="")
    included |= switch.strip().lower() == "true"
    included |= re.search(r"include_package_data\s*=\s*True", setup) is not None
    if included and plugin:
        return
    patterns = [str(p) for some in table(own, "package-data").values() for p in some]
    if config.has_section("options.package_data"):
        patterns += (
            " ".join(v for _, v in config.items("options.package_data")).replace(",", " ").split()
        )
    if re.search(r"package_data\s*=(?!\s*True)", setup):
        yield Unchecked(
            rule="packaging", what=", ".join(data[:3]), why="setup.py computes its package_data"
        )
        return
    manifest = facts.head.text("MANIFEST.in") or ""
    for path in data:
        if any(_matches(path, p) for p in patterns) or (included and _in_manifest(path, manifest)):
            continue
        yield _remark(
            "no-data",
            path,
            f"{path} matches no pattern of the package's data",
            "name it in `[tool.setuptools.package-data]`, or in MANIFEST.in",
        )


def _matches(path: str, pattern: str) -> bool:
    return matches_glob(path, f"**/{pattern}") or matches_glob(posixpath.basename(path), pattern)


def _in_manifest(path: str, manifest: str) -> bool:
    for line in manifest.splitlines():
        match line.split():
            case ["include", *patterns]:
                if any(matches_glob(path, p) for p in patterns):
                    return True
            case ["recursive-include", folder, *patterns]:
                inside = path.startswith(f"{folder.rstrip('/')}/") or folder == "."
                if inside and any(matches_glob(posixpath.basename(path), p) for p in patterns):
                    return True
            case ["graft", folder]:
                if path.startswith(f"{folder.rstrip('/')}/"):
                    return True
            case ["global-include", *patterns]:
                if any(matches_glob(posixpath.basename(path), p) for p in patterns):
                    return True
            case _:
                pass
    return False
