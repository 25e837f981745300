"""asv's suites, through asv_runner's benchmark classes (https://asv.readthedocs.io/en/stable/writing_benchmarks.html says their rules)."""

import os

from presubmit_bench.asv_cache import Caches
from presubmit_bench.asv_modules import Modules, variants
from presubmit_bench.asv_work import make_work
from presubmit_bench.failure import Skipped


def run(driver):
    """List or run one suite."""
    modules = Modules(driver, os.path.join(driver.tree, driver.suite["root"]))
    if driver.lists:
        for found in modules.everything():
            for name, _ in variants(found):
                kind = "time" if found.type == "time" else "value"
                driver.bench(name, modules.file_of(found), kind, str(found.unit))
        return
    caches = Caches(driver.folder())
    for name, index, found in modules.wanted():
        try:
            run_one(driver, name, index, found, caches)
        except (Exception, SystemExit) as error:
            if _skips(error):
                driver.skipped(name, "it is skipped: {}".format(error))
            else:
                driver.failed(name, error)
        finally:
            driver.finish(name)


def run_one(driver, name, index, found, caches):
    """Set one benchmark up, let the driver have it, tear it down."""
    driver.begin(found.timeout)
    if index is not None:
        found.set_param_idx(index)
    caches.enter(found, driver)
    if found.do_setup():
        driver.skipped(name, "its setup raised NotImplementedError, or its parameters are skipped")
        found.do_teardown()
        return
    try:
        driver.offer(name, make_work(found, name, driver))
    finally:
        found.do_teardown()


def _skips(error):
    """Whether a benchmark says by an exception that it does not run here; a plain NotImplementedError is a failure."""
    names = {it.__name__ for it in type(error).__mro__}
    return isinstance(error, Skipped) or "SkipNotImplemented" in names
