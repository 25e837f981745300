"""What a change makes worse in a Dockerfile: its base, its layers, its user, its secrets, what it exposes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.review import docker, secrets
from presubmit.review.facts import before, brought, in_head
from presubmit.review.values import Remark, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from presubmit.review.docker import Instruction, Stage
    from presubmit.review.facts import Facts, Said

_ROOT: Final = frozenset(["root", "0", "root:root", "0:0"])
_PIPE: Final = re.compile(r"\b(?:curl|wget)\b[^|]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da)?sh\b")
_REDIRECT: Final = re.compile(r"(?:^|\s)[A-Za-z][\w.\[\]-]*>=?=?\d")


def remarks(facts: Facts) -> Iterable[Said]:
    """Compare every changed Dockerfile with the base's."""
    for file in in_head(facts.change):
        if not docker.is_dockerfile(file.path):
            continue
        base, head = facts.base.text(before(file)), facts.head.text(file.path) or ""
        yield from brought(_state(file.path, base or ""), _state(file.path, head))
        if base is not None:
            yield from _lost(file.path, docker.stages(base), docker.stages(head))


def _state(path: str, text: str) -> list[Remark]:
    found: list[Remark] = []
    stages = docker.stages(text)
    names = {stage.name.lower() for stage in stages}
    for stage in stages:
        found += _base(path, stage, names)
        found += _apt(path, stage)
        found += _pip(path, stage)
        found += _order(path, stage)
        for one in stage.instructions:
            found += _instruction(path, one)
            found += _exposed(path, one)
        found += secrets.in_stage(path, stage)
    found += secrets.in_text(path, text)
    if stages:
        found += _user(path, stages[-1])
    return found


def _remark(
    kind: str,
    severity: Severity,
    text: str,
    *,
    why: str,
    mend: str,
    file: str,
    line: int,
    subject: str,
) -> Remark:
    return Remark(
        code=f"dockerfile.{kind}",
        severity=severity,
        text=text,
        why=why,
        mend=mend,
        file=file,
        line=line,
        subject=subject,
    )


def _base(path: str, stage: Stage, names: set[str]) -> Iterator[Remark]:
    image = stage.base
    if not image or image.lower() in names | {"scratch"} or "$" in image or "@" in image:
        return
    tag = image.rpartition("/")[2].partition(":")[2]
    if tag in {"", "latest"}:
        yield _remark(
            "untagged",
            Severity.WARNING,
            f"the base image {image} has no tag" if not tag else f"the base image is {image}",
            why="the same file builds on another image tomorrow",
            mend="name a release, best with its digest",
            file=path,
            line=stage.line,
            subject=image,
        )


def _lost(path: str, old: tuple[Stage, ...], new: tuple[Stage, ...]) -> Iterator[Remark]:
    digests = {
        stage.base.partition("@")[0].partition(":")[0] for stage in old if "@sha256:" in stage.base
    }
    for stage in new:
        name = stage.base.partition(":")[0]
        if name in digests and "@" not in stage.base:
            yield _remark(
                "lost-digest",
                Severity.WARNING,
                f"the base image {stage.base} has lost its digest",
                why="a tag can be moved to another image",
                mend="write `@sha256:…` behind the tag",
                file=path,
                line=stage.line,
                subject=name,
            )
    if old and new and not _is_root(old[-1]) and _is_root(new[-1]):
        users = new[-1].of("USER")
        yield _remark(
            "lost-user",
            Severity.WARNING,
            "the image ran as a user and runs as root now",
            why="files in mounted folders then belong to root, and a broken process may do everything",
            mend="end the last stage with the `USER` of before",
            file=path,
            line=users[-1].line if users else new[-1].line,
            subject="USER",
        )


def _is_root(stage: Stage) -> bool:
    users = stage.of("USER")
    return not users or users[-1].value in _ROOT


def _user(path: str, stage: Stage) -> Iterator[Remark]:
    users = stage.of("USER")
    if len(users) > 1 and _is_root(stage):
        yield _remark(
            "root",
            Severity.NOTE,
            "the last USER is root",
            why="files in mounted folders then belong to root, and a broken process may do everything",
            mend="change back to the other user at the end",
            file=path,
            line=users[-1].line,
            subject="USER root",
        )


def _apt(path: str, stage: Stage) -> Iterator[Remark]:
    previous = ""
    for one in stage.instructions:
        text = one.value if one.word == "RUN" else ""
        installs = re.search(r"\bapt(?:-get)?\s+(?:-\S+\s+)*install\b", text)
        updates = re.search(r"\bapt(?:-get)?\s+(?:-\S+\s+)*update\b", text)
        if installs and not _cleans(one):
            yield _remark(
                "apt-lists",
                Severity.WARNING,
                "`apt-get install` leaves the package lists in its layer",
                why="they make the image tens of megabytes larger; removing them in a later layer does not help",
                mend="end the same RUN with `&& rm -rf /var/lib/apt/lists/*`",
                file=path,
                line=one.line,
                subject=_words(text),
            )
        if updates and not installs and not re.search(r"\bapt-get\b.*\bupgrade\b", text):
            yield _remark(
                "apt-update",
                Severity.WARNING,
                "`apt-get update` stands in a RUN of its own",
                why="its layer is cached, and a later install takes packages that are gone",
                mend="write update and install into one RUN",
                file=path,
                line=one.line,
                subject="apt-get update",
            )
        if installs and previous == "apt":
            yield _merge(path, one, "apt-get install")
        previous = "apt" if installs else ""


def _cleans(one: Instruction) -> bool:
    mounted = any("type=cache" in flag and "/var" in flag for flag in one.flags)
    return mounted or bool(
        re.search(r"rm\s+-\S+\s+[^&;]*/var/lib/apt|/var/lib/apt/lists|\bapt-clean\b", one.value)
    )


def _words(text: str) -> str:
    """Name an install by its first packages, which stay when others are added."""
    found = re.search(r"install\b(.*?)(?:&&|;|$)", text.replace("\n", " "))
    packages = [word for word in (found[1] if found else "").split() if not word.startswith("-")]
    return "apt-get install " + " ".join(packages[:1])


def _merge(path: str, one: Instruction, what: str) -> Remark:
    return _remark(
        "merge-layers",
        Severity.NOTE,
        f"two RUNs with `{what}` follow each other",
        why="each is a layer with its own lists and caches",
        mend="write them into one RUN",
        file=path,
        line=one.line,
        subject=_words(one.value),
    )


def _pip(path: str, stage: Stage) -> Iterator[Remark]:
    for install in docker.installs(stage):
        if install.cached:
            yield _remark(
                "pip-cache",
                Severity.NOTE,
                "`pip install` keeps its downloads in the layer",
                why="with torch this is more than a gigabyte that nobody reads again",
                mend="add `--no-cache-dir`, or a cache mount",
                file=path,
                line=install.line,
                subject=" ".join((*install.requirements[:1], *install.files[:1])).split("=")[0],
            )
    for one in stage.of("RUN"):
        for command in docker.commands(one):
            unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "''", command)
            found = _REDIRECT.search(unquoted)
            if "install" in command and found is not None:
                yield _remark(
                    "redirect",
                    Severity.ERROR,
                    f"the shell reads `{found[0].strip()}…` as a redirection",
                    why="the version is ignored, and a file with its name is written",
                    mend="put the requirement in quotes",
                    file=path,
                    line=one.line,
                    subject=found[0].strip(),
                )


def _order(path: str, stage: Stage) -> Iterator[Remark]:
    """Dependencies that are installed after the whole tree was copied."""
    copied: Instruction | None = None
    for one in stage.instructions:
        if one.word in {"COPY", "ADD"} and not any("--from" in flag for flag in one.flags):
            copied = one if one.value.split()[:1] in (["."], ["./"]) else copied
        if one.word != "RUN" or copied is None:
            continue
        files = [f for it in docker.installs(_only(stage, one)) for f in it.files]
        if files:
            yield _remark(
                "cache-order",
                Severity.NOTE,
                f"{files[0]} is installed after the whole tree is copied",
                why="every edit of any file installs all dependencies again",
                mend=f"copy {files[0]} and install it before `COPY {copied.value}`",
                file=path,
                line=one.line,
                subject=files[0],
            )
            return


def _only(stage: Stage, one: Instruction) -> Stage:
    return docker.Stage(
        name=stage.name,
        base=stage.base,
        line=stage.line,
        instructions=(*stage.of("ENV", "ARG"), one),
    )


def _instruction(path: str, one: Instruction) -> Iterator[Remark]:
    if one.word != "RUN":
        return
    found = _PIPE.search(one.value.replace("\n", " "))
    if found is not None:
        yield _remark(
            "pipe-shell",
            Severity.WARNING,
            "a script from the network is run unseen",
            why="whoever has the server has the image; a broken download runs half",
            mend="download it, compare its checksum, then run it",
            file=path,
            line=one.line,
            subject=found[0],
        )
    for command in docker.commands(one):
        cloned = re.search(r"\bgit\s+clone\b.*?(https?://\S+|git@\S+)", command)
        if cloned is None or re.search(r"\bgit\b.*\b(?:checkout|reset|switch)\b", one.value):
            continue
        if not re.search(r"\s(?:-b|--branch|--revision)[\s=]", command):
            yield _remark(
                "unpinned-clone",
                Severity.NOTE,
                f"{cloned[1]} is cloned at whatever its head is",
                why="the same file gives another image tomorrow",
                mend="check out a tag or a commit",
                file=path,
                line=one.line,
                subject=cloned[1],
            )


def _exposed(path: str, one: Instruction) -> Iterator[Remark]:
    if one.word not in {"RUN", "CMD", "ENTRYPOINT", "ENV"}:
        return
    text = " ".join(docker.commands(one)) if one.word != "ENV" else one.value
    open_to_all = re.search(
        r"--(?:Notebook|Server)?(?:App)?\.?ip[= ]['\"]?(?:0\.0\.0\.0|\*)", text
    )
    empty = r"(?:\.|Provider\.)?(?:token|password)\s*=\s*(?:''|\"\"|\\\"\\\")?(?=\s|$|['\"])"
    if "jupyter" in text and open_to_all and re.search(empty, text):
        yield _remark(
            "open-jupyter",
            Severity.WARNING,
            "Jupyter listens on all addresses without a token",
            why="everybody who reaches the port runs code in the container",
            mend="leave the token on, or listen on 127.0.0.1",
            file=path,
            line=one.line,
            subject="jupyter",
        )
    keyless = r"PermitEmptyPasswords\s+yes|root:\S+['\"]?\s*\|\s*chpasswd"
    found = re.search(keyless, text)
    if found is not None:
        yield _remark(
            "open-ssh",
            Severity.WARNING,
            "ssh is open to root with no password, or with one that stands in the file",
            why="everybody who reaches the port is root in the container",
            mend="allow keys alone (`PasswordAuthentication no`)",
            file=path,
            line=one.line,
            subject="ssh",
        )
