"""Reads what a tree pins: requirement files and the installs of Dockerfiles, each as one source of pins."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.review import docker
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pin(Value, frozen=True, kw_only=True):
    """One requirement where it stands; `version` is set where exactly one is asked for."""

    name: str
    text: str
    line: int
    version: str = ""
    local: str = ""
    """What follows the `+`: `cu121`."""
    index: str = ""
    """The index that this install is told of; empty: pip's own."""


class Source(Value, frozen=True, kw_only=True):
    """One file's requirements and indexes."""

    path: str
    pins: tuple[Pin, ...]
    indexes: tuple[tuple[str, int], ...] = ()
    """`--index-url`, with their lines."""
    extras: tuple[tuple[str, int], ...] = ()
    """`--extra-index-url` and `--find-links`, with their lines."""

    def pin(self, name: str) -> Pin | None:
        """Give the last requirement of that name."""
        return next((one for one in reversed(self.pins) if one.name == name), None)


_FILE: Final = re.compile(
    r"(?:.*[-_.])?(?:requirements?|constraints?|reqs)(?:[-_.].*)?\.(?:txt|in)"
)
_IN_FOLDER: Final = re.compile(r"(?:.*/)?requirements?/[^/]+\.(?:txt|in)")


def is_requirement_file(path: str) -> bool:
    """Tell a requirement or constraint file by its name."""
    return bool(_FILE.fullmatch(posixpath.basename(path)) or _IN_FOLDER.fullmatch(path))


def read_source(path: str, text: str) -> Source:
    """Read a requirement file or a Dockerfile."""
    return _of_dockerfile(path, text) if docker.is_dockerfile(path) else _of_file(path, text)


def pin_of(text: str, line: int, index: str = "") -> Pin | None:
    """Read one requirement; None where it is a path, a URL or no requirement."""
    try:
        read = Requirement(text)
    except InvalidRequirement:
        return None
    exact = [
        s.version for s in read.specifier if s.operator in {"==", "==="} and "*" not in s.version
    ]
    version, _, local = (exact[0] if exact else "").partition("+")
    if read.url:
        found = re.search(r"-(\d[\w.]*)(?:(?:\+|%2B)(\w+))?-", read.url)
        version, local = (found[1], found[2] or "") if found else (read.url, "")
    return Pin(
        name=canonicalize_name(read.name),
        text=text,
        line=line,
        version=version,
        local=local,
        index=index,
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        first = first or number
        whole += line.removesuffix("\\")
        if line.endswith("\\"):
            continue
        yield first, re.sub(r"(^|\s)#.*", "", whole).strip()
        whole, first = "", 0


def _of_file(path: str, text: str) -> Source:
    pins: list[Pin] = []
    indexes: list[tuple[str, int]] = []
    extras: list[tuple[str, int]] = []
    for number, line in _lines(text):
        option = re.match(
            r"(-i|--index-url|--extra-index-url|-f|--find-links)(?:\s+|=)(\S+)", line
        )
        if option is not None:
            kind = indexes if option[1] in {"-i", "--index-url"} else extras
            kind.append((option[2], number))
        elif line and not line.startswith("-"):
            found = pin_of(re.sub(r"\s+--hash[= ].*", "", line), number)
            pins += [found] if found is not None else []
    index = indexes[-1][0] if indexes else next((url for url, _ in extras if cuda_of(url)), "")
    placed = tuple(
        Pin(
            name=pin.name,
            text=pin.text,
            line=pin.line,
            version=pin.version,
            local=pin.local,
            index=index,
        )
        for pin in pins
    )
    return Source(path=path, pins=placed, indexes=tuple(indexes), extras=tuple(extras))


def _of_dockerfile(path: str, text: str) -> Source:
    pins: list[Pin] = []
    indexes: list[tuple[str, int]] = []
    extras: list[tuple[str, int]] = []
    for stage in docker.stages(text):
        for install in docker.installs(stage):
            index = install.index or next((url for url in install.extra if cuda_of(url)), "")
            indexes += [(install.index, install.line)] if install.index else []
            extras += [(url, install.line) for url in install.extra]
            found = (pin_of(one, install.line, index) for one in install.requirements)
            pins += [pin for pin in found if pin is not None]
    return Source(path=path, pins=tuple(pins), indexes=tuple(indexes), extras=tuple(extras))


def cuda_of(text: str) -> str:
    """Give the CUDA release that an index or a local version names, as `12.1`; empty where none."""
    found = re.search(r"(?:^|[/+_-])cu(\d{2,3})(?=$|[/._-])", text)
    return f"{found[1][:-1]}.{found[1][-1]}" if found else ""


def image_cuda(image: str) -> str:
    """Give the CUDA release of a base image's tag, as `12.1`; empty where it names none."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    found = re.search(r"cuda[-_]?(\d+\.\d+)", tag)
    if found is None and name.endswith("nvidia/cuda"):
        found = re.match(r"(\d+\.\d+)", tag)
    return found[1] if found else ""
