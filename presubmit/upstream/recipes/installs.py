"""What a command installs: pip, uv, and the project managers.

Sources: pip's own reference (pip install, requirements file format), uv's CLI reference, and those of poetry, pdm,
flit and maturin. Index options are noted, never passed on: a run has an index of its own.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.recipes.options import Parsed, parse
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.upstream.recipes.shell_words import Word


class Install(Value, frozen=True, kw_only=True):
    """What is installed, in the words of the requirements format; paths are relative to the repository."""

    requirements: tuple[str, ...] = ()
    """Requirement lines: `pytest>=8`, `./plugins/x`, `-e ./plugins/x`, `git+https://…`."""
    extras: tuple[str, ...] = ()
    """Of the project; `*` for all of them."""
    groups: tuple[str, ...] = ()
    """Dependency groups (PEP 735); `*` for all of them."""
    requirement_files: tuple[str, ...] = ()
    constraint_files: tuple[str, ...] = ()
    project: bool = False
    """The project itself is installed."""
    editable: bool = False
    built: bool = False
    """The project comes from an archive that was built before (`dist/*.whl`)."""
    config_settings: tuple[str, ...] = ()
    """`setup-args=-Dx=y`, in order; keys may come more than once."""
    no_build_isolation: bool = False
    upgrade: bool = False
    no_deps: bool = False
    prereleases: bool = False
    set_aside: tuple[str, ...] = ()
    """Options that are not followed here: indexes, targets, hashes."""
    default_groups: bool = False
    """The groups that uv installs unasked, too."""
    unknown: tuple[str, ...] = ()
    """Words that depend on what is not known."""


_PIP_VALUED: Final = frozenset({
    *("-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints", "-e", "--editable"),
    *("-C", "--config-settings", "--config-setting", "--group", "--extra", "-i", "--index-url", "--index"),
    *("--extra-index-url", "--default-index", "-f", "--find-links", "-t", "--target", "--prefix", "--root"),
    *("--platform", "--python-version", "--implementation", "--abi", "--no-binary", "--only-binary"),
    *("--cache-dir", "--timeout", "--retries", "--trusted-host", "--proxy", "--cert", "--client-cert"),
    *("--python", "-p", "--src", "--upgrade-strategy", "--global-option", "--install-option", "--build-option"),
    *("--progress-bar", "--report", "--log", "--resolution", "--prerelease", "--index-strategy", "--link-mode"),
    *("--exclude-newer", "--override", "--overrides", "--torch-backend", "--no-build-isolation-package"),
    *("-P", "--upgrade-package", "--reinstall-package", "--refresh-package", "--config-settings-package"),
    *("--only-group", "--no-group", "--no-extra", "--package", "--directory", "--project", "--root-user-action"),
    *("--exists-action", "--use-feature", "--use-deprecated", "--keyring-provider", "--build-constraint", "-b"),
    *("--no-install-package", "--allow-insecure-host", "--with", "--without", "--only", "-G", "--extras", "-E"),
})  # fmt: skip
_SET_ASIDE: Final = frozenset({
    *("-i", "--index-url", "--index", "--extra-index-url", "--default-index", "-f", "--find-links", "--no-index"),
    *("-t", "--target", "--prefix", "--root", "--trusted-host", "--proxy", "--cert", "--no-binary"),
    *("--only-binary", "--platform", "--require-hashes", "--global-option", "--install-option", "--build-option"),
    *("--resolution", "--force-reinstall", "--ignore-installed", "--exclude-newer", "--torch-backend"),
    *("--override", "--overrides", "--build-constraint"),
})  # fmt: skip
_EXTRAS: Final = re.compile(r"\[([^\]]*)\]$")
_ARCHIVE: Final = re.compile(r"\.(?:whl|tar\.gz|zip|tar\.bz2|tgz)$")


def pip_install(words: Sequence[Word], cwd: str) -> Install:
    """Read what follows `pip install` or `uv pip install`."""
    parsed = parse(words, _PIP_VALUED)
    requirements: list[str] = []
    extras: list[str] = []
    project = editable = built = False
    named = [
        (word, True)
        for o in parsed.options
        if o.name in {"-e", "--editable"} and (word := o.value)
    ]
    named += [(word, False) for word in (*parsed.words, *parsed.rest)]
    for word, linked in named:
        text = word.text.strip()
        if not word.literal or not text:
            continue
        place = _EXTRAS.sub("", text)
        if _is_path(text) and _inside(cwd, place) == ".":
            project, editable = True, editable or linked
            extras += _extras_of(text)
        elif _ARCHIVE.search(place) and "://" not in place:
            # What was built a moment ago; an archive that lies in the tree would be named in full.
            project, built = True, True
            extras += _extras_of(text)
        elif _is_path(text):
            requirements.append(("-e " if linked else "") + _local(cwd, text))
        else:
            requirements.append(("-e " if linked else "") + text)
    found = _common(parsed, cwd)
    return msgspec.structs.replace(
        found,
        requirements=tuple(requirements),
        extras=(*extras, *found.extras),
        project=project,
        editable=editable,
        built=built,
    )


def uv_sync(words: Sequence[Word], cwd: str) -> Install:
    """Read `uv sync` (and the same options of `uv run`): the project, its `dev` group, and what is named."""
    parsed = parse(words, _PIP_VALUED)
    found = _common(parsed, cwd)
    groups = [*found.groups, *(("*",) if parsed.has("--all-groups") else ())]
    extras = (*found.extras, "*") if parsed.has("--all-extras") else found.extras
    only = parsed.has("--only-group", "--only-dev", "--no-install-project")
    return msgspec.structs.replace(
        found,
        groups=(*groups, *parsed.values("--only-group")),
        default_groups=not parsed.has("--no-dev", "--no-default-groups", "--only-group"),
        extras=extras,
        project=not only,
        editable=not only and not parsed.has("--no-editable"),
        requirements=parsed.values("--with"),
    )


def manager_install(tool: str, words: Sequence[Word]) -> Install:
    """Read `poetry install`, `pdm install`, `flit install`, `maturin develop`: the project, in place."""
    parsed = parse(words, _PIP_VALUED)
    named = parsed.values("--extras", "-E", "--extra", "-G", "--group", "--with", "--only")
    names = tuple(name for text in named for name in re.split(r"[,\s]+", text) if name)
    grouped = tool in {"poetry", "pdm"} and parsed.has("--with", "-G", "--group", "--only")
    everything = parsed.has("--all-extras", "--all-groups")
    return Install(
        project=not parsed.has("--no-root", "--no-self"),
        editable=tool != "flit" or parsed.has("-s", "--symlink", "--pth-file"),
        extras=("*",) if everything else (() if grouped else names),
        groups=names if grouped else (),
        unknown=_unknown(parsed),
    )


def setup_py(words: Sequence[Word]) -> Install | None:
    """Read `python setup.py develop` and `install`; None for anything else."""
    commands = {word.text for word in words}
    if not commands & {"develop", "install"}:
        return None
    return Install(project=True, editable="develop" in commands)


def named_install(requirements: Iterable[str]) -> Install | None:
    """Give an install of single requirements; None where there are none."""
    lines = tuple(requirements)
    return Install(requirements=lines) if lines else None


def _common(parsed: Parsed, cwd: str) -> Install:
    return Install(
        extras=tuple(
            e for text in parsed.values("--extra") for e in re.split(r"[,\s]+", text) if e
        ),
        groups=tuple(text.rpartition(":")[2] for text in parsed.values("--group")),
        requirement_files=tuple(
            _inside(cwd, f)
            for f in parsed.values("-r", "--requirement", "--requirements", "--with-requirements")
        ),
        constraint_files=tuple(
            _inside(cwd, f) for f in parsed.values("-c", "--constraint", "--constraints")
        ),
        config_settings=parsed.values("-C", "--config-settings", "--config-setting"),
        no_build_isolation=parsed.has("--no-build-isolation"),
        upgrade=parsed.has("-U", "--upgrade"),
        no_deps=parsed.has("--no-deps"),
        prereleases=parsed.has("--pre") or "allow" in parsed.values("--prerelease"),
        set_aside=tuple(
            f"{o.name} {o.value.text}" if o.value else o.name
            for o in parsed.options
            if o.name in _SET_ASIDE
        ),
        unknown=_unknown(parsed),
    )


def _unknown(parsed: Parsed) -> tuple[str, ...]:
    words = [*(o.value for o in parsed.options if o.value is not None), *parsed.words]
    return tuple(word.text for word in words if not word.literal)


def _is_path(text: str) -> bool:
    return text.startswith((".", "/", "file:")) or (
        "/" in text and not re.search(r"[@:]|\s;", text)
    )


def _inside(cwd: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, path.removeprefix("file://")))


def _local(cwd: str, text: str) -> str:
    found = _EXTRAS.search(text)
    place = _inside(cwd, _EXTRAS.sub("", text))
    place = place if place.startswith(("/", "..")) else f"./{place}"
    return place + (found.group() if found else "")


def _extras_of(text: str) -> list[str]:
    found = _EXTRAS.search(text)
    return [name.strip() for name in found.group(1).split(",") if name.strip()] if found else []
