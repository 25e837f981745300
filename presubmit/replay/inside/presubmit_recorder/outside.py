"""Looks at what a process keeps outside of the project's modules: variables, hooks, handlers, the working folder."""

import contextvars
import copyreg
import locale
import logging
import os
import signal
import sys
import threading
import warnings

_OURS = frozenset((b"PYTEST_CURRENT_TEST", b"PRESUBMIT_RECORDER", b"PRESUBMIT_RECORDER_CONTEXT"))
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE")


def look():
    """Give what is there by name; each value is a plain one, or a list of objects to be compared by identity."""
    return {
        "os.environ": {k: v for k, v in os.environ._data.items() if k not in _OURS},  # noqa: SLF001
        "os.getcwd()": _folder(),
        "sys.path": list(map(str, sys.path)),
        "sys.meta_path": [*map(id, sys.meta_path)],
        "sys.path_hooks": [*map(id, sys.path_hooks)],
        "sys.excepthook": [id(sys.excepthook), id(sys.displayhook)],
        "warnings.filters": [*map(_filter, warnings.filters)],
        "logging": _loggers(),
        "signal": [
            id(signal.getsignal(getattr(signal, it))) for it in _SIGNALS if hasattr(signal, it)
        ],
        "locale": locale.setlocale(locale.LC_ALL),
        "threading": threading.active_count(),
        "copyreg": [*map(id, copyreg.dispatch_table.values())],
        "contextvars": sorted((id(k), id(v)) for k, v in contextvars.copy_context().items()),
        "builtins": len(vars(sys.modules["builtins"])),
    }


def _folder():
    try:
        return os.getcwd()
    except OSError:
        return ""


def _filter(one):
    return (one[0], str(one[1]), id(one[2]), str(one[3]), one[4])


def _loggers():
    """Give what was set of each logger; pytest's handlers, and what loggers remember of levels, apart."""
    found = []
    for name, one in [("", logging.root), *logging.root.manager.loggerDict.items()]:
        if isinstance(one, logging.Logger):
            handlers = [
                id(it) for it in one.handlers if not type(it).__module__.startswith("_pytest")
            ]
            if handlers or one.filters or one.disabled or not one.propagate or one.level:
                level = one.level if name else 0  # pytest sets the root's while a test runs
                found.append(
                    (name, level, one.propagate, one.disabled, handlers, len(one.filters))
                )
    return found
