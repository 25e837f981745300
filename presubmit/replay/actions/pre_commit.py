"""pre-commit/action: installs pre-commit and runs the hooks; a hook's repository that cannot be reached is no failure.

https://github.com/pre-commit/action: action.yml.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import cache, exchange, homes
from presubmit.replay.actions.pip_tools import cache_env
from presubmit.replay.job.action import ActionFailedError, LackingError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("pre-commit/action",)

_PATHS: Final = ("~/.cache/pre-commit",)
# The whole output is kept beside the log, since only it tells why pre-commit could not begin.
_RUN: Final = r"""
out=$1; shift
{ "$@" 2>&1 && code=0 || code=$?; echo "$code" >"$out.code"; } | tee "$out"
code=$(cat "$out.code"); rm -f "$out.code"
exit "${code:-1}"
"""
_UNREACHED: Final = re.compile(
    r"(?:unable to access|unable to look up|Could not read from remote repository|repository) '([^']+)'"
    r"|Could not resolve host(?:name)?:? '?([\w.-]+)"
)
_INITIALIZING: Final = re.compile(r"Initializing environment for (\S+?)[.:]?\s*$", re.MULTILINE)
_NETWORK: Final = re.compile(
    r"Could not resolve host|unable to access|Connection refused|Connection timed out|Network is unreachable"
    r"|Temporary failure in name resolution|Name or service not known|Failed to connect to"
)


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Ask for some Python, and git."""
    if homes.best_interpreter(here) is None:
        return Support(lacks="a Python with pip for pre-commit")
    return Support(lacks="" if "git" in here.tools else "git")


def run(step: ActionStep) -> None:
    """Install pre-commit into the job's Python, and run it."""
    python = _python(step)
    step.run((python, "-m", "pip", "install", "pre-commit"), env=cache_env(step))
    key = _key(step)
    step.state["key"] = key
    step.state["matched"] = cache.restore(step, _PATHS, (key,))
    arguments = step.input("extra_args", "--all-files")
    # As in the action, the shell splits what is given.
    script = f"{python} -m pre_commit run --show-diff-on-failure --color=always {arguments}"
    shell = ("bash", "-eo", "pipefail") if "bash" in step.here.tools else ("sh", "-e")
    with exchange.answer(step) as output:
        code = step.sh(_RUN, output.inside, *shell, "-c", script)
        said = output.read().decode("utf-8", "replace") if code != 0 else ""
    if code == 0:
        return
    if (unreached := unreached_in(said)) != "":
        raise LackingError(f"the hook repository {unreached}")
    raise ActionFailedError(f"pre-commit ended with exit code {code}")


def post(step: ActionStep) -> None:
    """Keep the hooks' environments."""
    if "key" in step.state:
        cache.save(step, _PATHS, step.state["key"], matched=step.state.get("matched", ""))


def unreached_in(text: str) -> str:
    """Give the repository or host that pre-commit could not reach; empty where its failure is another one."""
    if "An unexpected error has occurred" not in text or _NETWORK.search(text) is None:
        return ""
    named = _UNREACHED.search(text)
    if named is not None and named[1]:
        return str(named[1])
    begun = _INITIALIZING.findall(text)
    if begun:
        return str(begun[-1])
    return str(named[2]) if named is not None else "of a hook"


def _python(step: ActionStep) -> str:
    """Give `python` of the job, else one of its own."""
    if step.ask("python -m pip --version >/dev/null 2>&1").exit_code == 0:
        return "python"
    interpreter = homes.best_interpreter(step.here)
    if interpreter is None:
        raise LackingError("a Python with pip for pre-commit")
    home = homes.make_home(step, interpreter)
    step.note(f"no setup-python before: pre-commit runs on Python {interpreter.version}")
    return home.python


def _key(step: ActionStep) -> str:
    said = step.ask('cat -- "$1/.pre-commit-config.yaml" 2>/dev/null', step.cell.workspace)
    digest = hashlib.sha256(said.text.encode("utf-8", "surrogateescape")).hexdigest()
    return f"pre-commit-3|{step.env.get('pythonLocation', '')}|{digest}"
