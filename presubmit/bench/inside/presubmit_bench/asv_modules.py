"""Finds asv's benchmarks module by module, so that one file that cannot be imported does not hide the others."""

import importlib
import inspect
import itertools
import os
import sys

from presubmit_bench.failure import last_lines
from presubmit_bench.proof import in_tree


def variants(found):
    """Give the id of each set of parameters, with its index: None where there are no parameters."""
    if not found.params:
        yield found.name, None
        return
    for index, values in enumerate(itertools.product(*found.params)):
        yield "{}[{}]".format(found.name, ", ".join(values)), index


class Modules:
    """The modules of one suite; each is imported when it is first asked for."""

    def __init__(self, driver, root):
        try:
            # Both are asv_runner's own; its public functions stop at the first file that does not import.
            from asv_runner._aux import update_sys_path
            from asv_runner.discovery import _get_benchmark
        except ImportError as error:
            raise ImportError("asv_runner is not usable here: {}".format(error)) from error
        self._read = _get_benchmark
        self._driver = driver
        self._root = root
        self._package = os.path.basename(root)
        self._found = {}
        self._errors = {}
        update_sys_path(root)

    def everything(self):
        """Give all benchmarks, each name once."""
        seen = set()
        for module in self._names():
            for name, make in self._load(module).items():
                if name not in seen:
                    seen.add(name)
                    yield make()

    def wanted(self):
        """Give what the driver wants in its order: id, index of the parameters, and a new benchmark."""
        for wanted in self._driver.ids:
            if not self._driver.wants(wanted):
                continue
            name = wanted.partition("[")[0]
            make = self._find(name)
            if make is None:
                error = self._error_of(name)
                if error:
                    self._driver.failed(wanted, error)
                continue
            found = make()
            index = dict(variants(found)).get(wanted, -1)
            if index != -1:
                yield wanted, index, found

    def file_of(self, found):
        """Give the file that a benchmark stands in."""
        function = inspect.unwrap(found.func)
        path = sys.modules[found.module_of_ours].__file__
        own = inspect.getsourcefile(function) or path
        # What is inherited from another file is listed with the file whose module has it.
        return in_tree(path or own, self._driver.tree)

    def _names(self):
        """Give the dotted names of all modules, packages before what is in them."""

        def walk(folder, prefix):
            yield prefix
            for entry in sorted(os.listdir(folder)):
                path = os.path.join(folder, entry)
                stem, extension = os.path.splitext(entry)
                if extension == ".py" and stem.isidentifier() and stem != "__init__":
                    yield "{}.{}".format(prefix, stem)
                elif os.path.isfile(os.path.join(path, "__init__.py")):
                    for name in walk(path, "{}.{}".format(prefix, entry)):
                        if not any(name.startswith(it + ".") for it in self._errors):
                            yield name

        return walk(self._root, self._package)

    def _find(self, name):
        """Give what makes a benchmark: its module's name begins its own, if it was not given another name."""
        full = "{}.{}".format(self._package, name)
        names = list(self._names())
        near = [it for it in names if full.startswith(it + ".")]
        for module in sorted(near, key=len, reverse=True) + [it for it in names if it not in near]:
            make = self._load(module).get(name)
            if make is not None:
                return make
        return None

    def _error_of(self, name):
        full = "{}.{}".format(self._package, name)
        known = [it for it in self._errors if (full + ".").startswith(it + ".")]
        return self._errors[max(known, key=len)] if known else ""

    def _load(self, module_name):
        """Give the benchmarks of one module by name, as functions that make them."""
        if module_name in self._found:
            return self._found[module_name]
        found = self._found[module_name] = {}
        try:
            module = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:
            self._say_broken(module_name, error)
            return found
        for owner, key, function in _candidates(module):
            try:
                make = self._maker(key, module, owner, function)
                bench = make()
            except (Exception, SystemExit) as error:
                parts = module_name.split(".")[1:] + ([owner.__name__] if owner else []) + [key]
                self._driver.broken(".".join(parts), last_lines(error))
                self._errors[".".join([self._package, *parts])] = last_lines(error)
                continue
            if bench is not None:
                found.setdefault(bench.name, make)
        return found

    def _maker(self, key, module, owner, function):
        def make():
            found = self._read(key, module, owner, function)
            if found is not None:
                found.module_of_ours = module.__name__
            return found

        return make

    def _say_broken(self, module_name, error):
        parts = module_name.split(".")[1:]
        path = os.path.join(self._root, *parts)
        path = os.path.join(path, "__init__.py") if os.path.isdir(path) else path + ".py"
        self._errors[module_name] = last_lines(error)
        self._driver.broken(in_tree(path, self._driver.tree), last_lines(error))


def _candidates(module):
    """Give what may be a benchmark: functions of the module, and methods of its classes."""
    for key, thing in list(vars(module).items()):
        if key.startswith("_"):
            continue
        if inspect.isclass(thing) and not inspect.isabstract(thing):
            for name, method in inspect.getmembers(thing):
                if inspect.isfunction(method) or inspect.ismethod(method):
                    yield thing, name, method
        elif inspect.isfunction(thing):
            yield None, key, thing
