"""actions/download-artifact: from the run's own folder of artifacts.

https://github.com/actions/download-artifact: action.yml, src/download-artifact.ts.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import artifacts
from presubmit.replay.actions.upload_artifact import matching
from presubmit.replay.job.action import ActionFailedError, LackingError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("actions/download-artifact",)

# A single artifact that was not asked for by its name goes into a folder of its own before v5. Workflows name releases
# by their commits, so these are the commits of v4's releases.
_V4_COMMITS: Final = frozenset(
    {
        *("7a1cd3216ca9260cd8022db641d960b1db4d1be4", "f44cd7b40bfd40b6aa1cc1b9b5b7bf03d3c67110"),
        *("6b208ae046db98c579e8a3aa621ab581ff575935", "eaceaf801fd36c7dee90939fad912460b18a1ffe"),
        *("87c55149d96e628cc2ef7e6fc2aab372015aec85", "c850b930e6ba138125429b7e5c93fc707a7f8427"),
        *("8caf195ad4b1dee92908e23f56eeb0696f1dd42d", "9c19ed7fe5d278cd354c7dfd5d3b88589c7e2395"),
        *("65a9edc5881444af0b9093a5e628f2fe47ea3b2e", "fa0a91b85d4f404e444e00e005971372dc801d16"),
        *("cc203385981b70ca67e1cc392babf9cc229d5806", "b14cf4c92620c250e1c074ab0a5800e37df86765"),
        *("95815c38cf2ff2164869cbab79da8d1f422bc89e", "d3f86a106a0bac45b974a628896c90dbdf5c8093"),
    }
)


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Only artifacts of this run are here."""
    if wanted.inputs.get("github-token") and wanted.inputs.get("run-id"):
        return Support(lacks="artifacts of another workflow run")
    return Support()


def run(step: ActionStep) -> None:
    """Lay the artifacts that are meant where they are wanted."""
    name, ids = step.input("name"), step.input("artifact-ids")
    if name and ids:
        raise ActionFailedError(
            "Inputs 'name' and 'artifact-ids' cannot be used together. Please specify only one."
        )
    _check_run(step)
    chosen = _chosen(step, name, ids)
    folder = _folder(step)
    straight = (
        bool(name)
        or step.flag("merge-multiple")
        or (len(chosen) == 1 and not _is_before_v5(step.wanted.uses))
    )
    for one in chosen:
        step.say(f"- {one.name} (ID: {one.id}, Expected Digest: {one.digest})")
        artifacts.fetch(step, one, folder if straight else posixpath.join(folder, one.name))
    step.say(f"Total of {len(chosen)} artifact(s) downloaded")
    step.set_output("download-path", folder)


def _chosen(step: ActionStep, name: str, ids: str) -> tuple[artifacts.Artifact, ...]:
    found = artifacts.load_all(step)
    if name:
        named = tuple(one for one in found if one.name == name)
        if not named:
            # Whoever should have made it may be a cell that cannot be replayed here.
            raise LackingError(f"the artifact {name!r}: no replayed job has uploaded it")
        return named
    if ids:
        return _by_ids(step, found, ids)
    pattern = step.input("pattern")
    chosen = matching(found, pattern) if pattern else found
    if not chosen:
        step.note("no artifact was there to download")
    return chosen


def _by_ids(
    step: ActionStep, found: tuple[artifacts.Artifact, ...], ids: str
) -> tuple[artifacts.Artifact, ...]:
    words = [word.strip() for word in ids.split(",") if word.strip()]
    if not words:
        raise ActionFailedError("No valid artifact IDs provided in 'artifact-ids' input")
    for word in words:
        if not word.isdecimal():
            raise ActionFailedError(f"Invalid artifact ID: '{word}'. Must be a number.")
    wanted = {int(word) for word in words}
    chosen = tuple(one for one in found if one.id in wanted)
    missing = wanted - {one.id for one in chosen}
    if not chosen:
        raise ActionFailedError("None of the provided artifact IDs were found")
    if missing:
        shown = ", ".join(str(number) for number in sorted(missing))
        step.annotate("warning", f"Could not find the following artifact IDs: {shown}")
    return chosen


def _folder(step: ActionStep) -> str:
    path = step.input("path")
    if path.startswith("~"):
        path = step.env.get("HOME", "/") + path[1:]
    return posixpath.normpath(posixpath.join(step.cell.workspace, path))


def _check_run(step: ActionStep) -> None:
    github = step.cell.github
    other_run = step.input("run-id") not in {"", str(github.get("run_id", ""))}
    repository = step.input("repository").lower()
    other_place = repository not in {"", str(github.get("repository", "")).lower()}
    if step.input("github-token") and (other_run or other_place):
        raise LackingError("artifacts of another workflow run")


def _is_before_v5(uses: str) -> bool:
    version = artifacts.version_of(uses)
    if version is not None:
        return version[0] < 5  # noqa: PLR2004 - see above
    return uses.rpartition("@")[2].lower() in _V4_COMMITS
