"""Fills in, from upstream's jobs, the options of a run that the configuration leaves open.

What a tree gives is remembered with the blobs of all files that were read for it, so that the next run need not read
workflows again: that takes a tenth of a second and more.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit import __version__, convention
from presubmit.config import GUARDED_ON_HOST
from presubmit.errors import ConfigError, PresubmitError
from presubmit.reading import asks_upstream, by_convention
from presubmit.replay.job.house import find_here
from presubmit.upstream.here import Here, Interpreter
from presubmit.upstream_options import Options, Project, Taken, in_use, take, with_upstream
from presubmit.upstream_reading import lasting_event, make_place, read_names, read_upstream_of
from presubmit.values import Value, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.config import Sourced
    from presubmit.history import History
    from presubmit.reading import Reading, RunOptions
    from presubmit.upstream.nodes import Problem
    from presubmit.upstream_reading import Names, Tree
    from presubmit.where import Where

_READ: Final = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "noxfile.py", "Makefile"),
    *("GNUmakefile", "makefile", "pixi.toml"),
)
"""What is likely to be asked for besides the workflows: read in one go."""


def take_options(
    reading: Reading,
    options: RunOptions,
    where: Where | None,
    environ: Mapping[str, str],
    history: History,
    *,
    of_base: bool = False,
) -> tuple[Reading, Taken]:
    """Give the reading with what upstream's jobs say; `where` is None where it is not known.

    On the host, what runs with the user's rights is taken as the base has it, without --trust-head.
    """
    tree = reading.base_reader if of_base else reading.head_reader
    if not asks_upstream(reading, tree):
        return by_convention(reading, tree), Taken()
    names = read_names(reading)
    here, problem = _find_here(reading, options, where, environ, names)
    taken = _of_tree(reading, names, here, history, of_base=of_base)
    if not options.container and not options.trust_head and not of_base:
        taken = guarded(taken, _of_tree(reading, names, here, history, of_base=True))
    taken = in_use(reading.config, taken)
    if problem:
        taken = msgspec.structs.replace(taken, problems=(*taken.problems, problem))
    config = with_upstream(reading.config, taken)
    return by_convention(msgspec.structs.replace(reading, config=config), tree), taken


def guarded(head: Taken, base: Taken) -> Taken:
    """Give what head's jobs say, but commands that run with the user's rights as the base's jobs have them."""
    options = dict(head.options)
    notes = list(head.notes)
    for name in (*GUARDED_ON_HOST, "lint.packages"):
        theirs, ours = options.get(name), base.options.get(name)
        if (theirs and theirs[0]) == (ours and ours[0]):
            continue
        options.pop(name, None)
        if ours is not None:
            options[name] = ours
        notes.append(
            f"{name} is the base's: the change alters it, and it runs with your rights (--trust-head)"
        )
    return msgspec.structs.replace(head, options=options, notes=tuple(notes))


# --- where ------------------------------------------------------------------------------------------------------------


def _find_here(
    reading: Reading,
    options: RunOptions,
    where: Where | None,
    environ: Mapping[str, str],
    names: Names,
) -> tuple[Here | None, str]:
    """Say which interpreters there are: on this host, in the image, or in the one that was looked at last."""
    if not options.container:
        one = Interpreter(version=platform.python_version(), path="python3")
        return Here(interpreters=(one,), on_host=True), ""
    if where is None or where.engine is None:
        return _last_here(reading), ""
    try:
        return find_here(make_place(reading, where, environ, root=False, names=names)), ""
    except PresubmitError as error:
        return None, str(error)


def _last_here(reading: Reading) -> Here | None:
    seen = [*(reading.cache / "here").rglob("*.json")]
    try:
        newest = max(seen, key=lambda path: path.stat().st_mtime)
        return decode(newest.read_bytes(), Here)
    except (OSError, ValueError):
        return None


# --- one tree ---------------------------------------------------------------------------------------------------------


class _Kept(Value, frozen=True, kw_only=True):
    """What was taken of a tree, and all that was read for it."""

    asked: dict[str, str]
    """The blobs of the files that were asked for; empty for one that was not there."""
    taken: Taken


class _Watched:
    """A tree that takes down which files are asked for."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.blobs = tree.blobs
        self.asked: dict[str, str] = {}

    def data(self, path: str) -> bytes | None:
        self.asked[path] = self.blobs.get(path, "")
        return self._tree.data(path)

    def text(self, path: str) -> str | None:
        self.asked[path] = self.blobs.get(path, "")
        return self._tree.text(path)


def _of_tree(
    reading: Reading, names: Names, here: Here | None, history: History, *, of_base: bool
) -> Taken:
    """Give what a tree's workflows say, from memory where nothing that matters is different."""
    tree = reading.base_reader if of_base else reading.head_reader
    key = _key(reading, tree, names, here)
    known = history.taken(key)
    if known is not None:
        try:
            kept = decode(known.encode(), _Kept)
        except (ValueError, msgspec.ValidationError):
            kept = None
        if kept and all(tree.blobs.get(path, "") == blob for path, blob in kept.asked.items()):
            return kept.taken
    tree.want((*_READ, *(path for path in tree.blobs if path.startswith(".github/"))))
    watched = _Watched(tree)
    taken = _read(reading, watched, names, here)
    history.write_taken(key, encode(_Kept(asked=watched.asked, taken=taken)).decode())
    return taken


def _key(reading: Reading, tree: Tree, names: Names, here: Here | None) -> str:
    """Name all that the answer depends on, apart from what the files hold."""
    change = reading.change
    interpreters = here.interpreters if here is not None else ()
    listed = sorted(p for p in tree.blobs if p.count("/") < 2 or p.startswith(".github/"))  # noqa: PLR2004 - where it looks for names
    parts = (
        _ourselves().encode(),
        encode(names),
        encode(list(interpreters)),
        encode(reading.config.config),
        " ".join(sorted(reading.config.origins)).encode(),
        f"{change.base.ref} {change.base.commit} {change.branch}".encode(
            "utf-8", "surrogateescape"
        ),
        encode(list(change.files)),
        "\n".join(listed).encode("utf-8", "surrogateescape"),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _ourselves() -> str:
    """Name this presubmit: another version, or another state of a checkout that is worked on, may answer otherwise."""
    own = Path(__file__).parent
    folders = [Path(path) for path, _, _ in os.walk(own / "upstream")]
    files = [
        entry
        for folder in (*folders, own, own / "upstream_options", own / "runners")
        for entry in os.scandir(folder)
    ]
    newest = max(entry.stat().st_mtime_ns for entry in files if entry.name.endswith(".py"))
    return f"{__version__} {newest}"


def _read(reading: Reading, tree: Tree, names: Names, here: Here | None) -> Taken:
    config = reading.config
    project = make_project(tree, config, repository="")
    try:
        upstream = read_upstream_of(
            tree,
            config.config,
            event="pull_request",
            # No commit and no title: they are others with each edit, and choose no tests.
            facts=lasting_event(reading, names),
            here=None,  # what the box lacks keeps no job from telling how tests are run
        )
        project = msgspec.structs.replace(project, repository=upstream.setting.facts.repository)
        taken = take(upstream.cells, upstream.steps, project, here=here)
    except (PresubmitError, RecursionError) as error:
        return Taken(problems=(f"upstream's workflows cannot be followed: {error}",))
    return msgspec.structs.replace(taken, problems=_refused(upstream.problems))


def _refused(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Give the first error of each workflow that GitHub would refuse."""
    first: dict[str, str] = {}
    for problem in problems:
        if not problem.warning:
            first.setdefault(problem.path, f"{problem}: nothing is taken over from this workflow")
    return tuple(first.values())


def make_project(tree: Tree, config: Sourced, *, repository: str) -> Project:
    """Say of a tree what matters when options are taken over. Raises ConfigError where its pyproject.toml is broken."""
    found = convention.read_project(tree.blobs, tree.text)
    table = found.table("project")
    dynamic = table.get("dynamic", ()) if table else ("optional-dependencies",)
    extras = frozenset(found.table("project", "optional-dependencies"))
    return Project(
        read=tree.text,
        name=str(table.get("name", "")),
        repository=repository,
        extras=None if "optional-dependencies" in dynamic else extras,
        groups=frozenset(found.table("dependency-groups")),
        has_hooks=bool({".pre-commit-config.yaml", ".lintrunner.toml"} & set(tree.blobs)),
        installs=lambda options: _installed(found, tree, config, options),
    )


def _installed(
    project: convention.Project, tree: Tree, config: Sourced, options: Options
) -> frozenset[str] | None:
    """Give the names that a run with these options installs; the configuration's own options win."""
    taken = {
        name.removeprefix("build."): value
        for name, (value, _) in options.items()
        if name.startswith("build.") and name not in config.origins
    }
    build = msgspec.structs.replace(config.config.build, **taken)
    try:
        found = convention.test_requirements(
            project,
            tree.text,
            extras=build.extras,
            groups=build.groups,
            files=build.requirements,
            packages=build.packages,
            constraints=None,
        )
    except ConfigError:
        return None
    lines = [line for requirements in found.together for line in requirements.lines]
    names = {name for line in lines if (name := _name_of(line))}
    if found.dynamic_extras or "dependencies" in project.table("project").get("dynamic", ()):
        # They are only known once it is built; where its plugins are named, they are in one of these.
        texts = " ".join(tree.text(path) or "" for path in ("setup.cfg", "setup.py"))
        names |= {canonicalize_name(n) for n in re.findall(r"pytest[-_][\w-]+|hypothesis", texts)}
    return frozenset(names)


def _name_of(line: str) -> str:
    try:
        return canonicalize_name(Requirement(line.partition(" --hash")[0]).name)
    except InvalidRequirement:
        return ""
