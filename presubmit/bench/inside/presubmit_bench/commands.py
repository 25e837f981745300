"""Programs as benchmarks: the whole process is timed, or gives numbers in a file."""

import json
import os
import subprocess
import tempfile
import time

from presubmit_bench.failure import tail
from presubmit_bench.work import Elsewhere, Value


def run(driver):
    """List or run one command."""
    command = Command(driver)
    name = driver.suite["root"]
    if not driver.suite.get("json"):
        driver.bench(name, driver.suite["origin"])
        _offer(driver, name, Elsewhere(command.once))
        return
    if driver.lists:
        driver.begin()
        for metric, unit in sorted(command.units().items()):
            driver.bench("{}::{}".format(name, metric), driver.suite["origin"], "value", unit)
        driver.finish(name)
        return
    for wanted in driver.ids:
        metric = wanted.partition("::")[2]
        _offer(driver, wanted, Value(lambda metric=metric: command.number(metric)))


def _offer(driver, name, work):
    if driver.wants(name):
        driver.begin()
        try:
            driver.offer(name, work)
        except Exception as error:
            driver.failed(name, error)
        finally:
            driver.finish(name)


class Command:
    """One program; for its numbers it runs once in this process."""

    def __init__(self, driver):
        self._command = driver.suite["command"]
        self._file = os.path.join(driver.tree, driver.suite.get("json") or "")
        self._read = None

    def once(self, calls):
        """Run it; gives wall seconds, CPU seconds with those of what it started and awaited, and no wait, which is not known."""
        wall = cpu = 0.0
        for _ in range(calls):
            with tempfile.TemporaryFile() as output:
                begun = time.perf_counter()
                process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
                )
                _, status, usage = os.wait4(process.pid, 0)
                wall += time.perf_counter() - begun
                # It is gone: without this subprocess would wait for whoever has its number next.
                process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
                cpu += usage.ru_utime + usage.ru_stime
                if status:
                    output.seek(0)
                    said = tail(output.read().decode("utf-8", "replace"))
                    how = (
                        "exit code {}".format(os.WEXITSTATUS(status))
                        if os.WIFEXITED(status)
                        else "signal {}".format(os.WTERMSIG(status))
                    )
                    raise RuntimeError("the command ended with {}\n{}".format(how, said))
        return wall, cpu, None

    def units(self):
        """Give the names of its numbers, with their units."""
        return {name: unit for name, (_, unit) in self._numbers().items()}

    def number(self, metric):
        """Give one of its numbers."""
        numbers = self._numbers()
        if metric not in numbers:
            raise KeyError("{} has no number {!r}".format(self._file, metric))
        return numbers[metric][0]

    def _numbers(self):
        if self._read is None:
            if os.path.exists(self._file):
                os.unlink(self._file)
            self.once(1)
            with open(self._file, encoding="utf-8") as stream:
                self._read = numbers_of(json.load(stream))
        return self._read


def numbers_of(data):
    """Give number and unit by name, from an object (name: number) or a list of {name, value, unit}."""
    if isinstance(data, dict):
        items = [(name, value, "") for name, value in data.items()]
    elif isinstance(data, list) and all(isinstance(it, dict) and "name" in it for it in data):
        items = [(str(it["name"]), it.get("value"), str(it.get("unit", ""))) for it in data]
    else:
        raise TypeError("its JSON is neither an object nor a list of {name, value}")
    found = {
        name: (float(value), unit)
        for name, value, unit in items
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    if not found:
        raise ValueError("its JSON has no numbers")
    return found
