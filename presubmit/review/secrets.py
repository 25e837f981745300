"""Secrets in a Dockerfile: in ARG and ENV, copied files, and tokens of known shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.review import docker
from presubmit.review.values import Remark, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.review.docker import Stage

_NAME: Final = re.compile(
    r"(?:^|_)(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)(?:$|_(?!FILE|PATH|DIR|URL|NAME))",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,}|hf_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|pypi-AgEI\w{20,}"
    r"|sk-[A-Za-z0-9_-]{32,}|xox[bap]-[\w-]{20,})"
)
_FILE: Final = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?!example|sample|template)\w+)?|\.netrc|\.pypirc|id_(?:rsa|ed25519|ecdsa)|[^/\s]+\.pem|\.aws/?|\.ssh/?)$"
)
_WHY: Final = "everybody who has the image can read it, out of its history too"


def in_stage(path: str, stage: Stage) -> Iterator[Remark]:
    """Give the secrets that a stage is given by ARG, ENV and COPY."""
    for one in stage.of("ARG", "ENV"):
        for name, value in docker.assignments(one):
            if not _NAME.search(name) or value.lower() in {"true", "false", "0", "1", "none"}:
                continue
            written = bool(value) and "$" not in value and not value.startswith(("<", "/"))
            if one.word == "ENV" and not value:
                continue
            yield _remark(
                Severity.ERROR if written else Severity.WARNING,
                f"{one.word} {name} holds a secret"
                if written
                else f"the secret {name} is given by {one.word}",
                path,
                one.line,
                name,
            )
    for one in stage.of("COPY", "ADD"):
        for word in docker.words_of(one.value)[:-1]:
            if _FILE.search(word) and not any("--from" in flag for flag in one.flags):
                yield _remark(
                    Severity.WARNING,
                    f"{one.word} puts {word} into the image",
                    path,
                    one.line,
                    word,
                )


def in_text(path: str, text: str) -> Iterator[Remark]:
    """Give the tokens that stand anywhere in the file; they are never repeated."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _TOKEN.search(line)
        if found is not None:
            shape = found[0][:4]
            yield _remark(
                Severity.ERROR,
                f"a token ({shape}…) is written here",
                path,
                number,
                f"{shape} token",
            )


def _remark(severity: Severity, text: str, path: str, line: int, subject: str) -> Remark:
    return Remark(
        code="dockerfile.secret",
        severity=severity,
        text=text,
        why=_WHY,
        mend="give it by `RUN --mount=type=secret`, or when the container starts",
        file=path,
        line=line,
        subject=subject,
    )
