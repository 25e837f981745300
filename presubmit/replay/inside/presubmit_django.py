"""Django's test runner, the project's own one, on the chosen tests, with a record of what became of them.

`manage.py test --testrunner presubmit_django.Runner` imports it when the settings are known: it is made of the runner
that they name, or of the one in PRESUBMIT_TEST_RUNNER (docs.djangoproject.com, "Using different testing frameworks").
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, List

import presubmit_unittest  # type: ignore[import-not-found]
from django.conf import settings  # type: ignore[import-not-found]
from django.test.runner import ParallelTestSuite  # type: ignore[import-not-found]
from django.test.utils import get_runner  # type: ignore[import-not-found]

_own: Any = get_runner(settings, os.environ.pop("PRESUBMIT_TEST_RUNNER", None))
_run = presubmit_unittest.begin()
if _run is not None:
    # The processes that run its parts begin inside of it, so they neither choose nor record.
    presubmit_unittest.watch_suites(_run, ParallelTestSuite)

_ALONE = "presubmit: one process, since Django can tell no failure of another one without tblib\n"


class Runner(_own):  # type: ignore[misc]
    """The project's runner, told what to leave out."""

    def build_suite(self, *args: Any, **kwargs: Any) -> Any:
        """Leave out what was not chosen before databases are made for it."""
        if getattr(self, "parallel", 0) > 1 and importlib.util.find_spec("tblib") is None:
            sys.stderr.write(_ALONE)
            self.parallel = 1
        suite = super().build_suite(*args, **kwargs)
        if _run is not None:
            _run.choose(suite)
        return suite

    def run_tests(self, test_labels: List[str], *args: Any, **kwargs: Any) -> Any:
        """Record the beginning and the end."""
        if _run is None:
            return super().run_tests(test_labels, *args, **kwargs)
        _run.start()
        failures = super().run_tests(test_labels, *args, **kwargs)
        code = _run.end(1 if failures else 0)
        return failures or (1 if code else 0)
