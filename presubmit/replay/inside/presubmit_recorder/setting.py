"""Describes what a recording was made with: another setting may run other code."""

import hashlib
import platform
import re
import sys
from importlib import metadata


def python():
    """Give the version of this Python."""
    return platform.python_version()


def digest(project):
    """Digest what is installed (the project itself apart), with the Python and the platform."""
    found = {
        "{}=={}".format(_plain(one.metadata["Name"]), one.version)
        for one in metadata.distributions()
        if _plain(one.metadata["Name"]) != _plain(project)
    }
    found.add("python {} {}".format(python(), platform.python_implementation()))
    found.add("platform {} {}".format(sys.platform, platform.machine()))
    return hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "replace")).hexdigest()


def _plain(name):
    return re.sub(r"[-_.]+", "-", name or "").lower()
