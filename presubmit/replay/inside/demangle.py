"""Say mangled C++ names as people write them, with parameters and without.

Arguments: the file with the names, one a line; the file to write the answer to.
"""

import json
import shutil
import subprocess
import sys

given, answer = sys.argv[1:3]


def filtered(tool, names, *options):
    """Give the names, each as the tool says it; nothing where it cannot."""
    done = subprocess.run(
        [tool, *options],
        input="".join(name + "\n" for name in names).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines if done.returncode == 0 and len(lines) == len(names) else []


with open(given) as stream:
    names = stream.read().split()
tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
full = filtered(tool, names) if tool and names else []
bare = filtered(tool, names, "--no-params") if full else []
found = {
    name: {"full": text, "bare": bare[number] if bare else ""}
    for number, (name, text) in enumerate(zip(names, full))
    if text != name
}
with open(answer, "w") as stream:
    json.dump(found, stream)
