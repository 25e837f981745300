"""Pins of the devel image and of requirement files, base against head: what was lost, and what does not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from presubmit.review import docker, locks
from presubmit.review.facts import before, brought, in_head
from presubmit.review.releases import DRIVERS, WHEELS, minor, torch_for
from presubmit.review.requirement_files import (
    Pin,
    Source,
    cuda_of,
    image_cuda,
    is_requirement_file,
    read_source,
)
from presubmit.review.values import Remark, Severity, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from presubmit.review.facts import Facts, Said

_TORCH = frozenset(["torch", "torchvision", "torchaudio"])
_NAMED = 3
_CPU_WHY = "pip then installs a wheel for the CPU alone, or for another CUDA, and says nothing"


def remarks(facts: Facts) -> Iterable[Said]:
    """Compare every changed Dockerfile and requirement file with the base's."""
    for file in in_head(facts.change):
        if not (docker.is_dockerfile(file.path) or is_requirement_file(file.path)):
            continue
        head = facts.head.text(file.path) or ""
        base = facts.base.text(before(file))
        new = read_source(file.path, head)
        old = read_source(file.path, base or "")
        if base is not None:
            yield from _lost(old, new)
            yield from _indexes(old, new)
        yield from _unaudited(old, new)
        yield from brought(_state(old, base or ""), _state(new, head))
        yield from _driver(file.path, base or "", head)
    yield from locks.remarks(facts)


def _unaudited(old: Source, new: Source) -> Iterator[Unchecked]:
    """Say of other versions that nobody asked whether they have known vulnerabilities."""
    fresh = [
        f"{pin.name} {pin.version}"
        for pin in new.pins
        if pin.version and ((was := old.pin(pin.name)) is None or was.version != pin.version)
    ]
    if fresh:
        more = f" and {len(fresh) - _NAMED} more" if len(fresh) > _NAMED else ""
        yield Unchecked(
            rule="pins",
            what=f"known vulnerabilities of {', '.join(fresh[:_NAMED])}{more}",
            why=f"no database is asked: `pip-audit -r {new.path}` asks one",
        )


def _lost(old: Source, new: Source) -> Iterator[Remark]:
    for pin in new.pins:
        was = old.pin(pin.name)
        if was is None:
            yield from _floating(old, new, pin)
            continue
        if was.version and not pin.version:
            yield Remark(
                code="pins.lost-pin",
                severity=Severity.WARNING,
                text=f"{pin.name} was pinned to {was.version} and floats now: `{pin.text}`",
                why="the same file gives another environment tomorrow",
                mend=f"write `{pin.name}==` and a version",
                file=new.path,
                line=pin.line,
                subject=pin.name,
            )
        if was.local and not pin.local and not cuda_of(pin.index):
            yield Remark(
                code="pins.lost-local",
                severity=Severity.WARNING,
                text=f"{pin.name} loses its local version +{was.local}",
                why=_CPU_WHY,
                mend=f"write `+{was.local}`, or install from an index of that CUDA release",
                file=new.path,
                line=pin.line,
                subject=pin.name,
            )


def _floating(old: Source, new: Source, pin: Pin) -> Iterator[Remark]:
    """Find a new requirement that floats where everything beside it is pinned.

    In a Dockerfile a bound says enough.
    """
    if docker.is_dockerfile(new.path) and re.search(r"[<>~=]", pin.text):
        return
    others = [one for one in old.pins if one.name != pin.name]
    if pin.version or len(others) < 2 or not all(one.version for one in others):  # noqa: PLR2004 - one shows no habit
        return
    yield Remark(
        code="pins.floating",
        severity=Severity.WARNING,
        text=f"{pin.name} is not pinned, as everything else here is: `{pin.text}`",
        why="the same file gives another environment tomorrow",
        mend=f"write `{pin.name}==` and a version",
        file=new.path,
        line=pin.line,
        subject=pin.name,
    )


def _indexes(old: Source, new: Source) -> Iterator[Remark]:
    was, now = [url for url, _ in old.indexes], [url for url, _ in new.indexes]
    gone = [url for url in was if url not in now]
    left = bool(new.pins)
    if gone and not now and left:
        url = gone[0]
        served = cuda_of(url) and any(pin.index or pin.local for pin in new.pins)
        if not served:
            yield _index("index-lost", f"`--index-url {_shown(url)}` is gone", new, None, url)
        return
    for url, line in new.indexes:
        if url in was or not gone:
            continue
        told = gone[0]
        if cuda_of(told) and re.search(r"/cpu/?$", url):
            yield _index(
                "index-cpu", f"the index changes from {_shown(told)} to the CPU's", new, line, url
            )
        elif cuda_of(told) and not cuda_of(url):
            text = f"the index {_shown(told)} is replaced by {_shown(url)}"
            yield _index("index-changed", text, new, line, url)
        elif urlsplit(told).hostname != urlsplit(url).hostname:
            text = f"packages come from {_shown(url)} now, not from {_shown(told)}"
            yield _index("index-changed", text, new, line, url)


def _index(kind: str, text: str, source: Source, line: int | None, url: str) -> Remark:
    return Remark(
        code=f"pins.{kind}",
        severity=Severity.WARNING,
        text=text,
        why=_CPU_WHY,
        mend="keep the index, or say in the commit why the packages come from elsewhere",
        file=source.path,
        line=line or next((pin.line for pin in source.pins), 1),
        subject=_shown(url),
    )


def _shown(url: str) -> str:
    """Give an index without what a user name or password stands in."""
    return re.sub(r"//[^/@\s]*@", "//", url)


def _state(source: Source, text: str) -> list[Remark]:
    """Say what is wrong with one file by itself."""
    found = [*_pairs(source), *_wheels(source), *_urls(source)]
    if docker.is_dockerfile(source.path):
        found += _against_image(source, text)
    return found


def _pairs(source: Source) -> Iterator[Remark]:
    every = [pin for pin in source.pins if pin.name == "torch"]
    for name in ("torchvision", "torchaudio"):
        pin = source.pin(name)
        wanted = torch_for(name, pin.version) if pin is not None else ""
        if pin is None or not wanted or not every:
            continue
        torch = next((one for one in every if one.line == pin.line), every[-1])
        if not torch.version:
            continue
        if wanted != minor(torch.version):
            yield Remark(
                code="pins.torch-pair",
                severity=Severity.ERROR,
                text=f"{name} {pin.version} goes with torch {wanted}, not with torch {torch.version}",
                why="pip refuses the pair, or installs one that fails when it is imported",
                mend=f"take the {name} of torch {minor(torch.version)}",
                file=source.path,
                line=pin.line,
                subject=f"{name} {pin.version} torch {torch.version}",
            )
        elif pin.local != torch.local:
            yield Remark(
                code="pins.torch-local",
                severity=Severity.WARNING,
                text=f"torch is `+{torch.local or '(none)'}` and {name} `+{pin.local or '(none)'}`",
                why="libraries built for two CUDA releases do not work together",
                mend="give both the same local version",
                file=source.path,
                line=pin.line,
                subject=f"{name} {pin.local} torch {torch.local}",
            )


def _wheels(source: Source) -> Iterator[Remark]:
    for pin in source.pins:
        release = cuda_of(f"+{pin.local}") or cuda_of(pin.index)
        known = WHEELS.get(minor(pin.version), "").split()
        if pin.name != "torch" or not release or not known or release in known:
            continue
        yield Remark(
            code="pins.no-wheel",
            severity=Severity.WARNING,
            text=f"torch {pin.version} has no wheels for CUDA {release}, but for {', '.join(known)}",
            why="the install fails, or falls back to another build",
            mend=f"take one of {', '.join(known)}",
            file=source.path,
            line=pin.line,
            subject=f"torch {pin.version} {release}",
        )


def _urls(source: Source) -> Iterator[Remark]:
    for url, line in (*source.indexes, *source.extras):
        parts = urlsplit(url)
        if parts.password and not parts.password.startswith("$"):
            yield Remark(
                code="pins.index-credentials",
                severity=Severity.ERROR,
                text=f"the index {_shown(url)} is written with a password",
                why="it is readable by everybody who has the file or the image",
                mend="take it out, renew the password, and give it as a build secret",
                file=source.path,
                line=line,
                subject=_shown(url),
            )
        if re.search(r"cu\$\{?\w*(?:CUDA|CU)\w*", url):
            yield Remark(
                code="pins.index-derived",
                severity=Severity.NOTE,
                text=f"the index is made from a variable: {_shown(url)}",
                why="not every CUDA release has wheels; a new one then installs nothing, or the wrong build",
                mend="name the index's CUDA release by itself",
                file=source.path,
                line=line,
                subject=_shown(url),
            )
    companions = [pin for pin in source.pins if pin.local or pin.name in _TORCH]
    for url, line in source.extras:
        if companions or not url.startswith("http"):
            continue
        yield Remark(
            code="pins.extra-index",
            severity=Severity.WARNING,
            text=f"a second index may give any of these packages: {_shown(url)}",
            why="pip takes the highest version of all indexes, whoever put it there",
            mend="use `--index-url` for what comes from there, in an install of its own",
            file=source.path,
            line=line,
            subject=_shown(url),
        )


def _against_image(source: Source, text: str) -> Iterator[Remark]:
    for stage in docker.stages(text):
        release = image_cuda(stage.base)
        torch: Pin | None = None
        for pin in _pins_of(source, stage):
            wheel = cuda_of(f"+{pin.local}") or cuda_of(pin.index)
            if pin.name == "torch":
                if torch is not None and cuda_of(f"+{torch.local} {torch.index}") and not wheel:
                    yield _again(source.path, torch, pin)
                torch = pin
            if not release or not wheel or wheel == release or pin.name not in _TORCH:
                continue
            apart = wheel.split(".")[0] != release.split(".")[0]
            yield Remark(
                code="pins.cuda-base",
                severity=Severity.WARNING if apart else Severity.NOTE,
                text=f"{pin.name} is built for CUDA {wheel}, and the image has CUDA {release}: {stage.base}",
                why="extensions are compiled with the image's CUDA and loaded beside the wheel's",
                mend="take wheels and image of one CUDA release",
                file=source.path,
                line=pin.line,
                subject=f"{pin.name} {wheel} {release}",
            )


def _pins_of(source: Source, stage: docker.Stage) -> list[Pin]:
    lines = {one.line for one in stage.instructions}
    return [pin for pin in source.pins if pin.line in lines]


def _again(path: str, first: Pin, pin: Pin) -> Remark:
    return Remark(
        code="pins.reinstalled",
        severity=Severity.WARNING,
        text=f"torch is installed again from the default index, after `{first.text}` from {_shown(first.index) or 'its own'}",
        why=_CPU_WHY,
        mend="install torch once, or give the second install the same index",
        file=path,
        line=pin.line,
        subject="torch",
    )


def _driver(path: str, base: str, head: str) -> Iterator[Remark]:
    """Say which driver a raised CUDA major release of the base image needs."""
    if not docker.is_dockerfile(path):
        return
    old = {image_cuda(stage.base).split(".")[0] for stage in docker.stages(base)} - {""}
    for stage in docker.stages(head):
        release = image_cuda(stage.base)
        major = release.split(".")[0]
        if old and major and all(int(major) > int(one) for one in old) and major in DRIVERS:
            yield Remark(
                code="pins.driver",
                severity=Severity.NOTE,
                text=f"CUDA {release} needs a driver of {DRIVERS[major]} or newer",
                why="on a machine with an older driver torch sees no GPU",
                mend="say so where the image is documented",
                file=path,
                line=stage.line,
                subject=release,
            )
            return
