"""Run every chosen test file in a pytest process of its own, the file named as an argument.

Some suites are made for that: files change global state, or need options that only the conftest beside them has.
Arguments: the file that says what was chosen, where the JUnit file goes, `-x` or `-`, the pytest command.
The standard library alone, Python 3.8 and later.
"""

import json
import os
import shlex
import subprocess
import sys
from xml.etree import ElementTree as ET

WORST = (3, 4, 2, 1)
"""Of pytest's exit codes; a signal is worse."""
INTERRUPTED = 2
NONE_RAN = 5
FIRST_SIGNAL = 128


def parts(chosen):
    """Part what was chosen by file, in order."""
    ids = {}
    for one in chosen["ids"]:
        ids.setdefault(one.partition("::")[0], []).append(one)
    for path in ids or chosen["files"]:
        own = dict(chosen)
        own["files"] = [] if ids else [path]
        own["ids"] = ids.get(path, [])
        for name in ("within", "without"):
            own[name] = [one for one in chosen.get(name, ()) if one.partition("::")[0] == path]
        # Where a whole file has no test here, that is said of it, and the others count.
        own["none_is_fine"] = True
        yield path, own


def options_for(selection, junit):
    """Give pytest's variables with another file of what was chosen and another JUnit file."""
    words = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    words = [word for word in words if not word.startswith("--junitxml=")]
    env = dict(os.environ)
    env["PYTEST_ADDOPTS"] = " ".join(map(shlex.quote, [*words, "--junitxml=" + junit]))
    env["PRESUBMIT_SELECTION"] = selection
    return env


def merge(files, target):
    """Put the suites of several JUnit files into one."""
    root = ET.Element("testsuites")
    for name in files:
        try:
            # The host reads the whole as it reads any: with suspicion.
            root.extend(ET.parse(name).getroot().iter("testsuite"))  # noqa: S314
        except (OSError, ET.ParseError):
            continue
    ET.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)


def worst(codes):
    """Give the exit code of the whole."""
    signals = [code for code in codes if code < 0]
    if signals:
        return FIRST_SIGNAL - signals[0]
    others = [code for code in codes if code not in (*WORST, NONE_RAN, 0)]
    known = [code for code in WORST if code in codes]
    none = [NONE_RAN] if codes and all(code == NONE_RAN for code in codes) else []
    return next(iter([*others, *known, *none]), 0)


def main(selection, junit, stops, *command):
    """Run the files one after another; give the exit code."""
    with open(selection) as stream:
        chosen = json.load(stream)
    codes, written = [], []
    for number, (path, own) in enumerate(parts(chosen)):
        mine = "%s.%d" % (selection, number)
        with open(mine, "w") as stream:
            json.dump(own, stream)
        written.append("%s.%d" % (junit, number))
        sys.stdout.write("==> " + path + "\n")
        sys.stdout.flush()
        env = options_for(mine, written[-1])
        codes.append(subprocess.call([*command, path], env=env))
        if codes[-1] == INTERRUPTED or (stops == "-x" and codes[-1] not in (0, NONE_RAN)):
            break
    merge(written, junit)
    return worst(codes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
