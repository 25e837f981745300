"""What a push waits for: each pushed commit is let through by its evidence, else run through tier quick in a budget."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from presubmit.change.git import git, line
from presubmit.change.repository import read_repository, resolve
from presubmit.config import make_config, project_files, read_user
from presubmit.errors import ExitCode, PresubmitError
from presubmit.evidence import holding
from presubmit.evidence_key import SKIP, in_words, settings_digest
from presubmit.history import History
from presubmit.reading import RunOptions, at_users_place, read_user_file, user_config_path
from presubmit.run import cmd_run
from presubmit.trees import TreeReader
from presubmit.values import TargetKind, Tier, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from presubmit.change.repository import Repository
    from presubmit.config import HookConfig
    from presubmit.push import PushedRef
    from presubmit.report.terminal import Terminal

_MOST: Final = 3
"""Trees that are tested in one push."""
_GRACE: Final = 15.0
"""Seconds after the budget in which a run must have settled."""


class _TimeUp(BaseException):
    """The budget is over, and what runs did not end by itself."""


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """One tree of a push."""

    tree: str
    commit: str
    refs: tuple[str, ...]
    """Where it is pushed to."""


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """All of a push that can be tested, and what of it is not."""

    trees: tuple[Pushed, ...]
    notes: tuple[str, ...]


def cmd_push(
    refs: Sequence[PushedRef],
    remote: Sequence[str],
    start: Path,
    terminal: Terminal,
    environ: Mapping[str, str],
) -> ExitCode:
    """Check what is pushed; OK lets the push go on, anything else stops it. `remote` holds its name and its URL."""
    began = time.monotonic()
    code = [ref for ref in refs if ref.has_code]
    if not code:
        return ExitCode.OK
    try:
        repository = read_repository(start)
    except PresubmitError as error:
        terminal.line(f"presubmit: NOT TESTED: {error}; the push goes on", "yellow")
        return ExitCode.OK
    settings = _read_settings(repository, code, environ)
    push = _read_push(repository, code, settings, remote)
    for note in push.notes:
        terminal.line(f"presubmit: {note}", "yellow")
    with History(repository.own_dir / "history.db") as history:
        if SKIP in environ:
            return _skip(push, environ[SKIP], history, terminal)
        digest = settings_digest(environ)
        left = []
        for pushed in push.trees:
            told = _evidence(repository, pushed, history, digest)
            if told:
                terminal.line(f"presubmit: {told}")
            else:
                left.append(pushed)
    deadline = began + settings.budget
    return _Testing(repository, settings, terminal, environ, deadline).all_of(left)


def _read_settings(
    repository: Repository, refs: Sequence[PushedRef], environ: Mapping[str, str]
) -> HookConfig:
    """Read `[hook]` as the first pushed commit has it; the user's own wins. Raises ConfigError."""
    commit = next((it for ref in refs if (it := resolve(repository.top, ref.local_id))), "")
    files = project_files(TreeReader(repository, commit).data if commit else lambda _: None)
    path = user_config_path(environ)
    return make_config(
        command_line={},
        environ=environ,
        user=read_user(read_user_file(path), str(path), str(repository.top)),
        user_name=str(path),
        head=files,
        base=files,
        trust_head=False,
        on_host=False,
    ).config.hook


def _read_push(
    repository: Repository,
    refs: Sequence[PushedRef],
    settings: HookConfig,
    remote: Sequence[str],
) -> Push:
    """Put refs of one tree together; name what is not tested."""
    notes: list[str] = []
    found: dict[str, tuple[str, list[str]]] = {}
    for ref in refs:
        shown = ref.remote_ref.removeprefix("refs/heads/")
        if any(name in settings.skip_remotes for name in remote):
            notes.append(f"{shown} is not tested: hook.skip_remotes has {remote[0]}")
            continue
        if any(fnmatch.fnmatchcase(ref.remote_ref, it) for it in settings.skip_refs):
            notes.append(f"{shown} is not tested: hook.skip_refs")
            continue
        commit = resolve(repository.top, ref.local_id)
        if commit is None:
            notes.append(f"{shown} is not tested: {ref.local_id[:7]} is no commit")
            continue
        tree = line(git("rev-parse", f"{commit}^{{tree}}", cwd=repository.top))
        found.setdefault(tree, (commit, []))[1].append(shown)
    return Push(
        trees=tuple(
            Pushed(tree=tree, commit=commit, refs=tuple(names))
            for tree, (commit, names) in found.items()
        ),
        notes=tuple(notes),
    )


def _evidence(repository: Repository, pushed: Pushed, history: History, settings: str) -> str:
    """Say what evidence a tree has; empty where none holds."""
    for row in history.tier_evidence(pushed.tree):
        asked = ("merge-base", row["base_ref"], pushed.commit)
        base = line(git(*asked, cwd=repository.top, check=False)).partition("\n")[0]
        if holding([row], base=base, settings=settings) is not None:
            return in_words(row)
    return ""


def evidence_of_head(repository: Repository, history: History, settings: str) -> str:
    """Say what evidence HEAD has for a push; empty where none holds."""
    if repository.head is None:
        return ""
    tree = line(git("rev-parse", "HEAD^{tree}", cwd=repository.top))
    pushed = Pushed(tree=tree, commit=repository.head, refs=("HEAD",))
    return _evidence(repository, pushed, history, settings)


def _skip(push: Push, reason: str, history: History, terminal: Terminal) -> ExitCode:
    reason = reason.strip() or "no reason given"
    for pushed in push.trees:
        history.write_skipped_push(pushed.tree, reason)
    terminal.line(f"presubmit: NOT TESTED: {SKIP} says: {reason}; the push goes on", "yellow")
    return ExitCode.OK


class _Testing:
    """Runs tier quick on the trees of a push, all of them within one budget."""

    def __init__(
        self,
        repository: Repository,
        settings: HookConfig,
        terminal: Terminal,
        environ: Mapping[str, str],
        deadline: float,
    ) -> None:
        self._repository = repository
        self._settings = settings
        self._terminal = terminal
        self._environ = environ
        self._deadline = deadline

    def all_of(self, trees: Sequence[Pushed]) -> ExitCode:
        """Test one after the other; the first new failure ends it. Give the code for git."""
        partly: list[str] = []
        for pushed in trees[:_MOST]:
            code, why = self._one(pushed)
            if code is ExitCode.OK:
                continue
            if code in {ExitCode.ENVIRONMENT, ExitCode.INCOMPLETE}:
                partly.append(f"{', '.join(pushed.refs)} ({pushed.commit[:7]}): {why}")
                continue
            return self._refuse(pushed, code, why)
        if rest := trees[_MOST:]:
            names = ", ".join(name for it in rest for name in it.refs)
            partly.append(f"{counted(len(rest), 'further tree')} ({names}): {_MOST} are tested")
        return self._settle(trees, partly)

    def _one(self, pushed: Pushed) -> tuple[ExitCode, str]:
        """Run tier quick on one commit; give what came of it, and why where that is not all."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return ExitCode.INCOMPLETE, f"the budget of {self._settings.budget:g} s is over"
        options = RunOptions(
            start=self._repository.top,
            kind=TargetKind.COMMIT,
            commit=pushed.commit,
            tier=Tier.QUICK,
            tests="nearest",
            hook=True,
            budget=left,
        )
        try:
            with _at_most(left + _GRACE):
                code = cmd_run(
                    at_users_place(options, self._environ), self._terminal, self._environ
                )
        except PresubmitError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return error.exit_code, f"{error}{hint}"
        except _TimeUp:
            return ExitCode.INCOMPLETE, "the budget is over, and the run did not end"
        return code, "not all of tier quick ran" if code is not ExitCode.OK else ""

    def _refuse(self, pushed: Pushed, code: ExitCode, why: str) -> ExitCode:
        words = {
            ExitCode.FAILED: "it fails something new",
            ExitCode.INTERRUPTED: "interrupted",
            ExitCode.TERMINATED: "terminated",
        }
        reason = words.get(code, why)
        self._terminal.line(
            f"presubmit: PUSH REFUSED: {', '.join(pushed.refs)} ({pushed.commit[:7]}): {reason}"
            f" (exit {int(code)}); to push all the same: git push --no-verify",
            "bold red",
        )
        return code

    def _settle(self, trees: Sequence[Pushed], partly: Sequence[str]) -> ExitCode:
        if not partly:
            if trees:
                self._terminal.line("presubmit: tier quick passed; the push goes on", "green")
            return ExitCode.OK
        for text in partly:
            self._terminal.line(f"presubmit: NOT TESTED WHOLE: {text}", "yellow")
        commits = " ".join(it.commit[:10] for it in trees[:1])
        rest = f"the rest: presubmit run --commit {commits}"
        if self._settings.incomplete == "refuse":
            self._terminal.line(
                f"presubmit: PUSH REFUSED (hook.incomplete); {rest}; or git push --no-verify",
                "bold red",
            )
            return ExitCode.INCOMPLETE
        self._terminal.line(f"presubmit: the push goes on; {rest}", "yellow")
        return ExitCode.OK


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what runs inside after so many seconds: a run settles and gives 143, anything else raises _TimeUp."""
    late = False

    def end() -> None:
        nonlocal late
        late = True
        os.kill(os.getpid(), signal.SIGTERM)

    def up(_number: int, _frame: FrameType | None) -> NoReturn:
        if late:
            raise _TimeUp
        sys.exit(int(ExitCode.TERMINATED))

    previous: Callable[[int, FrameType | None], object] | int | None = signal.signal(
        signal.SIGTERM, up
    )
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
        if late:
            raise _TimeUp
    finally:
        timer.cancel()
        signal.signal(signal.SIGTERM, previous)
