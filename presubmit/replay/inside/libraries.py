"""List the shared libraries that a build made, and what each exports.

Arguments: the source folder, the environment's build folder, the distribution's name, the file to write the answer to.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

source, build, distribution, answer = sys.argv[1:5]
SHARED = re.compile(r"\.so(\.\d+)*$")
# What stands in a build folder was mostly put elsewhere, too: it is looked at last.
SKIPPED = {".git", "node_modules", "__pycache__", ".tox", ".nox", ".venv", "venv", "build", "dist"}
MOST = 1000


def is_library(path):
    """Tell a real file in ELF; links only name one."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(4) == b"\x7fELF"


def walk(top, skipped=()):
    """Give every library below a folder."""
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in skipped)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if SHARED.search(name) and is_library(path):
                yield os.path.relpath(path, top), path


def installed():
    """Give the libraries that the distribution lists."""
    try:
        files = (metadata.files(distribution) or []) if distribution else []
    except metadata.PackageNotFoundError:
        return
    for entry in files:
        path = str(entry.locate())
        if SHARED.search(str(entry)) and is_library(path):
            yield re.sub(r"^(\.\./)+", "", str(entry)), path


def symbols(tool, path):
    """Give (what it exports, what went wrong)."""
    command = [tool, "-D", "--defined-only", "-P", path]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        check=False,
    )
    if done.returncode:
        return {}, "nm: " + done.stderr.decode("utf-8", "replace").strip()[:200]
    rows = [line.split() for line in done.stdout.decode("utf-8", "replace").splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 1}, ""


found = [*installed(), *walk(source, SKIPPED)]
seen = {os.path.basename(name) for name, _ in found}
for folder in (build, os.path.join(source, "build")):
    more = [one for one in walk(folder) if os.path.basename(one[0]) not in seen]
    seen |= {os.path.basename(name) for name, _ in more}
    found += more
tool = shutil.which("nm") or shutil.which("llvm-nm")
libraries = []
for name, path in found[:MOST]:
    exports, problem = symbols(tool, path) if tool else ({}, "there is no nm (Debian: binutils)")
    libraries.append({"path": name, "symbols": exports, "problem": problem})
with open(answer, "w") as stream:
    json.dump(libraries, stream)
