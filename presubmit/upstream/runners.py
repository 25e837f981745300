"""Says whether a job's `runs-on` can be had here: the user's own images, the devel image, or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.upstream.here import Here

_GROUP: Final = "group:"
_HOSTED: Final = re.compile(
    r"(?P<system>ubuntu|macos|windows)-(?P<version>latest|slim|\d+(?:\.\d+)?)(?P<more>(?:-.+)?)"
)
"""GitHub's own labels, and the names it proposes for larger runners (docs: "GitHub-hosted runners reference")."""
_SYSTEMS: Final = {"ubuntu": "Linux", "macos": "macOS", "windows": "Windows"}
_ARM: Final = frozenset({"arm", "arm64", "aarch64"})
_FOREIGN: Final = frozenset({"s390x", "ppc64le", "riscv64"})
_GPU: Final = re.compile(
    r"gpu|cuda|rocm|nvidia|(?:^|[.-])(?:[abhlv]\d{2,3}|mi\d{3}|t4|xpu)(?:$|[.-])"
)
_FLOATING: Final = frozenset({"latest", "slim"})
_SAME: Final = frozenset({"", "-arm"})
"""What may follow a version and still be the standard runner."""


class RunnerVerdict(NamedTuple):
    """Where a job is replayed; `image` is "" for the devel image and None where there is none for it."""

    image: str | None
    lacks: str = ""
    """What is missing: `runs-on windows-latest`."""
    note: str = ""
    """What is otherwise than upstream."""


def judge_runner(
    labels: Sequence[str], here: Here | None, configured: Mapping[str, str]
) -> RunnerVerdict:
    """Judge the labels of a job (`group:NAME` for a runner group); `here` is None where nothing is known of it.

    `configured` maps labels, also with `*` (`linux.*`), to images, or to "" for the devel image; it wins.
    """
    if not labels:
        return RunnerVerdict(None, "runs-on, which gives no label")
    for label in labels:
        image = _configured(label, configured)
        if image is not None:
            return RunnerVerdict(image)
    if len(set(labels)) > 1 or labels[0].startswith(_GROUP):
        # Several labels, or a group, are the project's own machines.
        return _lacking(labels)
    return _hosted(labels[0], here)


def _configured(label: str, configured: Mapping[str, str]) -> str | None:
    folded = label.casefold()
    for key, image in sorted(configured.items(), key=lambda pair: "*" in pair[0]):
        parts = map(re.escape, key.casefold().split("*"))
        if re.fullmatch(".*".join(parts), folded):
            return image
    return None


def _hosted(label: str, here: Here | None) -> RunnerVerdict:
    """Judge one label by what GitHub offers under it."""
    found = _HOSTED.fullmatch(label.casefold())
    if found is None or _GPU.search(label.casefold()):
        return _lacking([label])
    system, parts = _SYSTEMS[found["system"]], set(re.split(r"[-._]", label.casefold()))
    here_system = here.system if here is not None else "Linux"
    if system != here_system or parts & _FOREIGN:
        return _lacking([label], "" if here_system == "Linux" else f" (this is {here_system})")
    here_arch = here.arch if here is not None else "X64"
    if parts & _ARM and here_arch != "ARM64":
        return _lacking([label], f" (this is {here_arch})")
    notes = []
    if found["version"] not in _FLOATING or found["more"] not in _SAME:
        stand_in = "this machine" if here is not None and here.on_host else "the devel image"
        notes.append(f"{stand_in} stands for {label}")
    if system == "Linux" and not parts & _ARM and here_arch != "X64":
        # The devel image may be built for any processor; a job that asks for none in particular is at home in it.
        notes.append(f"{label} is X64, this is {here_arch}")
    return RunnerVerdict("", note="; ".join(notes))


def _lacking(labels: Sequence[str], more: str = "") -> RunnerVerdict:
    text = ", ".join(
        f"group {label.removeprefix(_GROUP)}" if label.startswith(_GROUP) else label
        for label in labels
    )
    gpu = " (gpu)" if _GPU.search(text.casefold()) and "gpu" not in text.casefold() else ""
    return RunnerVerdict(None, f"runs-on {text}{gpu}{more}")
