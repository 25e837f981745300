"""Copy the project without its importable sources, so that tests see the installed package only.

Arguments: the source folder, the folder to make, the distribution's name.
"""

import os
import shutil
import subprocess
import sys
from importlib import metadata

source, target, distribution = sys.argv[1:4]
installed = {str(entry).split("/")[0] for entry in metadata.files(distribution) or []}
tops = {name for name in installed if not name.endswith((".dist-info", ".data")) and name != ".."}
command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
listed = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, check=True).stdout
paths = sorted(set(filter(None, os.fsdecode(listed).split("\0"))))
packages = {path.rpartition("/")[0] for path in paths if path.endswith("/__init__.py")}


def is_source(path):
    """Whether a file could be imported from the tree: then the wheel must have it, or the tests must fail."""
    parts = path.split("/")
    if parts[0] in {"src", "lib"} and len(parts) > 1:
        return True
    if parts[0] in tops or (
        len(parts) > 1 and parts[0] in packages and "test" not in parts[0].lower()
    ):
        return True
    test = parts[-1].startswith("test_") or parts[-1].endswith("_test.py")
    return len(parts) == 1 and path.endswith(".py") and path != "conftest.py" and not test


shutil.rmtree(target, ignore_errors=True)
for path in paths:
    place = os.path.join(source, path)
    if is_source(path) or os.path.isdir(place) or not os.path.lexists(place):
        continue
    os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
    shutil.copy2(place, os.path.join(target, path), follow_symlinks=False)
