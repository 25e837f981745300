"""The run's artifacts: one folder each, shared by its cells. Everything is done inside the box.

As GitHub's zip files do, an artifact keeps neither links nor modes: files come back with 644 and folders with 755
(https://github.com/actions/upload-artifact#permission-loss). Beside the folders lies `.presubmit/NAME`, what is known
of each; it is made in one step and never over another, so that of two cells one is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.actions import exchange
from presubmit.replay.actions.globber import common_ancestor, globber
from presubmit.replay.job.action import ActionFailedError, LackingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.job.action import ActionStep

_FORBIDDEN: Final = '":<>|*?\r\n'
_TAKEN: Final = 9
_VERSION: Final = re.compile(r"v(\d+)(?:\.(\d+))?(?:\.(\d+))?")

# $1 the list of files (NUL after each), $2 where they lie, $3 where they go.
COPY: Final = r"""
exec 2>&1
mkdir -p "$3" || exit 1
if tar --version 2>/dev/null | grep -q 'GNU tar'; then
  tar -C "$2" --null --no-recursion --hard-dereference -h -T "$1" -cf - | tar -C "$3" -m --no-same-owner -xf - || exit 1
else
  cd "$2" && xargs -0 sh -c '
    to=$0
    for file; do
      case $file in */*) mkdir -p "$to/${file%/*}" || exit 1 ;; esac
      cp -L "$file" "$to/$file" || exit 1
    done' "$3" <"$1" || exit 1
fi
find "$3" -type d -exec chmod 755 {} + && find "$3" -type f -exec chmod 644 {} +
"""
# $1 the store, $2 the scratch folder, $3 the name of the folder, $4 what is known of it.
_CLAIM: Final = r"""
exec 2>&1
mkdir -p "$1/.presubmit" || exit 1
(set -C; printf '%s\n' "$4" >"$1/.presubmit/$3") 2>/dev/null || exit 9
rm -rf "$1/$3"; mv "$2" "$1/$3"
"""
# The same for v3, whose uploads of one name are laid over each other.
_MERGE: Final = r"""
exec 2>&1
mkdir -p "$1/.presubmit" "$1/$3" || exit 1
[ -e "$1/.presubmit/$3" ] || printf '%s\n' "$4" >"$1/.presubmit/$3"
cp -R "$2/." "$1/$3/" && rm -rf "$2"
"""


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an artifact; `folder` is its name in the store."""

    name: str
    id: int
    digest: str
    folder: str


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Files to upload: paths relative to `root`."""

    root: str
    names: tuple[str, ...]


def version_of(uses: str) -> tuple[int, ...] | None:
    """Give the version that a reference names, as far as it says: `v4` or `v4.3.1`; None for a branch or commit."""
    match = _VERSION.fullmatch(uses.rpartition("@")[2])
    return None if match is None else tuple(int(part) for part in match.groups() if part)


def search(step: ActionStep, lines: Sequence[str], *, hidden: bool) -> Files:
    """Find the files to upload, and the root that their names are relative to.

    https://github.com/actions/upload-artifact: src/shared/search.ts.
    """
    patterns = globber(step, lines)
    files = tuple(one.path for one in patterns.find(step, hidden=hidden) if not one.is_folder)
    searched = patterns.search_paths
    if len(searched) > 1:
        root = common_ancestor(searched)
    elif files == searched:
        root = posixpath.dirname(files[0])
    else:
        root = searched[0] if searched else "/"
    prefix = root.rstrip("/") + "/"
    return Files(root=root, names=tuple(path.removeprefix(prefix) for path in files))


def save(
    step: ActionStep, name: str, files: Files, *, overwrite: bool = False, merge: bool = False
) -> Artifact:
    """Put files into the store as an artifact; raises ActionFailedError as the action would."""
    _check_name(name)
    for path in files.names:
        _check(path, "The path for one of the files in artifact is not valid: ")
    store = _store(step)
    # A name that begins with a hyphen is no option.
    listed = b"".join(b"./" + os.fsencode(path) + b"\0" for path in files.names)
    artifact = Artifact(
        name=name,
        id=10**9 + secrets.randbelow(9 * 10**9),
        digest=hashlib.sha256(listed).hexdigest(),
        folder=_folder_of(name),
    )
    scratch = f"{store}/.{secrets.token_hex(8)}"
    with exchange.handed(step, listed) as names:
        copied = step.ask(COPY, names, files.root, scratch)
    if copied.exit_code != 0:
        step.ask('rm -rf "$1"', scratch)
        raise LackingError(f"room for the artifact {name!r}: {copied.text.strip()[-200:]}")
    if overwrite:
        delete(step, artifact)
    known = json.dumps({"name": name, "id": artifact.id, "digest": artifact.digest})
    done = step.ask(_MERGE if merge else _CLAIM, store, scratch, artifact.folder, known)
    if done.exit_code == _TAKEN:
        step.ask('rm -rf "$1"', scratch)
        raise ActionFailedError(
            f"Failed to CreateArtifact: Received non-retryable error: Failed request: (409) Conflict: "
            f"an artifact with this name already exists on the workflow run ({name})"
        )
    if done.exit_code != 0:
        raise LackingError(f"room for the artifact {name!r}: {done.text.strip()[-200:]}")
    return artifact


def delete(step: ActionStep, artifact: Artifact) -> None:
    """Remove an artifact, whoever made it; none is fine."""
    store = _store(step)
    step.ask('rm -rf "$1/$2" "$1/.presubmit/$2"', store, artifact.folder)


def load_all(step: ActionStep) -> tuple[Artifact, ...]:
    """List the run's artifacts by name."""
    said = step.ask('cd "$1/.presubmit" 2>/dev/null && cat -- * 2>/dev/null', _store(step))
    found = []
    for line in said.text.splitlines():
        try:
            known = json.loads(line)
            name, number = str(known["name"]), int(known["id"])
            digest = str(known["digest"])
        except (ValueError, KeyError, TypeError):
            continue
        found.append(Artifact(name=name, id=number, digest=digest, folder=_folder_of(name)))
    return tuple(sorted(found, key=lambda one: one.name))


def fetch(step: ActionStep, artifact: Artifact, folder: str) -> None:
    """Lay an artifact's files into a folder, over what is there."""
    script = 'exec 2>&1; mkdir -p "$2" && cp -R "$1/." "$2/"'
    done = step.ask(script, f"{_store(step)}/{artifact.folder}", folder)
    if done.exit_code != 0:
        raise ActionFailedError(
            f"Unable to download artifact(s): {artifact.name}: {done.text.strip()[-200:]}"
        )


def url_of(step: ActionStep, artifact: Artifact) -> str:
    """Give the address that the artifact would have."""
    github = step.cell.github
    place = f"{github.get('server_url', '')}/{github.get('repository', '')}"
    return f"{place}/actions/runs/{github.get('run_id', '')}/artifacts/{artifact.id}"


def _store(step: ActionStep) -> str:
    place = step.cell.env.get("PRESUBMIT_ARTIFACTS", "")
    if not place:
        raise LackingError("a place for artifacts")
    return place


def _folder_of(name: str) -> str:
    """Name an artifact's folder: a leading dot would be one of ours, or the folder itself."""
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _check_name(name: str) -> None:
    if not name:
        raise ActionFailedError("Provided artifact name input during validation is empty")
    _check(name, "The artifact name is not valid: ", more="\\/")


def _check(text: str, message: str, *, more: str = "") -> None:
    for character in _FORBIDDEN + more:
        if character in text:
            raise ActionFailedError(
                f"{message}{text}. Contains the following character: {character!r}"
            )
