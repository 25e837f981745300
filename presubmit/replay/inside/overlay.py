"""Compare installed packages with the tree's, and lay the tree's files over them in a folder of links.

Arguments: `look` or `lay`, the file with the question, the file to write the answer to.
"""

import ast
import contextlib
import importlib.machinery
import json
import os
import py_compile
import re
import shutil
import sys
import sysconfig
from importlib import metadata

verb, asked, answer = sys.argv[1:4]
with open(asked) as stream:
    question = json.load(stream)
SOURCE, OVERLAY = question["source"], question["overlay"]
SKIPPED = {"__pycache__", ".git"}
COMMIT = re.compile(r"^git_version\s*(?::[^=]*)?=\s*['\"]([0-9a-f]{40,64})['\"]", re.MULTILINE)


def installed_folder(name):
    """Give the folder that Python imports a package from, an overlay of before apart."""
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != OVERLAY]
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or not spec.submodule_search_locations:
        return ""
    return os.path.realpath(next(iter(spec.submodule_search_locations)))


def files_below(top):
    """Give the files below a folder, relative to it; links to folders are files."""
    for folder, folders, files in os.walk(top):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in SKIPPED and name not in links]
        for name in files + links:
            yield os.path.relpath(os.path.join(folder, name), top)


def read(path):
    """Read a file; None where there is none."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def same(one, other):
    """Whether two files are alike; of Python, comments apart: distributions write their own interpreter there."""
    ours, theirs = read(one), read(other)
    if ours == theirs or None in (ours, theirs) or not one.endswith(".py"):
        return ours == theirs
    try:
        return ast.dump(ast.parse(ours)) == ast.dump(ast.parse(theirs))
    except (SyntaxError, ValueError, RecursionError):
        return False


def look(package):
    """Compare one package: the tree's files that differ, that are not installed, and the other way round."""
    name = package.rsplit("/", 1)[-1]
    installed = installed_folder(name)
    found = {
        "installed": installed,
        "same": 0,
        "differs": [],
        "new": [],
        "extra": [],
        "commit": "",
    }
    if not installed:
        return found
    ours = set(files_below(os.path.join(SOURCE, package)))
    theirs = set(files_below(installed))
    for path in sorted(ours & theirs):
        if same(os.path.join(SOURCE, package, path), os.path.join(installed, path)):
            found["same"] += path.endswith(".py")
        else:
            found["differs"].append(package + "/" + path)
    found["new"] = [package + "/" + path for path in sorted(ours - theirs)]
    extra = [path for path in sorted(theirs - ours) if path.endswith((".py", ".pyi"))]
    found["extra"] = [package + "/" + path for path in extra]
    version = (read(os.path.join(installed, "version.py")) or b"").decode("utf-8", "replace")
    told = COMMIT.search(version)
    found["commit"] = told.group(1) if told else ""
    return found


def lay(package, installed, laid, hidden):
    """Make real folders along the laid and hidden files, links to what is installed for all else."""
    name = package.rsplit("/", 1)[-1]
    prefix = package + "/"
    over = {path[len(prefix) :] for path in laid if path.startswith(prefix)}
    gone = {path[len(prefix) :] for path in hidden if path.startswith(prefix)}
    real = {""}
    for path in over | gone:
        folder = os.path.dirname(path)
        while folder:
            real.add(folder)
            folder = os.path.dirname(folder)
    top = os.path.join(OVERLAY, name)
    for folder in sorted(real):
        there = os.path.join(installed, folder)
        entries = sorted(os.listdir(there)) if os.path.isdir(there) else []
        os.makedirs(os.path.join(top, folder), exist_ok=True)
        for entry in entries:
            path = os.path.join(folder, entry)
            if entry in SKIPPED or path in real or path in over or path in gone:
                continue
            os.symlink(os.path.join(there, entry), os.path.join(top, path))
    for path in sorted(over):
        target = os.path.join(top, path)
        os.symlink(os.path.join(SOURCE, package, path), target)
    for folder in sorted(real):
        compile_folder(os.path.join(top, folder))


def compile_folder(folder):
    """Compile the modules of one folder: tests cannot write there, and would compile them at every start."""
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".py"):
            with contextlib.suppress(Exception):  # it is said where it is imported
                py_compile.compile(os.path.join(folder, entry), quiet=2)


def write_programs():
    """Write the programs of what lies outside of the environment: those of the system run without the overlay."""
    found = metadata.entry_points()
    scripts = (
        found.select(group="console_scripts")
        if hasattr(found, "select")
        else found.get("console_scripts", ())
    )
    for script in scripts:
        place = os.path.join(sysconfig.get_paths()["scripts"], script.name)
        module, _, function = script.value.partition("[")[0].strip().partition(":")
        if os.path.exists(place) or not function:
            continue
        text = "#!%s\nimport sys\nfrom %s import %s\nsys.exit(%s())\n"
        with open(place, "w") as stream:
            stream.write(text % (sys.executable, module, function.split(".")[0], function))
        os.chmod(place, 0o755)  # noqa: S103 - a program


if verb == "look":
    told = {package: look(package) for package in question["packages"]}
else:
    shutil.rmtree(OVERLAY, ignore_errors=True)
    os.makedirs(OVERLAY)
    for package, installed in question["packages"].items():
        lay(package, installed, question["laid"], question["hidden"])
    place = os.path.join(sysconfig.get_paths()["purelib"], "presubmit-overlay.pth")
    with open(place, "w") as stream:
        stream.write("import sys; sys.path.insert(0, %r)\n" % OVERLAY)
    write_programs()
    told = {}
with open(answer, "w") as stream:
    json.dump(told, stream)
