"""The worker's own line: take the channel, read the job, run the suite's adapter, prove what was loaded."""

import importlib
import os
import platform
import sys


def main():
    """Serve one job."""
    tree = os.path.realpath(os.getcwd())
    if sys.version_info < (3, 11) and sys.path and os.path.realpath(sys.path[0]) == tree:
        # What -P does from 3.11 on: a folder of the checkout must not hide an installed package.
        del sys.path[0]
    from presubmit_bench.channel import take_channel
    from presubmit_bench.clocks import know_own_time
    from presubmit_bench.driver import Driver
    from presubmit_bench.failure import last_lines

    channel = take_channel()
    job = channel.hear()
    hello = {"pid": os.getpid(), "python": platform.python_version()}
    channel.say("hello", pinned=pin(job.get("core")), **hello)
    know_own_time()
    driver = Driver(channel, job, tree)
    adapters = {
        "asv": "presubmit_bench.asv",
        "pytest": "presubmit_bench.pytest_suite",
        "torch": "presubmit_bench.torch_scripts",
        "command": "presubmit_bench.commands",
    }
    try:
        importlib.import_module(adapters[driver.suite["adapter"]]).run(driver)
    except (Exception, SystemExit) as error:
        driver.broken(driver.suite["origin"], last_lines(error))
        driver.end(missing=last_lines(error))
    else:
        driver.end()
    sys.stdout.flush()


def pin(core):
    """Stay on one core; gives whether that was granted."""
    if core is None:
        return False
    try:
        os.sched_setaffinity(0, {core})
    except (OSError, AttributeError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
