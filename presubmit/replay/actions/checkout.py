"""actions/checkout: most of it is done before the cell starts (`job.workspace`); what differs is done by git in the box.

https://github.com/actions/checkout (input-helper.ts, git-source-provider.ts, ref-helper.ts, git-directory-helper.ts).
"""

from __future__ import annotations

import math
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.replay.job.action import ActionFailedError, LackingError, Support
from presubmit.replay.job.gitdir import HEADS, MARK, TAGS, Prepared
from presubmit.replay.job.origin import PULL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("actions/checkout",)

_COMMIT: Final = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_ROOT: Final = frozenset({"", ".", "./"})
# With one of them, what was laid is not enough.
_NEEDS_GIT: Final = ("path", "ref", "repository", "sparse-checkout")
_NOT_FOUND: Final = "A branch or tag with the name '{ref}' could not be found"
_ENV: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}

# $1 the folder, $2 the URL, $3 whether to clean, $4 the origin. Leaves a repository without branches of its own.
_SETTLE: Final = (
    r"""
folder=$1 url=$2 clean=$3 origin=$4
wipe() { echo "Deleting the contents of '$folder'"; rm -rf -- ./* ./.[!.]* ./..?*; }
tidy() {
  rm -f .git/index.lock .git/shallow.lock .git/"""
    + MARK
    + r"""
  git checkout -q --detach || return 1
  git for-each-ref --format='delete %(refname)' refs/heads refs/remotes/origin | git update-ref --stdin || return 1
  [ "$clean" = no ] || { git clean -q -ffdx && git reset -q --hard HEAD --; }
}
[ -d "$folder" ] || rm -f -- "$folder"
mkdir -p -- "$folder"
cd -- "$folder"
if [ -d .git ] && [ "$(git config --local --get remote.origin.url)" = "$url" ]; then
  tidy || wipe
else
  wipe
fi
[ -d .git ] && exit 0
format=$(git --git-dir="$origin" rev-parse --show-object-format 2>/dev/null || echo sha1)
if [ "$format" = sha1 ]; then git init -q; else git init -q --object-format="$format"; fi
git remote add origin "$url"
git config --local gc.auto 0
# Nothing is copied that the origin has.
mkdir -p .git/objects/info
printf '%s/objects\n' "$origin" >.git/objects/info/alternates
"""
)

# Says what was laid and not touched yet, and takes the mark away.
_TAKE_MARK: Final = f"cat .git/{MARK} 2>/dev/null && rm -f .git/{MARK}"


class _Wish(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs, checked; `ref` and `commit` as the action derives them."""

    path: str
    """Below the workspace; `.` for itself."""
    ref: str
    commit: str
    prepared: Prepared
    own: bool
    """Nothing but the default ref of the project itself is wanted."""
    clean: bool
    filter: str
    sparse: tuple[str, ...]
    cone: bool


def prepared(inputs: Mapping[str, str | None], *, repository: str = "") -> Prepared | None:
    """Say what can be laid for a checkout step before its cell starts: None where it wants something else.

    `inputs` by lower-case name, None for what is not known yet. To be used for the first checkout of a job, if no other
    step comes before it that could see the workspace, and if it runs for certain.
    """
    if any(inputs.get(name, "") is None for name in ("path", "repository")):
        return None
    if _text(inputs, "path") not in _ROOT or _text(inputs, "ref") not in {"", PULL}:
        return None
    wanted = _text(inputs, "repository").casefold()
    if wanted and wanted != repository.casefold():
        return None
    submodules = _text(inputs, "submodules").lower()
    return Prepared(
        depth=_depth(_text(inputs, "fetch-depth")),
        tags=_is_true(inputs, "fetch-tags", default="false"),
        submodules=submodules if submodules in {"true", "recursive"} else "",
    )


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether it can be replayed: of this project only, and with git where more than the default is wanted."""
    asked = _text(wanted.inputs, "repository")
    if asked and wanted.repository and _name(asked) != _name(wanted.repository):
        return Support(lacks=_other(asked))
    if "git" not in here.tools:
        needs = next((name for name in _NEEDS_GIT if _text(wanted.inputs, name)), "")
        if needs:
            return Support(lacks=f"git in the image (checkout with `{needs}`)")
    return Support(note="; ".join(_notes(wanted.inputs)))


def run(step: ActionStep) -> None:
    """Check out what is wanted, as far as it does not lie there already."""
    wish = _read(step)
    for text in _notes(step.wanted.inputs):
        step.note(text)
    folder = posixpath.normpath(f"{step.cell.workspace}/{wish.path}")
    laid = step.cell.laid.get(wish.path, "") if wish.own else ""
    if laid and step.ask(_TAKE_MARK, cwd=folder).text == wish.prepared.mark:
        step.say(f"The files of {laid} are there already")
        if wish.sparse:
            _need_git(step)
            _set_sparse(step, wish, folder)
            _git(step, folder, "checkout", "--force", "--detach", laid)
        ref, commit = wish.ref, laid
    else:
        _need_git(step)
        ref, commit = _check_out(step, wish, folder)
    step.set_output("ref", ref)
    step.set_output("commit", commit)


# --- inputs ---------------------------------------------------------------------------------------------------------


def _read(step: ActionStep) -> _Wish:
    inputs = step.wanted.inputs
    github = step.cell.github
    own_name = str(github.get("repository") or step.wanted.repository)
    asked = step.input("repository", own_name)
    if len(asked.split("/")) != len(("owner", "name")) or not all(asked.split("/")):
        raise ActionFailedError(
            f"Invalid repository '{asked}'. Expected format {{owner}}/{{repo}}."
        )
    own = asked.casefold() == own_name.casefold()
    if not own and asked.casefold() != _fork(github).casefold():
        raise LackingError(_other(asked))
    ref, commit = step.input("ref"), ""
    if _COMMIT.fullmatch(ref):
        ref, commit = "", ref
    elif not ref and own:
        ref, commit = str(github.get("ref", "")), str(github.get("sha", ""))
        if ref and commit and not ref.startswith("refs/"):
            ref = f"refs/heads/{ref}"
    submodules = step.input("submodules").lower()
    return _Wish(
        path=_path(step),
        ref=ref,
        commit=commit,
        prepared=Prepared(
            depth=_depth(step.input("fetch-depth")),
            tags=_is_true(inputs, "fetch-tags", default="false"),
            submodules=submodules if submodules in {"true", "recursive"} else "",
        ),
        own=own and step.input("ref") in {"", PULL},
        clean=_is_true(inputs, "clean", default="true"),
        filter=step.input("filter"),
        sparse=step.lines("sparse-checkout"),
        cone=_is_true(inputs, "sparse-checkout-cone-mode", default="true"),
    )


def _path(step: ActionStep) -> str:
    workspace = step.cell.workspace
    whole = posixpath.normpath(posixpath.join(workspace, step.input("path", ".")))
    if not f"{whole}/".startswith(f"{workspace}/"):
        raise ActionFailedError(f"Repository path '{whole}' is not under '{workspace}'")
    return posixpath.relpath(whole, workspace)


def _fork(github: Mapping[str, Any]) -> str:
    """Give the repository that the pull request comes from."""
    found: Any = github
    for name in ("event", "pull_request", "head", "repo", "full_name"):
        found = found.get(name) if isinstance(found, dict) else None
    return str(found or "")


def _depth(text: str) -> int:
    """Read `fetch-depth`: what is no number is 0, everything, as in the action."""
    number = float(text or "1") if _NUMBER.fullmatch(text or "1") else math.nan
    return int(number) if number >= 1 and math.isfinite(number) else 0


def _text(inputs: Mapping[str, str | None], name: str) -> str:
    return (inputs.get(name) or "").strip()


def _is_true(inputs: Mapping[str, str | None], name: str, *, default: str) -> bool:
    return (_text(inputs, name) or default).upper() == "TRUE"


def _name(repository: str) -> str:
    # Of whoever the fork is.
    return repository.partition("/")[2].casefold()


def _other(repository: str) -> str:
    return f"repository {repository} (only this one is here)"


def _notes(inputs: Mapping[str, str | None]) -> list[str]:
    """Say what is ignored."""
    found = [f"`{name}` is not used" for name in ("token", "ssh-key") if _text(inputs, name)]
    if _is_true(inputs, "lfs", default="false"):
        found.append("files of Git LFS stay pointers")
    return found


# --- git in the box -------------------------------------------------------------------------------------------------


def _need_git(step: ActionStep) -> None:
    if "git" not in step.here.tools:
        raise LackingError("git in the image")


def _git(step: ActionStep, folder: str, *args: str) -> None:
    step.run(("git", *args), cwd=folder, env=_ENV)


def _check_out(step: ActionStep, wish: _Wish, folder: str) -> tuple[str, str]:
    """Do what the action does, with the origin in GitHub's place; gives the ref and the commit."""
    origin = step.cell.origin
    url = f"file://{origin}"
    clean = "yes" if wish.clean else "no"
    if step.sh(_SETTLE, folder, url, clean, origin, env=_ENV) != 0:
        raise ActionFailedError(f"cannot make a repository in {folder}")
    ref = wish.ref if wish.ref or wish.commit else _default_branch(step, folder)
    _fetch(step, wish, folder, ref)
    target = _target(step, folder, ref, wish.commit)
    if wish.sparse:
        _set_sparse(step, wish, folder)
    else:
        step.sh(
            '[ "$(git config core.sparseCheckout)" != true ] || git sparse-checkout disable',
            cwd=folder,
            env=_ENV,
        )
    _git(step, folder, "checkout", "--force", *target)
    if wish.prepared.submodules:
        _update_submodules(step, wish, folder)
    return ref, step.ask("git log -1 --format=%H", cwd=folder).text.strip()


def _default_branch(step: ActionStep, folder: str) -> str:
    said = step.ask("git ls-remote --quiet --exit-code --symref origin HEAD", cwd=folder)
    found = re.search(r"^ref: (\S+)\s+HEAD$", said.text, re.MULTILINE)
    if found is None:
        raise ActionFailedError("Unexpected output when retrieving default branch")
    return found[1]


def _fetch(step: ActionStep, wish: _Wish, folder: str, ref: str) -> None:
    wanted = wish.prepared
    own = _refspecs(ref, wish.commit)
    narrowed = wish.filter or ("blob:none" if wish.sparse else "")
    specs: tuple[str, ...] = own
    if wanted.depth == 0:
        pull = own if ref.upper().startswith("REFS/PULL/") else ()
        specs = (HEADS, TAGS, *pull)
    elif wanted.tags:
        specs = (TAGS, *own)
    depth: tuple[str, ...] = (f"--depth={wanted.depth}",) if wanted.depth else ()
    if not depth and step.sh("test -f .git/shallow", cwd=folder) == 0:
        depth = ("--unshallow",)
    options = (
        *(() if TAGS in specs else ("--no-tags",)),
        "--prune",
        "--no-recurse-submodules",
        *((f"--filter={narrowed}",) if narrowed else ()),
    )
    command = ("-c", "protocol.version=2", "fetch", *options)
    try:
        _git(step, folder, *command, *depth, "origin", *specs)
    except ActionFailedError as error:
        if wish.commit or ref.upper().startswith("REFS/"):
            raise
        raise ActionFailedError(_NOT_FOUND.format(ref=ref)) from error
    if wanted.depth == 0 and wish.commit and not _has(step, folder, wish.commit):
        _git(step, folder, *command, "origin", *own)


def _has(step: ActionStep, folder: str, commit: str) -> bool:
    script = 'git rev-parse --verify --quiet "$1^{object}"'
    return step.ask(script, commit, cwd=folder).exit_code == 0


def _refspecs(ref: str, commit: str) -> tuple[str, ...]:
    """Give what to fetch for one ref (ref-helper.ts, getRefSpec)."""
    upper = ref.upper()
    source = commit or ref
    if not ref:
        return (commit,)
    if upper.startswith("REFS/HEADS/"):
        return (f"+{source}:refs/remotes/origin/{ref[len('refs/heads/') :]}",)
    if upper.startswith("REFS/PULL/"):
        return (f"+{source}:refs/remotes/pull/{ref[len('refs/pull/') :]}",)
    if upper.startswith("REFS/"):
        return (f"+{source}:{ref}",)
    return (
        f"+refs/heads/{ref}*:refs/remotes/origin/{ref}*",
        f"+refs/tags/{ref}*:refs/tags/{ref}*",
    )


def _target(step: ActionStep, folder: str, ref: str, commit: str) -> tuple[str, ...]:
    """Give what to check out (ref-helper.ts, getCheckoutInfo)."""
    upper = ref.upper()
    if not ref:
        return (commit,)
    if upper.startswith("REFS/HEADS/"):
        branch = ref[len("refs/heads/") :]
        return ("-B", branch, f"refs/remotes/origin/{branch}")
    if upper.startswith("REFS/PULL/"):
        return (f"refs/remotes/pull/{ref[len('refs/pull/') :]}",)
    if upper.startswith("REFS/"):
        return (ref,)
    script = 'git show-ref --verify --quiet "$1"'
    if step.ask(script, f"refs/remotes/origin/{ref}", cwd=folder).exit_code == 0:
        return ("-B", ref, f"refs/remotes/origin/{ref}")
    if step.ask(script, f"refs/tags/{ref}", cwd=folder).exit_code == 0:
        return (f"refs/tags/{ref}",)
    raise ActionFailedError(_NOT_FOUND.format(ref=ref))


def _set_sparse(step: ActionStep, wish: _Wish, folder: str) -> None:
    if wish.cone:
        _git(step, folder, "sparse-checkout", "set", *wish.sparse)
        return
    script = (
        "git config core.sparseCheckout true; file=$(git rev-parse --git-path info/sparse-checkout)\n"
        'mkdir -p "${file%/*}"; for line in "" "$@"; do printf "%s\\n" "$line"; done >>"$file"'
    )
    if step.sh(script, *wish.sparse, cwd=folder, env=_ENV) != 0:
        raise ActionFailedError("cannot set up the sparse checkout")


def _update_submodules(step: ActionStep, wish: _Wish, folder: str) -> None:
    """Fetch them from where .gitmodules says; that this machine cannot is no fault of the change."""
    recursive = ("--recursive",) if wish.prepared.submodules == "recursive" else ()
    depth = (f"--depth={wish.prepared.depth}",) if wish.prepared.depth else ()
    _git(step, folder, "submodule", "sync", *recursive)
    try:
        _git(
            step,
            folder,
            "-c",
            "protocol.version=2",
            "submodule",
            "update",
            "--init",
            "--force",
            *depth,
            *recursive,
        )
    except ActionFailedError as error:
        raise LackingError(f"the submodules of a checkout in `{wish.path}`") from error
