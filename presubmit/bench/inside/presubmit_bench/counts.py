"""Counts instructions between `start` and `stop`: perf events, or callgrind where this process runs under valgrind."""

import ctypes
import errno
import fcntl
import os
import platform
import struct

from presubmit_bench.callgrind import OUT, Callgrind

_SYSCALLS = {"x86_64": 298, "aarch64": 241}
_HARDWARE, _INSTRUCTIONS = 0, 1
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_ENABLED_AND_RUNNING = 1 | 2
_SIZE = 112
_ENABLE, _DISABLE = 0x2400, 0x2401
_NONE = 2**64 - 1
"""What a virtual machine without a performance unit may give, without an error (facts/bench.md, trap 11)."""


def Counter():  # noqa: N802 - one of two classes
    """Give the counter that this process can have; its `why` says why it counts nothing."""
    return Callgrind() if os.environ.get(OUT) else Perf()


class Perf:
    """User-space instructions of this thread, and of the threads and processes that it starts."""

    tool = "perf"

    def __init__(self):
        self.total = 0
        self.why = ""
        self._fd = -1
        number = _SYSCALLS.get(platform.machine())
        if number is None:
            self.why = "no perf events known for {}".format(platform.machine())
            return
        # struct perf_event_attr of linux/perf_event.h up to its fifth version; the rest is zero.
        flags = _DISABLED | _INHERIT | _NO_KERNEL | _NO_HYPERVISOR
        head = (_HARDWARE, _SIZE, _INSTRUCTIONS, 0, 0, _ENABLED_AND_RUNNING, flags)
        attributes = ctypes.create_string_buffer(struct.pack("=IIQQQQQ", *head), _SIZE)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.restype = ctypes.c_long
        # This thread, on any core, in no group, closed in other programs (8).
        told = [ctypes.c_long(it) for it in (0, -1, -1, 8)]
        self._fd = libc.syscall(ctypes.c_long(number), ctypes.byref(attributes), *told)
        if self._fd < 0:
            self.why = _reason(ctypes.get_errno())

    def start(self):
        """Begin."""
        fcntl.ioctl(self._fd, _ENABLE, 0)

    def stop(self):
        """Pause."""
        fcntl.ioctl(self._fd, _DISABLE, 0)

    def end(self):
        """Read the total, or learn why there is none."""
        data = os.read(self._fd, 24)
        os.close(self._fd)
        total, enabled, running = struct.unpack("=QQQ", data)
        self.total, self.why = judge(total, enabled, running)


def judge(total, enabled, running):
    """Give a counter's number with an empty text, or 0 with why it says nothing."""
    if total == _NONE:
        return 0, "no performance unit (the counter gave 2^64-1)"
    if not total or not running:
        return 0, "no performance unit (the counter never ran)"
    if running < enabled:
        return 0, "the performance unit was shared with other counters"
    return total, ""


def _reason(number):
    if number in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV}:
        return "no performance unit ({})".format(os.strerror(number))
    if number in {errno.EACCES, errno.EPERM}:
        return "perf events are not allowed here"
    return "perf_event_open: {}".format(os.strerror(number))
