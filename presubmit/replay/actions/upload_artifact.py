"""actions/upload-artifact and actions/upload-artifact/merge: into the run's own folder of artifacts.

https://github.com/actions/upload-artifact: action.yml, merge/action.yml, docs/MIGRATION.md.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import artifacts, globs
from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("actions/upload-artifact", "actions/upload-artifact/merge")

_NO_FILES: Final = ("warn", "error", "ignore")
_HIDDEN_SINCE: Final = ((3, 2, 1), (4, 4, 0))
"""From these releases on hidden files are left out."""


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Nothing is needed."""
    if _is_old(wanted.uses):
        return Support(note="GitHub refuses upload-artifact before v4 since January 2025")
    return Support()


def run(step: ActionStep) -> None:
    """Upload, or merge."""
    if "/merge@" in step.wanted.uses.lower():
        _merge(step)
    else:
        _upload(step)


def _upload(step: ActionStep) -> None:
    if not step.input("path"):
        raise ActionFailedError("Input required and not supplied: path")
    if_none = step.input("if-no-files-found", "warn")
    if if_none not in _NO_FILES:
        raise ActionFailedError(
            f"Unrecognized if-no-files-found input. Provided: {if_none}. "
            f"Available options: {','.join(_NO_FILES)}"
        )
    _check_numbers(step)
    hidden = step.flag("include-hidden-files", default=_takes_hidden(step.wanted.uses))
    files = artifacts.search(step, step.lines("path"), hidden=hidden)
    if not files.names:
        _say_none(step, if_none)
        return
    name = step.input("name", "artifact")
    if not step.flag("archive", default=True):
        if len(files.names) > 1:
            raise ActionFailedError(
                "When 'archive' is set to false, only a single file can be uploaded. "
                f"Found {len(files.names)} files to upload."
            )
        name = posixpath.basename(files.names[0])
        whole = posixpath.join(files.root, files.names[0])
        files = artifacts.Files(root=posixpath.dirname(whole), names=(name,))
    made = artifacts.save(
        step,
        name,
        files,
        overwrite=step.flag("overwrite"),
        merge=_is_old(step.wanted.uses),
    )
    _report(step, made, len(files.names))


def _say_none(step: ActionStep, if_none: str) -> None:
    message = (
        f"No files were found with the provided path: {step.input('path')}. "
        "No artifacts will be uploaded."
    )
    match if_none:
        case "error":
            raise ActionFailedError(message)
        case "warn":
            step.annotate("warning", message)
        case _:
            step.say(message)


def _merge(step: ActionStep) -> None:
    _check_numbers(step)
    name = step.input("name", "merged-artifacts")
    pattern = step.input("pattern", "*")
    chosen = matching(artifacts.load_all(step), pattern)
    if not chosen:
        raise ActionFailedError(f"No artifacts found matching pattern '{pattern}'")
    scratch = f"{step.cell.temp}/_presubmit/merge"
    step.ask('rm -rf "$1"', scratch)
    for one in chosen:
        apart = step.flag("separate-directories")
        artifacts.fetch(step, one, f"{scratch}/{one.name}" if apart else scratch)
    hidden = step.flag("include-hidden-files")
    files = artifacts.search(step, (scratch,), hidden=hidden)
    made = artifacts.save(step, name, files)
    step.ask('rm -rf "$1"', scratch)
    if step.flag("delete-merged"):
        for one in chosen:
            artifacts.delete(step, one)
    _report(step, made, len(files.names))


def matching(
    found: tuple[artifacts.Artifact, ...], pattern: str
) -> tuple[artifacts.Artifact, ...]:
    """Give the artifacts whose names a pattern means; raises ActionFailedError for one that stands for too many."""
    try:
        meant = globs.matcher(pattern, dot=False)
    except ValueError as error:
        raise ActionFailedError(str(error)) from error
    return tuple(one for one in found if meant(one.name))


def _report(step: ActionStep, made: artifacts.Artifact, files: int) -> None:
    step.say(f"Artifact {made.name}: {files} file(s) uploaded. Artifact ID is {made.id}")
    step.set_output("artifact-id", str(made.id))
    step.set_output("artifact-digest", made.digest)
    step.set_output("artifact-url", artifacts.url_of(step, made))


def _check_numbers(step: ActionStep) -> None:
    for name in ("retention-days", "compression-level"):
        text = step.input(name)
        if text and not text.lstrip("+-").isdecimal():
            raise ActionFailedError(f"Invalid {name}")
    if (level := step.input("compression-level")) and not 0 <= int(level) <= 9:  # noqa: PLR2004 - zlib's levels
        raise ActionFailedError("Invalid compression-level. Valid values are 0-9")


def _is_old(uses: str) -> bool:
    version = artifacts.version_of(uses)
    return version is not None and version[0] < 4  # noqa: PLR2004 - v4 made artifacts immutable


def _takes_hidden(uses: str) -> bool:
    """Whether the named release is one from before hidden files were left out; `v4` is the newest v4."""
    version = artifacts.version_of(uses)
    if version is None or len(version) == 1:
        return version is not None and version[0] < 3  # noqa: PLR2004 - v3 had it backported, v2 and v1 had not
    since = next((one for one in _HIDDEN_SINCE if one[0] == version[0]), None)
    return version < since if since is not None else version[0] < 3  # noqa: PLR2004 - as above
