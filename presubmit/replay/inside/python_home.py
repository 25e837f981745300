"""Make a Python of one's own: a folder that looks like an installed CPython, writable and without packages but pip.

Arguments: the folder to make. Run by the interpreter that it is made of; prints nothing. The interpreter itself is
copied, the standard library is linked. Unlike a virtual environment it is a prefix of its own, so that
`uv pip install --system`, `pip install --user` and sysconfig behave as with a Python from GitHub's tool cache; the
mark of an externally managed Python (PEP 668) is left out.
"""

import glob
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile

folder = sys.argv[1]
base = sys.base_prefix
executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
numbers = "%d.%d" % sys.version_info[:2]
name = "python" + numbers + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")
python = os.path.join(folder, "bin", name)
MODE = 0o755
LONGEST = 120
# The packages of the whole installation, and the mark of PEP 668.
LEFT_OUT = ("site-packages", "dist-packages", "EXTERNALLY-MANAGED")
LIBRARIES = ("libpython", "pkgconfig", "tcl", "tk", "itcl", "thread")


def link(source, target):
    """Link to what is there."""
    if os.path.lexists(source) and not os.path.lexists(target):
        os.symlink(source, target)


def make():
    """Copy the interpreter and link what belongs to it."""
    os.makedirs(os.path.join(folder, "bin"))
    shutil.copyfile(executable, python)
    os.chmod(python, MODE)
    for alias in ("python" + numbers, "python3", "python"):
        if alias != name:
            os.symlink(name, os.path.join(folder, "bin", alias))
    paths = sysconfig.get_paths()
    link_library(paths["stdlib"])
    if paths["platstdlib"] != paths["stdlib"]:
        link_library(paths["platstdlib"])
    # A system's own `lib` holds everybody's libraries, and this one will be on LD_LIBRARY_PATH.
    for entry in os.listdir(os.path.join(base, "lib")) if base != "/usr" else ():
        if entry.startswith(LIBRARIES):
            link(os.path.join(base, "lib", entry), os.path.join(folder, "lib", entry))
    os.makedirs(os.path.join(folder, "include"), exist_ok=True)
    link(paths["include"], os.path.join(folder, "include", os.path.basename(paths["include"])))
    describe()


def link_library(source):
    """Link the parts of a folder of modules, but for packages that were installed there."""
    if not os.path.isdir(source):
        return
    target = os.path.join(folder, os.path.relpath(source, base))
    os.makedirs(os.path.join(target, "site-packages"), exist_ok=True)
    for entry in os.listdir(source):
        if entry not in LEFT_OUT:
            link(os.path.join(source, entry), os.path.join(target, entry))


def describe():
    """Let pkg-config find this Python."""
    described = os.path.join(folder, "lib", "pkgconfig")
    if not os.path.lexists(described):
        os.makedirs(described)
        whole = sysconfig.get_config_var("LIBPC") or ""
        for entry in glob.glob(os.path.join(whole, "python*-" + numbers + "*.pc")):
            link(entry, os.path.join(described, os.path.basename(entry)))


def places():
    """Ask the new interpreter where packages and scripts go; SystemExit where it is not what was wanted."""
    code = (
        "import os, sys, sysconfig, zlib; p = sysconfig.get_paths(); "
        "print(sys.prefix, sys.base_prefix, sys.exec_prefix, p['purelib'], p['scripts'], sep='\\0')"
    )
    done = subprocess.run(
        [python, "-I", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    said = os.fsdecode(done.stdout).strip().split("\0")
    wanted = os.path.realpath(folder)
    if done.returncode != 0 or {os.path.realpath(prefix) for prefix in said[:3]} != {wanted}:
        sys.exit(os.fsdecode(done.stderr).strip()[-300:] or "its prefix is %s" % said[0])
    packages, scripts = said[3:]
    os.makedirs(packages, exist_ok=True)
    # Debian installs into `local/bin`; everybody looks into `bin`.
    if os.path.realpath(scripts) != os.path.join(wanted, "bin"):
        os.makedirs(os.path.dirname(scripts), exist_ok=True)
        link(os.path.join(folder, "bin"), scripts)
    return packages


def wheels(project):
    """Find the wheels of a project that came with the interpreter."""
    folders = [sysconfig.get_config_var("WHEEL_PKG_DIR"), "/usr/share/python-wheels"]
    folders += ["/usr/share/python%s-wheels" % numbers]
    library = sysconfig.get_paths()["stdlib"]
    folders += [os.path.join(library, "ensurepip", "_bundled")]
    return [
        found
        for place in folders
        if place
        for found in sorted(glob.glob(os.path.join(place, project + "-*-none-any.whl")))
    ]


def install(project, packages):
    """Unpack a wheel that came with the interpreter, else copy what it has installed."""
    found = wheels(project)
    if found:
        with zipfile.ZipFile(found[-1]) as archive:
            archive.extractall(packages)
    else:
        for place in {sysconfig.get_paths()["purelib"], *sys.path}:
            if os.path.isdir(os.path.join(place, project)):
                for entry in [project, *glob.glob(os.path.join(place, project + "-*.dist-info"))]:
                    shutil.copytree(
                        os.path.join(place, entry),
                        os.path.join(packages, os.path.basename(entry)),
                        ignore=shutil.ignore_patterns("__pycache__", "direct_url.json"),
                    )
                break
        else:
            return False
    written = glob.glob(os.path.join(packages, project + "-*.dist-info"))
    for place in written:
        with open(os.path.join(place, "INSTALLER"), "w") as stream:
            stream.write("pip\n")
    return bool(written)


def shebang():
    """Begin a script; the kernel takes neither a long path nor one with spaces."""
    if " " not in python and len(python) < LONGEST:
        return "#!%s\n" % python
    return "#!/bin/sh\n'''exec' \"%s\" \"$0\" \"$@\"\n' '''\n" % python


def install_pip(packages):
    """Install pip with its commands."""
    if not install("pip", packages):
        sys.exit("there is no pip: neither ensurepip's wheel nor an installed one")
    record = glob.glob(os.path.join(packages, "pip-*.dist-info"))[0]
    known = ""
    for command in ("pip", "pip3", "pip" + numbers):
        target = os.path.join(folder, "bin", command)
        with open(target, "w") as stream:
            stream.write(
                shebang() + "import sys\n\ntry:\n    from pip._internal.cli.main import main\n"
                "except ImportError:\n    from pip._internal import main\n"
                "if __name__ == '__main__':\n    sys.exit(main())\n"
            )
        os.chmod(target, MODE)
        known += os.path.relpath(target, os.path.realpath(packages)) + ",,\n"
    kept = []
    if os.path.isfile(os.path.join(record, "RECORD")):
        with open(os.path.join(record, "RECORD")) as stream:
            kept = [line for line in stream if not line.startswith("..")]
    with open(os.path.join(record, "RECORD"), "w") as stream:
        stream.write("".join(kept) + known)


make()
site = places()
install_pip(site)
if sys.version_info < (3, 12):
    # Such a Python of GitHub's tool cache has setuptools: https://github.com/actions/python-versions (ensurepip).
    install("setuptools", site)
