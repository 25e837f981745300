"""The container engine, for tests that need a real one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from presubmit.container.engine import Engine, connect
from presubmit.errors import PresubmitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.container.model import ImageRef

TEST_IMAGE = os.environ.get("PRESUBMIT_TEST_IMAGE", "presubmit-test:deb")
"""A devel image that is there: `scripts/test-image` makes it."""


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine of DOCKER_HOST; without one the test is skipped, or fails where PRESUBMIT_REQUIRE_ENGINE=1."""
    try:
        found = connect(cache=tmp_path_factory.mktemp("engine"))
        found.image(TEST_IMAGE, origin="PRESUBMIT_TEST_IMAGE")
    except PresubmitError as error:
        if os.environ.get("PRESUBMIT_REQUIRE_ENGINE") == "1":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    with found:
        yield found


@pytest.fixture(scope="session")
def image(engine: Engine) -> ImageRef:
    """The devel image for tests."""
    return engine.image(TEST_IMAGE, origin="PRESUBMIT_TEST_IMAGE")
