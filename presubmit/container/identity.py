"""Who a box runs as: uid, gid, and the passwd and group files that make it somebody inside."""

from __future__ import annotations

import io
import secrets
import tarfile
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOME: Final = "/tmp/home"  # noqa: S108 - inside the box, on a tmpfs of its own
NAME: Final = "presubmit"
HOSTS: Final = "127.0.0.1 localhost presubmit\n::1 localhost ip6-localhost\n"
_FILE_LIMIT: Final = 1 << 20


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A numeric user of a box; `name` is what passwd calls it."""

    uid: int
    gid: int
    name: str = NAME

    @property
    def user(self) -> str:
        """As the engine wants it."""
        return f"{self.uid}:{self.gid}"


def resolve_user(user: str, *, uid: int, gid: int, rootless: bool) -> tuple[int, int] | None:
    """Give the uid and gid that `user` (of a BoxSpec) stands for; None for the image's own user.

    On a rootless engine root inside the box *is* the caller outside.
    """
    match user:
        case "image":
            return None
        case "caller":
            return (0, 0) if rootless else (uid, gid)
        case _:
            first, _, second = user.partition(":")
            if first.isdecimal() and second.isdecimal():
                return int(first), int(second)
            raise ConfigError(
                f"container user {user!r} is not `caller`, `image` or `uid:gid`",
                hint='Write the numbers, for instance user = "1000:1000".',
            )


def passwd_with(text: str, *, uid: int, gid: int) -> tuple[str, Identity]:
    """Give the image's passwd text with one line for the caller, and who the caller is by it.

    The image's own line for that uid makes way (its home is not writable for us), but its name is kept.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    own = [line for line in lines if _field(line, 2) == str(uid)]
    names = {_field(line, 0) for line in lines}
    name = _field(own[0], 0) if own else (NAME if NAME not in names else f"{NAME}-{uid}")
    kept = [line for line in lines if line not in own]
    line = f"{name}:x:{uid}:{gid}:presubmit:{HOME}:/bin/sh"
    return "\n".join([line, *kept]) + "\n", Identity(uid=uid, gid=gid, name=name)


def group_with(text: str, *, gid: int) -> str:
    """Give the image's group text with a line for the caller's group, if it has none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_field(line, 2) == str(gid) for line in lines):
        return "\n".join(lines) + "\n"
    names = {_field(line, 0) for line in lines}
    name = NAME if NAME not in names else f"{NAME}-{gid}"
    return "\n".join([f"{name}:x:{gid}:", *lines]) + "\n"


def identity_files(
    cache: Path, *, image_id: str, uid: int, gid: int, read_from_image: Callable[[str], bytes]
) -> tuple[Identity, Path, Path]:
    """Give the caller's identity in an image and its passwd and group files, made once per image.

    `read_from_image` gives the tar that holds one file of the image, empty where the image has none.
    """
    originals = cache / "identity" / image_id.replace(":", "-")
    texts = [
        _original(originals / name, f"/etc/{name}", read_from_image)
        for name in ("passwd", "group")
    ]
    passwd, identity = passwd_with(texts[0], uid=uid, gid=gid)
    folder = originals / f"{uid}-{gid}"
    write_once(folder / "passwd", passwd)
    write_once(folder / "group", group_with(texts[1], gid=gid))
    return identity, folder / "passwd", folder / "group"


def write_once(path: Path, text: str) -> Path:
    """Write a small file for mounting, in one step; a file with this text is left alone."""
    if not path.is_file() or path.read_text(encoding="utf-8", errors="surrogateescape") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        scratch.write_text(text, encoding="utf-8", errors="surrogateescape")
        scratch.chmod(0o644)
        scratch.replace(path)
    return path


def _original(kept: Path, path: str, read_from_image: Callable[[str], bytes]) -> str:
    if not kept.is_file():
        write_once(kept, _member(read_from_image(path)))
    return kept.read_text(encoding="utf-8", errors="surrogateescape")


def _member(archive: bytes) -> str:
    """Read the one regular file of a tar; empty where there is none."""
    if not archive:
        return ""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            held = tar.extractfile(member) if member.isfile() else None
            if held is not None:
                return held.read(_FILE_LIMIT).decode("utf-8", "surrogateescape")
    return ""


def _field(line: str, number: int) -> str:
    fields = line.split(":")
    return fields[number] if len(fields) > number else ""
