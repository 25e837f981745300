"""Facts of drafts, from runs of real changes that were stored as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit.drafts.values import DraftFacts
from presubmit.values import decode

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "data" / "drafts"


def read_facts(name: str, **changed: Any) -> DraftFacts:
    """Read the facts of a stored change, some of them replaced."""
    facts = decode((DATA / f"{name}.json").read_bytes(), DraftFacts)
    return msgspec.structs.replace(facts, **changed)


@pytest.fixture
def facts() -> Callable[..., DraftFacts]:
    return read_facts
