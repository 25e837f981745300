"""Which files of the project this process has loaded, with git's id of their content."""

import hashlib
import os
import sys


def blob_of(path):
    """Give the id that git has for a file's bytes (https://git-scm.com/book/en/v2/Git-Internals-Git-Objects)."""
    with open(path, "rb") as stream:
        data = stream.read()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own


def in_tree(path, tree):
    """Give a path as the tree knows it; what lies elsewhere stays as it is."""
    path = os.path.realpath(path)
    return path[len(tree) + 1 :] if path.startswith(tree + os.sep) else path


def loaded(watch, tree):
    """Give every loaded module below the watched ones."""
    watched = set(watch)
    found = []
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] not in watched or not isinstance(file, str):
            continue
        try:
            blob = blob_of(file)
        except OSError:
            continue  # within an archive, or gone: it proves nothing
        found.append({"module": name, "file": in_tree(file, tree), "blob": blob})
    return found
