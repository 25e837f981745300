"""Which files are tests depends on what runs them: that is upstream's to say, where the project itself does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.reading import asks_upstream, by_convention
from presubmit.selector.layout import CONFIG_NAMES, make_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.history import History
    from presubmit.reading import Reading, RunOptions


def with_runner(
    reading: Reading, options: RunOptions, environ: Mapping[str, str], history: History
) -> Reading:
    """Take over what upstream's jobs say, unless the project has a pytest configuration: that costs 0.2 s."""
    if "tests.command" in reading.config.origins or _configures_pytest(reading):
        return reading
    if not asks_upstream(reading, reading.head_reader):
        return by_convention(reading, reading.head_reader)
    from presubmit.upstream_taking import take_options  # noqa: PLC0415 - see above

    return take_options(reading, options, None, environ, history)[0]


def _configures_pytest(reading: Reading) -> bool:
    tree = reading.head_reader
    texts = {str(name): tree.text(name) or "" for name in CONFIG_NAMES if name in tree.blobs}
    return bool(make_settings(texts)[0].source)
