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
listed = subprocess.run(
    ["git", "ls-files", "-z"], cwd=source, stdout=subprocess.PIPE, check=True
).stdout
shutil.rmtree(target, ignore_errors=True)
for path in filter(None, os.fsdecode(listed).split("\0")):
    parts = path.split("/")
    if parts[0] in tops or (parts[0] in {"src", "lib"} and len(parts) > 1 and parts[1] in tops):
        continue
    if os.path.isdir(os.path.join(source, path)):
        continue  # a submodule
    os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
    shutil.copy2(os.path.join(source, path), os.path.join(target, path), follow_symlinks=False)
