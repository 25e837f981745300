"""Notes which functions of the project run: `sys.monitoring` from Python 3.12 on, a profile function before."""

import ast
import contextlib
import os
import sys
import threading

from presubmit_bench.proof import in_tree

_TOOL = 4
"""One of sys.monitoring's ids without a meaning of its own: coverage and debuggers take others."""

_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}


def _pool_processes():
    """Give something that changes when multiprocessing starts a process, which it does without an audit event."""
    module = sys.modules.get("multiprocessing.process")
    return repr(getattr(module, "_process_counter", ""))


class Trace:
    """What runs on all threads that begin after this (from 3.12 on: on all).

    What runs while no benchmark does (imports, fixtures of a whole module) belongs to every benchmark that comes after it.
    """

    def __init__(self, tree, watch):
        self._tree = tree
        self._watch = set(watch)
        self._shared = set()
        self._own = set()
        self._codes = self._shared
        self._names = {}
        self._folders = None
        self._kept = {}
        self._processes = 0
        self._begun = ""
        sys.addaudithook(self._heard)
        if hasattr(sys, "monitoring"):
            monitoring = sys.monitoring
            monitoring.use_tool_id(_TOOL, "presubmit_bench")
            monitoring.register_callback(_TOOL, monitoring.events.PY_START, self._started)
            monitoring.set_events(_TOOL, monitoring.events.PY_START)
        else:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def start(self):
        """Begin a benchmark."""
        self._own = set()
        self._processes = 0
        self._begun = _pool_processes()
        self._to(self._own)

    def stop(self):
        """End a benchmark; gives the functions by file."""
        self._to(self._shared)
        found = {}
        for code in self._own | self._shared:
            for file in self._places(code.co_filename):
                found.setdefault(file, set()).add(self._name(code))
        return {file: sorted(names) for file, names in sorted(found.items())}

    @property
    def elsewhere(self):
        """Whether the last benchmark started processes: what ran in them was not seen."""
        return self._processes > 0 or self._begun != _pool_processes()

    @contextlib.contextmanager
    def shared(self):
        """Let what runs belong to the later benchmarks, too."""
        before = self._codes
        self._to(self._shared)
        try:
            yield
        finally:
            self._to(before)

    def end(self):
        """Note nothing more."""
        if hasattr(sys, "monitoring"):
            sys.monitoring.set_events(_TOOL, 0)
            sys.monitoring.free_tool_id(_TOOL)
        else:
            sys.setprofile(None)
            threading.setprofile(None)

    def _to(self, codes):
        self._codes = codes
        if hasattr(sys, "monitoring"):
            sys.monitoring.restart_events()

    def files(self):
        """Give the files of the project that are loaded by now."""
        paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        return sorted({place for path in paths if path for place in self._places(path)})

    def _heard(self, event, _):
        if event in _STARTS:
            self._processes += 1

    def _started(self, code, _):
        self._codes.add(code)
        return sys.monitoring.DISABLE

    def _profile(self, frame, event, _):
        if event == "call":
            self._codes.add(frame.f_code)

    def _places(self, path):
        """Give a file as the tree knows it; for one that is installed elsewhere, every file of the tree that it can be a copy of."""
        # Some modules have names like `_ops.py` that are no files at all.
        if not isinstance(path, str) or not os.path.isabs(path):
            return []
        place = in_tree(path, self._tree)
        if not os.path.isabs(place) and "site-packages" not in place.split(os.sep):
            return [place]
        real = os.path.realpath(path)
        for own, root in self._roots():
            if real.startswith(own):
                inner = os.path.relpath(real, root)
                found = [os.path.join(it, inner) for it in self._sources(inner.split(os.sep)[0])]
                # What the build wrote is nowhere in the tree.
                known = [it for it in found if os.path.isfile(os.path.join(self._tree, it))]
                return [os.path.normpath(it) for it in known] or [inner]
        return []

    def _sources(self, name):
        """Give the folders of the tree that hold a package or module of this name: `src`, `py`, the top."""
        if name not in self._kept:
            found = []
            for folder, folders, files in os.walk(self._tree):
                folders[:] = [
                    it
                    for it in folders
                    if not it.startswith(".")
                    and it != "node_modules"
                    and not os.path.exists(os.path.join(folder, it, "pyvenv.cfg"))
                ]
                if name in folders or name in files:
                    found.append(os.path.relpath(folder, self._tree))
            self._kept[name] = found
        return self._kept[name]

    def _roots(self):
        """Give the folders (or files) of the watched modules with the folder that they are imported from."""
        if self._folders is None or len(self._folders) < len(self._watch):
            self._folders = []
            for name in sorted(self._watch & set(sys.modules)):
                file = getattr(sys.modules[name], "__file__", None)
                if isinstance(file, str):
                    file = os.path.realpath(file)
                    package = hasattr(sys.modules[name], "__path__")
                    own = os.path.dirname(file) + os.sep if package else file
                    root = os.path.dirname(os.path.dirname(file) if package else file)
                    self._folders.append((own, root))
        return self._folders

    def _name(self, code):
        qualname = getattr(code, "co_qualname", None)
        if qualname is not None:
            return qualname
        if code.co_filename not in self._names:
            self._names[code.co_filename] = _qualnames(code.co_filename)
        return self._names[code.co_filename].get((code.co_firstlineno, code.co_name), code.co_name)


def _qualnames(path):
    """Give the full names of a file's functions by first line and name, for Pythons whose code does not know them."""
    found = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                # A code object begins at its first decorator.
                lines = [child.lineno] + [it.lineno for it in child.decorator_list]
                found[min(lines), child.name] = prefix + child.name
                visit(child, prefix + child.name + ".<locals>.")
            elif isinstance(child, ast.ClassDef):
                visit(child, prefix + child.name + ".")
            else:
                visit(child, prefix)

    try:
        with open(path, "rb") as stream:
            visit(ast.parse(stream.read()), "")
    except (OSError, SyntaxError, ValueError):
        return {}
    return found
