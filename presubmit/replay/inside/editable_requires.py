"""Ask a PEP 517 backend what it needs to make an editable install or a wheel.

Arguments: the backend, its paths as JSON, `editable` or `wheel`, the file to write the answer to. Runs in the project.
"""

import importlib
import json
import os
import sys

backend, paths, kind, answer = sys.argv[1:5]
sys.path[:0] = [os.path.abspath(path) for path in json.loads(paths)]
module, _, attribute = backend.partition(":")
found = importlib.import_module(module)
for name in filter(None, attribute.split(".")):
    found = getattr(found, name)
editable = kind == "editable" and hasattr(found, "build_editable")
hook = getattr(found, "get_requires_for_build_" + ("editable" if editable else "wheel"), None)
requires = hook(None) if hook is not None else []
with open(answer, "w") as stream:
    json.dump({"editable": editable, "requires": [str(line) for line in requires]}, stream)
