"""Lets a Python that a recorded test started record itself, then does what the next sitecustomize on the path does."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _record():
    if os.environ.get("PRESUBMIT_RECORDER"):
        from presubmit_recorder import child  # noqa: PLC0415 - where it is needed

        child.begin()


def _chain():
    import importlib.machinery  # noqa: PLC0415 - every Python that starts pays for it
    import importlib.util  # noqa: PLC0415 - as above

    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if sys.version_info >= (3, 8):
    try:
        _record()
    except Exception:  # noqa: S110 - a process of the project's goes on, unrecorded
        pass
    _chain()
