"""Where a run's steps run: the engine and the image, or the host; and what belongs to the repository there."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from presubmit.change.mirror import open_mirror
from presubmit.reading import cache_root
from presubmit.selector.recorded_setting import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager, ExitStack

    from presubmit.change.mirror import Mirror
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.reading import Reading, RunOptions


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run's steps run."""

    engine: Engine | None
    image: ImageRef | None
    notes: tuple[str, ...] = ()

    def environment(self) -> dict[str, Any]:
        """Give what run.json says of it."""
        if self.engine is None or self.image is None:
            import platform  # noqa: PLC0415 - as below

            return {
                "kind": "host",
                "image": None,
                "image_id": None,
                "engine": None,
                "python": platform.python_version(),
            }
        info = self.engine.info
        return {
            "kind": "container",
            "image": self.image.name,
            "image_id": self.image.id,
            "image_digest": self.image.digest,
            "engine": f"{info.kind} {info.version}",
            "python": None,
        }


NOWHERE = Where(engine=None, image=None)


def history_path(reading: Reading) -> Path:
    """Name the repository's history."""
    return Path(reading.change.common_dir) / "presubmit" / "history.db"


def open_lane_mirror(
    reading: Reading, lane: str, *, wait: bool = False
) -> AbstractContextManager[Mirror]:
    """Hold a lane's mirror checkout; where another process has it, stop (or `wait`)."""
    return open_mirror(reading.repository, reading.cache / "mirrors", lane, wait=wait)


def start_connecting(
    options: RunOptions, environ: Mapping[str, str]
) -> Callable[[], Engine] | None:
    """Connect to the engine beside whatever else is read first; the result (or error) is for who calls it."""
    if not options.container:
        return None
    from concurrent.futures import Future  # noqa: PLC0415 - it loads logging, and only a run comes here

    from presubmit.container.engine import connect  # noqa: PLC0415 - docker costs 0.3 s

    future: Future[Engine] = Future()

    def work() -> None:
        try:
            future.set_result(connect(cache=cache_root(environ) / "engine"))
        except BaseException as error:  # noqa: BLE001 - handed to who asks for the result
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future.result


def find_where(
    reading: Reading,
    options: RunOptions,
    stack: ExitStack,
    connecting: Callable[[], Engine] | None = None,
) -> Where:
    """Find the engine and the image; or the host, where the user said so. Raises EngineError, ImageError."""
    if not options.container:
        return NOWHERE
    from presubmit import images  # noqa: PLC0415 - `select` comes here for the history alone

    connecting = connecting or start_connecting(options, os.environ)
    assert connecting is not None  # noqa: S101 - it is None on the host only
    choice = images.choose(reading, cli=options.image, trust_head=options.trust_head)
    engine = stack.enter_context(connecting())
    swept = engine.sweep()
    image, notes = images.resolve(reading, choice, engine, pull=options.pull)
    if swept:
        notes = (*notes, f"removed what dead runs left: {', '.join(swept)}")
    return Where(engine=engine, image=image, notes=notes)


def at_place(reading: Reading, where: Where, options: RunOptions) -> Reading:
    """Add to what was read which image tests run in: what another one recorded says nothing there."""
    found = (where.image.id if where.image else "") if options.container else HOST
    return msgspec.structs.replace(reading, image=found)


def boot_id() -> str:
    """Name this boot of the machine; empty where it has no such name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
