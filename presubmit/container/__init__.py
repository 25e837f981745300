"""Where steps run: a container engine's boxes, or the host behind the same protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.errors import EngineError

if TYPE_CHECKING:
    from presubmit.container.model import Box


def attach(box_id: str) -> Box:
    """Give the box that another process holds, by its id; `close` it when done, which ends nothing in it."""
    kind, _, _ = box_id.partition(":")
    match kind:
        case "docker":
            from presubmit.container.engine import attach_docker  # noqa: PLC0415 - only where it is wanted

            return attach_docker(box_id)
        case "host":
            from presubmit.container.host import HostBox  # noqa: PLC0415 - only where it is wanted

            return HostBox.from_id(box_id)
        case _:
            raise EngineError(f"box id {box_id!r} is neither `docker:…` nor `host:…`")
