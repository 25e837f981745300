"""Finds the benchmark suites of a tree: asv's, files for pytest-benchmark or pytest-codspeed, torch's scripts, and configured commands."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Protocol

from presubmit.bench.asv_config import read_benchmark_dir
from presubmit.bench.pytest_files import PytestFiles
from presubmit.bench.torch_files import is_torch_script
from presubmit.bench.values import Adapter, Broken, Suite
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

_ASV_CONFIGS = {"asv.conf.json", "asv.conf.jsonc"}
_INI_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_INI_WORDS = {
    "pyproject.toml": ("[tool.pytest",),
    "tox.ini": ("[pytest]",),
    "setup.cfg": ("[tool:pytest]",),
}


class Command(Protocol):
    """One `[[bench.command]]` of the config."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def run(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def json(self) -> str: ...  # noqa: D102


class Found(Value, frozen=True, kw_only=True):
    """The suites of a tree, and what looks like one but cannot be read."""

    suites: tuple[Suite, ...]
    problems: tuple[Broken, ...] = ()


def find_suites(
    files: Collection[str],
    read: Callable[[str], str | None],
    commands: Sequence[Command] = (),
    *,
    timeout: float = 60.0,
) -> Found:
    """Find all suites; `read` gives the text of a file of the tree, None where it is none."""
    known = sorted(files)
    suites, problems = _asv(known, read, timeout)
    taken = {file for suite in suites for file in suite.files}
    folders = tuple(f"{suite.root}/" for suite in suites)
    sources = {
        file: text
        for file in known
        if file.endswith(".py") and file not in taken and not file.startswith(folders)
        if (text := read(file)) is not None and "benchmark" in text
    }
    in_pytest = PytestFiles(known, read)
    tests = []
    for file, text in sources.items():
        found = in_pytest.uses_benchmark(file, text)
        if isinstance(found, Broken):
            problems.append(found)
        elif found:
            tests.append(file)
    suites += _pytest(tests, known, read, timeout)
    scripts = [it for it, text in sources.items() if it not in tests and is_torch_script(text)]
    suites += _torch(scripts, timeout)
    suites += [
        Suite(
            adapter=Adapter.COMMAND,
            root=command.name,
            files=(),
            origin="config bench.command",
            command=command.run,
            json=command.json,
            timeout=timeout,
        )
        for command in commands
    ]
    return Found(suites=tuple(suites), problems=tuple(problems))


def _asv(
    files: Sequence[str], read: Callable[[str], str | None], timeout: float
) -> tuple[list[Suite], list[Broken]]:
    suites: dict[str, Suite] = {}
    problems = []
    for config in files:
        if posixpath.basename(config) not in _ASV_CONFIGS:
            continue
        text = read(config)
        try:
            root = read_benchmark_dir(config, text or "")
        except ValueError as error:
            problems.append(Broken(id=config, side="both", error=str(error)))
            continue
        found = tuple(it for it in files if it.startswith(f"{root}/") and it.endswith(".py"))
        if not found:
            error_text = f"its benchmark_dir `{root}` has no Python files"
            problems.append(Broken(id=config, side="both", error=error_text))
        elif root not in suites:
            suites[root] = Suite(
                adapter=Adapter.ASV, root=root, files=found, origin=config, timeout=timeout
            )
    return list(suites.values()), problems


def _pytest(
    tests: Iterable[str],
    files: Sequence[str],
    read: Callable[[str], str | None],
    timeout: float,
) -> list[Suite]:
    """Put files together that one pytest would run: those below the same nearest file with pytest's options."""
    roots = {posixpath.dirname(it) for it in files if _is_ini(it, read)}
    by_root: dict[str, list[str]] = {}
    for file in tests:
        folder = posixpath.dirname(file)
        while folder and folder not in roots:
            folder = posixpath.dirname(folder)
        by_root.setdefault(folder or ".", []).append(file)
    return [
        Suite(
            adapter=Adapter.PYTEST,
            root=root,
            files=tuple(found),
            origin=found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more",
            timeout=timeout,
        )
        for root, found in sorted(by_root.items())
    ]


def _is_ini(file: str, read: Callable[[str], str | None]) -> bool:
    name = posixpath.basename(file)
    if name not in _INI_FILES:
        return False
    words = _INI_WORDS.get(name)
    return words is None or any(word in (read(file) or "") for word in words)


def _torch(scripts: Iterable[str], timeout: float) -> list[Suite]:
    by_folder: dict[str, list[str]] = {}
    for file in scripts:
        by_folder.setdefault(posixpath.dirname(file) or ".", []).append(file)
    return [
        Suite(
            adapter=Adapter.TORCH,
            root=folder,
            files=tuple(found),
            origin=found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more",
            timeout=timeout,
        )
        for folder, found in sorted(by_folder.items())
    ]
