"""Counts instructions under valgrind: tells callgrind when to count, and reads what it wrote.

Started as `valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no --callgrind-out-file=OUT.%p python …` with OUT in the environment.
"""

import ctypes
import mmap
import os
import platform
import re

OUT = "PRESUBMIT_BENCH_CALLGRIND"

# What valgrind takes for a request: a sequence of instructions that does nothing on a real core (valgrind.h, amd64): four
# rotations of a register that add up to none, then `xchg rbx, rbx`. Before it: the arguments' address to rax, the default to rdx.
_REQUEST = bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_RUNNING = 0x1001
_TOOL = (ord("C") << 24) + (ord("T") << 16)
_DUMP, _ZERO, _TOGGLE, _, _START, _STOP = range(_TOOL, _TOOL + 6)
_TOTAL = re.compile(rb"^(?:totals|summary): +(\d+)", re.MULTILINE)

_kept = {}


def request(code):
    """Ask valgrind for something; gives 0 without valgrind."""
    if "call" not in _kept:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        kind = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
        _kept.update(page=page, call=kind(address))
    arguments = (ctypes.c_size_t * 6)(code)
    return _kept["call"](ctypes.addressof(arguments), 0)


class Callgrind:
    """The instructions that callgrind's model of the processor runs: no AVX-512 up to 3.19 at least (facts/bench.md, trap 10)."""

    tool = "valgrind"

    def __init__(self):
        self.total = 0
        self.why = ""
        self._out = "{}.{}".format(os.environ[OUT], os.getpid())
        if platform.machine() != "x86_64":
            self.why = "no requests to valgrind known for {}".format(platform.machine())
            return
        try:
            running = request(_RUNNING)
        except (OSError, ValueError) as error:
            self.why = "no memory that may be run: {}".format(error)
            return
        if not running:
            self.why = "not under valgrind"
            return
        request(_START)
        request(_ZERO)

    def start(self):
        """Begin."""
        request(_TOGGLE)

    def stop(self):
        """Pause."""
        request(_TOGGLE)

    def end(self):
        """Let it write the total down, and read it."""
        before = set(self._files())
        request(_DUMP)
        request(_STOP)
        self.why = "callgrind wrote no total"
        for path in set(self._files()) - before:
            with open(path, "rb") as stream:
                found = _TOTAL.findall(stream.read())
            os.unlink(path)
            if found:
                self.total, self.why = int(found[-1]), ""

    def _files(self):
        folder, name = os.path.split(self._out)
        return [
            os.path.join(folder, it)
            for it in os.listdir(folder or ".")
            if it.startswith(name + ".")
        ]
