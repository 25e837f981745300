"""What each kind of asv's benchmarks does when it is called."""

import ast
import functools
import json
import os
import subprocess
import sys
import textwrap

from presubmit_bench.failure import tail
from presubmit_bench.work import Calls, Elsewhere, Value

_RAW = """\
from timeit import Timer
from presubmit_bench.clocks import Ticker
ticker = Ticker()
Timer(stmt={stmt!r}, setup={setup!r}, timer=ticker).timeit({number})
print(); print(repr(ticker.taken))
"""


def make_work(found, name, driver):
    """Give what the driver may call."""
    if type(found).__name__ == "TimerawBenchmark":
        return raw_work(found)
    if found.type == "time":
        return time_work(found)
    # The peak of a process that ran other benchmarks before says nothing of this one.
    if found.type == "peakmemory" and driver.mode == "run" and not driver.alone:
        return Value(lambda: ask_alone(driver, name))
    return Value(found.do_run)


def parameters(found):
    """Give what a benchmark's functions are called with: the cache, if any, and its parameters."""
    build = getattr(found, "_build_params", None)
    return tuple(build() if build else found._current_params)  # noqa: SLF001


def time_work(found):
    """Give a timed benchmark. Its setup runs before each sample: before `number` calls, else before each turn.

    asv_runner 0.3 sets up before every single call where `number` is not given (asv#966). Suites are written to the rule that asv has
    had before and its page still has, and what takes 10 us is not measured with a setup of 100 ms before every call.
    """
    used = []

    def fresh():
        if used:
            found.do_teardown()
            found.do_setup()
        used[:] = [True]
        given = parameters(found)
        return functools.partial(found.func, *given) if given else found.func

    return Calls(fresh, number=found.number, collects=False)


def raw_work(found):
    """Give a benchmark that gives source, to be timed in a new interpreter."""

    def once(number):
        given = found.func(*parameters(found))
        stmt, setup = given if isinstance(given, tuple) else (given, "")
        code = _RAW.format(stmt=textwrap.dedent(stmt), setup=textwrap.dedent(setup), number=number)
        environment = dict(os.environ, **(getattr(found, "_timeraw_env", None) or {}))
        command = [sys.executable, "-c", "import sys; exec(sys.stdin.read())"]
        ended = subprocess.run(
            command, input=code, capture_output=True, text=True, check=False, env=environment
        )
        if ended.returncode:
            raise RuntimeError("its process failed:\n" + tail(ended.stderr))
        return ast.literal_eval(ended.stdout.rstrip().rpartition("\n")[2])

    return Elsewhere(once, number=found.number or 1)


def ask_alone(driver, name):
    """Ask a process of its own for one value."""
    job = {
        "mode": "run",
        "suite": driver.suite,
        "ids": [name],
        "timeout": driver.timeout,
        "scratch": driver.scratch,
        "alone": True,
    }
    said = [job, {"do": "value"}, {"do": "next"}]
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    ended = subprocess.run(
        [sys.executable, *safe, "-m", "presubmit_bench"],
        input="".join(json.dumps(it) + "\n" for it in said),
        capture_output=True,
        text=True,
        check=False,
        cwd=driver.tree,
    )
    for line in ended.stdout.splitlines():
        answer = json.loads(line)
        if answer["say"] == "value":
            return answer["value"]
        if answer["say"] == "failed":
            raise RuntimeError(answer["error"])
    raise RuntimeError("its own process gave no value:\n" + tail(ended.stderr))
