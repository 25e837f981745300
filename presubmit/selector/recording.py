"""What a recorded run saw: for every test the functions that ran, the files it opened and the folders it listed."""

from __future__ import annotations

from presubmit.values import Value


class Ran(Value, frozen=True, kw_only=True):
    """One context of a recorded run. All paths are relative to the tree's root, with `/`.

    `context` is one of
    `test:tests/test_a.py::C::test_x` (set-up, call and tear-down; parameters are joined: the id has no `[...]`),
    `collect:tests/test_a.py` (the import of a test module and all that happens there),
    `fixture:<where it is defined>::<name>` (set-up of a fixture of wider than function scope, whichever test came first),
    `session:` (everything else: conftests, plugins, session hooks).
    """

    context: str
    functions: dict[str, tuple[str, ...]] = {}
    """For each file of the tree, the qualified names (as in `Shape`) of the functions of which a body line ran."""
    modules: tuple[str, ...] = ()
    """Files of which module-level code ran in this context: they were imported first here."""
    opened: tuple[str, ...] = ()
    """Files of the tree that were opened for reading (Python sources that were merely imported apart)."""
    listed: tuple[str, ...] = ()
    """Folders of the tree that were listed; `.` is the root."""
    uses: tuple[str, ...] = ()
    """Other contexts that this one rests on: the wider fixtures that a test got."""
    open: str = ""
    """Why this is not all that ran (`started a process that was not recorded`, `forked`, `another tracer`), or empty."""
    outcome: str = "passed"
    """Of a test: `passed`, `failed` or `skipped`; failed where any of its parameters did."""
    seconds: float = 0.0
    left: tuple[str, ...] | None = None
    """Of a test: what it left changed that outlives it (`pkg.core.CACHE`), empty where nothing; None: not known."""


def left_by_both(
    one: tuple[str, ...] | None, other: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Join what was left: what is not known of one is not known of both."""
    return None if one is None or other is None else tuple(sorted({*one, *other}))


class Recording(Value, frozen=True, kw_only=True):
    """One recorded test process, or several that were joined."""

    python: str
    """`3.11.2`"""
    core: str
    """`ctrace`, or from Python 3.12 `monitoring`; any other is refused (facts: coverage's `sysmon` loses contexts)."""
    environment: str
    """Digest of the installed distributions (the project's own apart), of the Python and the platform."""
    contexts: tuple[Ran, ...]
    complete: bool
    """The session came to its end: contexts that are absent were not in it. False after -x, a crash, Ctrl-C."""
    chosen: tuple[str, ...] = ()
    """Ids (without parameters) of the tests that were to run: what of them has no context did not."""
    note: str = ""
    """Why nothing or not everything was recorded, for the user: `left alone: the project measures coverage itself (--cov)`."""
