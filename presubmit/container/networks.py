"""Networks of single cells: a job's box and its services find each other there by name."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from presubmit.container import owner as ownership
from presubmit.container.faults import calling, engine_faults, explain
from presubmit.errors import EngineError

if TYPE_CHECKING:
    from docker.api.client import APIClient

    from presubmit.container.engine import Engine

_IN_USE: Final = 403
_WAIT_SECONDS: Final = 20.0


def make_network(engine: Engine, *, run: str, repo: str, lane: str) -> str:
    """Make a bridge network and give its name."""
    name = f"presubmit-{ownership.slug(run)}-{ownership.slug(lane)}-{secrets.token_hex(4)}"
    with calling("cannot make a network"):
        engine.api.create_network(
            name,
            driver="bridge",
            check_duplicate=True,
            labels=ownership.labels_now(run=run, repo=repo, lane=lane),
        )
    return name


def remove_network(engine: Engine, name: str) -> None:
    """Remove a network; a box that is still in it loses it."""
    until = time.monotonic() + _WAIT_SECONDS
    while (fault := _try_to_remove(engine.api, name)) is not None:
        _empty(engine.api, name)
        if time.monotonic() > until:
            raise EngineError(f"cannot remove network {name}: {fault}")
        time.sleep(0.05)


def sweep_networks(api: APIClient, *, dry_run: bool) -> tuple[str, ...]:
    """Remove the networks that dead presubmit processes of this host left; gives their names."""
    with calling("cannot list networks"):
        found = api.networks(filters={"label": f"{ownership.PREFIX}owner"})
    orphans = [
        str(one["Name"]) for one in found if ownership.is_left_behind(one.get("Labels") or {})
    ]
    # One that a kept box is in stays with it.
    return tuple(name for name in orphans if dry_run or _try_to_remove(api, name) is None)


def _empty(api: APIClient, name: str) -> None:
    with suppress(*engine_faults()):  # they may be leaving by themselves
        for container in api.inspect_network(name)["Containers"]:
            api.disconnect_container_from_network(container, name, force=True)


def _try_to_remove(api: APIClient, name: str) -> str | None:
    """Remove a network if nothing is in it; gives what is, None where it is gone."""
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker costs 0.3 s

    try:
        api.remove_network(name)
    except NotFound:
        return None
    except APIError as error:
        if error.status_code == _IN_USE:  # "has active endpoints"
            return explain(error)
        raise EngineError(f"cannot remove network {name}: {explain(error)}") from error
    except engine_faults():
        return None  # the engine is gone; the next run sweeps
    return None
