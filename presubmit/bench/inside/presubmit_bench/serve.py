"""Obeys the driver for one benchmark: warm up, find the number of loops, take turns, count."""

import gc
import math

from presubmit_bench.clocks import Watch
from presubmit_bench.counts import Counter
from presubmit_bench.failure import Skipped
from presubmit_bench.work import MANY_ROUNDS

MOST_LOOPS = 10**9
_PATIENCE = 10
"""What is set up anew for each call may take so many times the seconds of a turn."""


def obey(channel, work):
    """Do what the driver says until it says `next`; what the benchmark raises goes on to the caller."""
    while True:
        told = channel.hear()
        do = told.get("do")
        if do == "next":
            return
        if do == "warm":
            channel.say("warm", seconds=warm(work, told["calls"]))
        elif do == "calibrate":
            channel.say("loops", loops=calibrate(work, told["seconds"]), fixed=work.fixed)
        elif do == "turn":
            channel.say("turn", **turn(work, told["loops"]))
        elif do == "value":
            channel.say("value", value=value(work))
        elif do == "kineto":
            channel.say("kineto", why=kineto(work, told["loops"], told["path"]))
        elif do == "count":
            channel.say("count", **count(work, told["loops"]))
        else:
            raise ValueError("the driver said {!r}, which is no command".format(do))


def warm(work, calls):
    """Call it a few times; gives the wall seconds of the last call."""
    watch = Watch(waits=False)
    made = 1
    for _ in range(max(calls, 1)):
        watch = Watch(waits=False)
        made = work.run(1, watch)
    return watch.wall / made


def calibrate(work, seconds):
    """Find how many calls take so many seconds of work; rounded up to the rounds that the suite asks for."""
    clock = Watch(waits=False)
    loops = work.number or 1
    while True:
        watch = Watch()
        clock.start()
        work.run(loops, watch)
        clock.stop()
        if watch.busy >= seconds or clock.wall >= _PATIENCE * seconds or loops >= MOST_LOOPS:
            return loops
        clock = Watch(waits=False)
        # A first call is slow, hence steps of ten at most and another look at the end.
        factor = min(10.0, max(1.1, seconds / watch.busy if watch.busy > 0 else 10.0))
        unit = work.number or 1
        loops = unit * max(loops // unit + 1, math.ceil(loops * factor / unit))


def turn(work, loops):
    """Time so many calls; gives seconds a call."""
    gc.collect()
    watch = Watch(waits=work.rounds(loops)[0] <= MANY_ROUNDS)
    made = work.run(loops, watch)
    work.samples.append(watch.wall / made)
    wait = watch.wait
    return {
        "wall": watch.wall / made,
        "cpu": watch.cpu / made,
        "wait": None if wait is None else wait / made,
    }


def value(work):
    """Ask the benchmark for its number."""
    found = work.value()
    try:
        number = float(found)
    except (TypeError, ValueError):
        raise TypeError("it gave {!r:.80}, which is no number".format(found)) from None
    if math.isnan(number):
        raise Skipped("it gave nan")  # so says asv that there is nothing to say
    if not math.isfinite(number):
        raise ValueError("it gave {}".format(number))
    return number


def kineto(work, loops, path):
    """Have torch trace so many calls into a file (https://docs.pytorch.org/docs/stable/profiler.html); gives why not."""
    try:
        from torch.profiler import profile
    except ImportError as error:
        return "torch cannot trace: {}".format(error)
    with profile() as traced:
        work.run(loops, Watch(waits=False))
    traced.export_chrome_trace(path)
    return ""


def count(work, loops):
    """Count the instructions of so many calls; gives those of one, or why they are not known."""
    empty = Counter()
    why = empty.why
    if work.elsewhere and empty.tool == "valgrind":
        why = "it runs in a process of its own"
    if not why:
        # What starting and stopping takes is not the benchmark's.
        empty.start()
        empty.stop()
        empty.end()
        gc.collect()
        counter = Counter()  # not before: callgrind stops with the end of one
        made = work.run(loops, counter)
        counter.end()
        why = counter.why
        if not why:
            own = max(counter.total - empty.total, 0)
            return {"instructions": own / made, "tool": counter.tool, "why": ""}
    return {"instructions": None, "tool": empty.tool, "why": why}
