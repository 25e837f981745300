"""Reads what a draft is written from: commits, the run of this tree, and what the project's own files ask for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from presubmit import convention
from presubmit.change.diff import read_changed_files
from presubmit.change.git import fields, git
from presubmit.change.git import shown as names_in_words
from presubmit.drafts.api import api_of_review
from presubmit.drafts.asked import asks_sign_off, find_fragments, required_names, rfc_places
from presubmit.drafts.owners import PLACES, read_owners
from presubmit.drafts.proof import is_evidence
from presubmit.drafts.runs import choose_run, is_of, why_no_evidence, why_stale
from presubmit.drafts.values import Asked, Commit, DraftFacts, Item, RunView
from presubmit.errors import ConfigError, PresubmitError, UsageError
from presubmit.evidence_key import settings_digest
from presubmit.history import History
from presubmit.proof import differing_files, evidence_tree
from presubmit.report.bench import read_comparison
from presubmit.report.folder import OWN, find_run, list_runs, read_run, run_digest
from presubmit.review_reading import read_kept_review, read_review
from presubmit.upstream_reading import read_upstream
from presubmit.values import FileStatus, builtins_of
from presubmit.where import history_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.change.repository import Repository
    from presubmit.drafts.values import Api
    from presubmit.reading import Reading
    from presubmit.review.values import Review
    from presubmit.upstream.cells import JobCell
    from presubmit.values import Change, ChangedFile

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test)\.\w+$|(?:^|/)conftest\.py$"
)
_DOCS: Final = re.compile(r"(?:^|/)(?:docs?|examples?|benchmarks?|bench)/")
_MOST_COMMITS: Final = 200
_MOST_USERS: Final = 10
_LEAST_NAME: Final = 4

Shown: TypeAlias = "Callable[[str], str]"
Found = TypeVar("Found")


def read_facts_of_draft(
    reading: Reading, run: str | None, environ: Mapping[str, str], shown: Shown
) -> DraftFacts:
    """Read everything that the drafts of a change are written from; every text has gone through `shown`."""
    change = reading.change
    tree, _ = evidence_tree(reading)
    with History(history_path(reading)) as history:
        known = Known(reading, history, tree, settings_digest(environ))
        view, folders = read_runs(change, tree, run, known)
        stale, unproven = known.word_on(view)
        holding = [folder for folder in folders if known.holds(folder)]
        skipped = tuple(dict.fromkeys(reason for _, reason in history.skipped_pushes(tree)))
        whole = [folder for folder in holding if not known.cut(folder)]
    review = _first(read_kept_review, folders)
    files = _committed(reading)
    api = _api(reading, _first(read_kept_review, holding))
    measured = next((folder for folder in folders if read_comparison(folder) is not None), None)
    commits = read_commits(reading.repository, change.base.commit, change.target.commit)
    facts = DraftFacts(
        branch=change.branch,
        commits=commits,
        files=files,
        sources=tuple(it.path for it in files if is_source(it.path)),
        tests=tuple(
            it.path
            for it in files
            if _TEST.search(it.path) and it.status is not FileStatus.DELETED
        ),
        tree=tree,
        base=change.base,
        uncommitted=(*change.target.dirty, *change.target.untracked),
        skipped=skipped,
        owners=_owners(reading),
        run=view,
        stale=(*stale, *uncommitted(reading, tree)),
        unproven=unproven,
        comparison=read_comparison(measured) if measured else None,
        measured_whole=measured in whole,
        review=review,
        api=api,
        users=_users(reading, api),
        requirements=_requirements(reading),
        cells=_cells(reading),
        merges=_merges(reading),
        unsigned=sum(not _is_signed(commit) for commit in commits),
        asked=_asked(reading),
    )
    return scrubbed(facts, shown)


def _first(read: Callable[[Path], Found | None], folders: Iterable[Path]) -> Found | None:
    return next((it for folder in folders if (it := read(folder)) is not None), None)


class Known:
    """What the history says of runs: which of them are as they were written, and hold for the tree as it is now."""

    def __init__(self, reading: Reading, history: History, tree: str, settings: str) -> None:
        self._reading = reading
        self._history = history
        self._tree = tree
        self._settings = settings

    def _row(self, folder: Path) -> dict[str, str] | None:
        return self._history.run_evidence(run_digest(folder))

    def holds(self, folder: Path) -> bool:
        """Tell whether a run's files are evidence for the tree as it is now."""
        base = self._reading.change.base.commit
        row = self._row(folder)
        return not why_no_evidence(row, tree=self._tree, base=base, settings=self._settings)

    def cut(self, folder: Path) -> str:
        """Say why a run was asked for less than a push needs."""
        row = self._row(folder)
        return row["cut"] if row else ""

    def word_on(self, view: RunView) -> tuple[tuple[str, ...], str]:
        """Say why a run shows nothing of this tree, else why it was asked for less than the whole tier."""
        change = self._reading.change
        folder = Path(change.top) / OWN / "runs" / view.name
        tested = str(view.evidence.get("tree") or view.target.tree)
        stale = why_stale(
            view,
            self._row(folder),
            tree=self._tree,
            base=change.base,
            snapshot=change.target.tree,
            settings=self._settings,
            differs=differing_files(self._reading, tested, self._tree),
        )
        return stale, "" if stale else self.cut(folder)


def uncommitted(reading: Reading, tree: str) -> tuple[str, ...]:
    """Say what a push would not hold of the tree that was tested; where nothing is committed yet, there is no push."""
    change = reading.change
    head = change.target.commit
    if head is None or head == change.base.commit:
        return ()
    pushed = git("rev-parse", f"{head}^{{tree}}", cwd=reading.repository.top)
    if pushed.text.strip() == tree:
        return ()
    names = names_in_words((*change.target.dirty, *change.target.untracked))
    return (f"not committed: {names}",)


def scrubbed(facts: DraftFacts, shown: Shown) -> DraftFacts:
    """Give the same facts with every text gone through `shown`."""

    def clean(value: Any) -> Any:  # noqa: ANN401 - JSON's types
        match value:
            case str():
                return shown(value)
            case list() | tuple():
                return [clean(it) for it in value]
            case dict():
                return {clean(name): clean(it) for name, it in value.items()}
            case _:
                return value

    return msgspec.convert(clean(builtins_of(facts)), DraftFacts)


def read_runs(
    change: Change, tree: str, name: str | None, known: Known
) -> tuple[RunView, list[Path]]:
    """Choose the run that is spoken of, one that evidence holds for if there is any.

    Gives also the folders of all runs of this tree, newest first.
    """
    top = Path(change.top)
    views: dict[str, RunView] = {}
    for folder in list_runs(top):
        view = _view(folder)
        if view is not None:
            views[folder.name] = view
    base, snapshot = change.base.commit, change.target.tree
    if name is not None:
        chosen = views.get(find_run(top, name).name)
    else:
        holding = [it for it in views.values() if known.holds(top / OWN / "runs" / it.name)]
        among = holding or list(views.values())
        chosen = choose_run(among, tree=tree, base=base, snapshot=snapshot)
    if chosen is None:
        raise UsageError("there is no run to write a draft from", hint="presubmit run")
    own = [it for it in views.values() if is_of(it, tree, base, snapshot)]
    folders = [top / OWN / "runs" / it.name for it in reversed(own)]
    return chosen, folders


def _view(folder: Path) -> RunView | None:
    try:
        return msgspec.convert({**read_run(folder), "name": folder.name}, RunView)
    except (UsageError, msgspec.ValidationError):
        return None


def read_commits(repository: Repository, base: str, head: str | None) -> tuple[Commit, ...]:
    """Read the change's commits, oldest first; merges say nothing of it."""
    if head is None or head == base:
        return ()
    listed = git(
        "log", "--reverse", "--no-merges", f"--max-count={_MOST_COMMITS}", "-z",
        "--format=%s%x1f%b%x1f%ae", f"{base}..{head}",
        cwd=repository.top,
    )  # fmt: skip
    found = []
    for entry in fields(listed.stdout):
        subject, _, rest = entry.partition("\x1f")
        body, _, email = rest.rpartition("\x1f")
        found.append(Commit(subject=_text(subject), body=_text(body), email=_text(email)))
    return tuple(found)


def _text(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip("\n")


def _is_signed(commit: Commit) -> bool:
    found = re.findall(r"(?im)^Signed-off-by:.*<([^>]*)>\s*$", commit.body)
    return commit.email.lower() in {it.lower() for it in found}


def _committed(reading: Reading) -> tuple[ChangedFile, ...]:
    """Give the files that a push would hold, where there is something committed; else those of the snapshot."""
    change = reading.change
    head = change.target.commit
    if head is None or head == change.base.commit:
        return change.files
    return read_changed_files(reading.repository, change.base.commit, head)


def is_source(path: str) -> bool:
    """Tell whether a file is code of the project itself."""
    code = path.endswith((".py", ".pyx", ".pyi", ".rs")) or convention.is_native(path)
    return code and not _TEST.search(path) and not _DOCS.search(path)


def _api(reading: Reading, review: Review | None) -> Api:
    """Give what the run's review says of the API; a run of an earlier presubmit, or one that left it out, had none."""
    if review is None or "api" not in review.rules:
        review = read_review(reading, ("api",))
    return api_of_review(review)


def _users(reading: Reading, api: Api) -> dict[str, tuple[str, ...]]:
    """Find the files that name what breaks."""
    changed = {it.path for it in reading.change.files}
    found = {}
    for name in [*api.removed, *api.names][:_MOST_USERS]:
        done = git(
            "grep", "-I", "-l", "-z", "-w", "-F", "-e", _telling(name), reading.change.target.snapshot,
            cwd=reading.repository.top,
            env=reading.repository.object_env,
            check=False,
        )  # fmt: skip
        paths = (it.partition(":")[2] for it in fields(done.stdout))
        found[name] = tuple(path for path in paths if path not in changed)
    return found


def _telling(name: str) -> str:
    """Give the part of a name to look for: `le` alone is found everywhere, `validators.le` is not."""
    last = name.rpartition(".")[2]
    return last if len(last) >= _LEAST_NAME else ".".join(name.split(".")[-2:])


def _owners(reading: Reading) -> dict[str, tuple[str, ...]]:
    if reading.config.config.draft.codeowners == "no":
        return {}
    texts = (reading.base_reader.text(place) for place in PLACES)
    text = next((it for it in texts if it is not None), "")
    return read_owners(text, (it.path for it in reading.change.files))


def _requirements(reading: Reading) -> tuple[str, ...]:
    before = required_names(reading.base_reader.text("pyproject.toml"))
    return tuple(sorted(required_names(reading.head_reader.text("pyproject.toml")) - before))


def _cells(reading: Reading) -> tuple[JobCell, ...]:
    """Give upstream's cells; which interpreters are here is for the run to say."""
    try:
        return tuple(read_upstream(reading, event="pull_request", here=None).cells)
    except PresubmitError:  # a workflow that cannot be read is no reason to have no draft
        return ()


def _merges(reading: Reading) -> bool | None:
    """Ask git whether the commit merges with the base's newest; its objects go to presubmit's own folder."""
    head = reading.change.target.commit
    if head is None:
        return None
    done = git(
        "merge-tree", "--write-tree", "--no-messages", reading.change.base.ref, head,
        cwd=reading.repository.top,
        env=reading.repository.object_env,
        check=False,
    )  # fmt: skip
    return {0: True, 1: False}.get(done.exit_code)


def _asked(reading: Reading) -> Asked:
    draft, head = reading.config.config.draft, reading.head_reader
    paths: Sequence[str] = tuple(head.blobs)
    items = tuple(Item(id=it.id, text=it.text, evidence=it.evidence) for it in draft.item)
    wrong = next((it.evidence for it in items if not is_evidence(it.evidence)), "")
    if wrong:
        raise ConfigError(
            f"`draft.item` names evidence that there is none of: {wrong}",
            hint="step:NAME, or one of those in docs/reference/config.md",
        )
    signed = draft.dco == "yes" or (draft.dco == "auto" and asks_sign_off(paths, head.text))
    return Asked(
        fragments=draft.fragments or find_fragments(paths, head.text),
        dco=signed,
        items=items,
        rfc_needed=draft.rfc_needed,
        rfc_places=rfc_places(paths, head.text),
    )
