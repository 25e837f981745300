"""Find the extension modules that a build made, and import each to see that it is the one Python takes.

Arguments: the source folder, the build folder, the distribution's name, the file to write the answer to.
"""

import importlib
import importlib.machinery
import json
import os
import sys
from importlib import metadata

source, build, distribution, answer = sys.argv[1:5]
SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)
SKIPPED = {".git", "node_modules", "__pycache__", ".tox", ".nox", ".venv", "venv"}


def walk(top, skipped):
    """Give every extension file below a folder."""
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in skipped]
        for name in files:
            if name.endswith(SUFFIXES):
                yield os.path.join(folder, name)


def stem(path):
    """Strip `.cpython-311-x86_64-linux-gnu.so`, `.abi3.so` or `.so`."""
    name = os.path.basename(path)
    return name[: -max(len(suffix) for suffix in SUFFIXES if name.endswith(suffix))]


def dotted(path):
    """Name the module by the packages that its folders are."""
    parts, folder = [stem(path)], os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return ".".join(parts)


def attempt(name):
    """Import a module; (its file, what went wrong)."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # the module is the project's: whatever it raises is the answer
        return None, "%s: %s" % (type(error).__name__, error)
    return getattr(module, "__file__", None), ""


found = {}
try:
    files = (metadata.files(distribution) or []) if distribution else []
except metadata.PackageNotFoundError:
    files = []
for entry in files:
    if str(entry).endswith(SUFFIXES) and ".." not in str(entry):
        name = ".".join([*str(entry).split("/")[:-1], stem(str(entry))])
        found[name] = str(entry.locate())
if not found:
    for path in walk(source, SKIPPED | {"build", "dist"}):
        found.setdefault(dotted(path), path)
out = os.dup(1)
os.dup2(2, 1)  # what the modules print is no answer
modules = []
for name in sorted(found):
    loaded, problem = attempt(name)
    right = loaded is not None and os.path.realpath(loaded) == os.path.realpath(found[name])
    if not problem and not right:
        problem = "Python takes %s instead of %s" % (loaded, found[name])
    modules.append({"name": name, "file": found[name], "problem": problem})
if not found and os.path.isdir(build):
    # Backends that leave the modules in a build folder (meson-python) name them only when they are imported.
    built = {os.path.realpath(path) for path in walk(build, SKIPPED)}
    tops = {str(e).split("/")[0] for e in files if str(e).endswith(".py") and "/" in str(e)}
    try:
        text = (
            metadata.distribution(distribution).read_text("top_level.txt") if distribution else ""
        )
        tops |= set((text or "").split())
    except metadata.PackageNotFoundError:
        pass
    for top in sorted(filter(None, tops | {distribution.replace("-", "_").lower()})):
        attempt(top)
    for name, module in sorted(sys.modules.items()):
        if os.path.realpath(getattr(module, "__file__", None) or "") in built:
            modules.append({"name": name, "file": module.__file__, "problem": ""})
    if built and not modules:
        modules.append({"name": "", "file": sorted(built)[0], "problem": ""})
with open(answer, "w") as stream:
    json.dump(modules, stream)
