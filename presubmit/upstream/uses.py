"""A use of an action before anything runs: what is wanted, and whether it can be had here."""

from __future__ import annotations

from presubmit.values import Value


class Wanted(Value, frozen=True, kw_only=True):
    """A use of an action, before it is run: `inputs` by lower-case name; None where not yet known."""

    uses: str
    """As written: `actions/setup-python@v5`, `./.github/actions/x`, `docker://alpine:3`."""
    inputs: dict[str, str | None] = {}
    repository: str = ""
    """`owner/name` of the project itself."""


class Support(Value, frozen=True, kw_only=True):
    """Whether a use can be replayed here."""

    lacks: str = ""
    """What is missing, in a few words: `Python 3.12 (the image has 3.11.2)`; empty where it can be replayed."""
    note: str = ""
    """What is done otherwise than upstream: `3.x is 3.11.2 here`."""
    stub: bool = False
    """Nothing is done at all (uploads of coverage and the like), and that is said."""
