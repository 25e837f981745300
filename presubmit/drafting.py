"""`presubmit draft`: writes the pull request, the RFC and the checklist; posts nothing."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit import process
from presubmit.draft_reading import Known, read_facts_of_draft, read_runs, uncommitted
from presubmit.drafts.checklist import draft_checklist
from presubmit.drafts.commits import title_of
from presubmit.drafts.fill import in_url, open_todos, read_state
from presubmit.drafts.pr import draft_pr, state_lines
from presubmit.drafts.rfc import draft_rfc
from presubmit.drafts.rfc_verdict import Level, judge_rfc
from presubmit.drafts.secrets import clean, secrets_of
from presubmit.drafts.template import choose_template, find_rfc_templates, find_templates
from presubmit.errors import ExitCode, PresubmitError, UsageError
from presubmit.evidence_key import settings_digest
from presubmit.history import History
from presubmit.proof import differing_files, evidence_tree
from presubmit.reading import RunOptions, cache_root, read_all
from presubmit.report.folder import OWN, find_run, list_runs, own_folder, settle_dead_runs
from presubmit.where import boot_id, history_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.drafts.template import Template
    from presubmit.drafts.values import DraftFacts
    from presubmit.reading import Reading

FILES: Final = {"pr": "PR.md", "rfc": "RFC.md", "checklist": "CHECKLIST.md"}
_LARGEST: Final = 1 << 20


class DraftOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of `draft` says."""

    run_options: RunOptions
    what: str
    """`pr`, `rfc`, `checklist` or `all`."""
    check: bool = False
    open: bool = False
    new: bool = False
    """Begin anew from the template; the earlier draft is kept beside."""
    template: str = ""
    run: str | None = None


def cmd_draft(
    options: DraftOptions, environ: Mapping[str, str], say: Callable[[str], object]
) -> ExitCode:
    """Write the drafts, or check those that are there; STALE where they are of another tree."""
    # Nothing of the change is run, so it may name any image.
    reading = read_all(msgspec.structs.replace(options.run_options, trust_head=True), environ)
    top = Path(reading.change.top)
    settle_dead_runs(top, boot=boot_id())
    names = tuple(FILES) if options.what == "all" else (options.what,)
    if options.check:
        return check_drafts(reading, names, environ, say)

    def shown(text: str) -> str:
        return clean(text, known=secrets_of(environ), homes=_homes(environ, top))

    facts = read_facts_of_draft(reading, options.run, environ, shown)
    level, reasons = judge_rfc(facts)
    if options.what == "all" and level is Level.NOT_NEEDED:
        names = tuple(name for name in names if name != "rfc")
    written = [_write(reading, facts, name, options, shown) for name in names]
    for path in written:
        say(f"wrote {_relative(path, top)}")
    if options.what in {"rfc", "all"}:
        say(f"RFC {level}: {'; '.join(reasons)}")
        if level is not Level.NOT_NEEDED and facts.asked.rfc_places:
            say(f"where it belongs: {'; '.join(facts.asked.rfc_places)}")
    _say_standing(facts, say)
    for path in written:
        say_todos(path, say)
    if "pr" in names:
        say(_command(facts, reading, options, shown))
    if options.open:
        _open(written, environ, say)
    return ExitCode.STALE if facts.stale else ExitCode.OK


def _say_standing(facts: DraftFacts, say: Callable[[str], object]) -> None:
    for line in facts.stale:
        say(f"STALE: {line}")
    if facts.unproven:
        say(f"no box is ticked: {facts.unproven}")


def _homes(environ: Mapping[str, str], top: Path) -> tuple[str, ...]:
    home = environ.get("HOME", "")
    cache = str(cache_root(environ).parent)
    own = (str(top), cache, *((home,) if home not in {"", "/"} else ()))
    return tuple(dict.fromkeys(own))


def _write(
    reading: Reading,
    facts: DraftFacts,
    name: str,
    options: DraftOptions,
    shown: Callable[[str], str],
) -> Path:
    top = Path(reading.change.top)
    folder = draft_folder(top)
    earlier = "" if options.new else read_earlier(top, name, reading.change.branch)
    match name:
        case "pr":
            text = draft_pr(facts, _template(reading, options, earlier), earlier, shown)
        case "rfc":
            text = draft_rfc(facts, _rfc_template(reading, options, earlier), earlier, shown)
        case _:
            state = "\n".join(state_lines(facts))
            text = draft_checklist(facts, state, earlier, shown)
    path = folder / FILES[name]
    if options.new and path.is_file():
        path.replace(path.with_suffix(".old.md"))
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8", errors="backslashreplace")
    temporary.replace(path)
    return path


def draft_folder(top: Path) -> Path:
    """Make the folder of drafts in that of the newest run."""
    own_folder(top)
    folder = find_run(top, None) / "draft"
    if folder.is_symlink():
        raise PresubmitError(f"{folder} is a link", hint="remove it: presubmit follows no links")
    folder.mkdir(exist_ok=True)
    return folder


def read_earlier(top: Path, name: str, branch: str | None) -> str:
    """Read the newest draft of this branch, in whichever run's folder it is; empty where there is none."""
    folders = [find_run(top, None), *reversed(list_runs(top))]
    for folder in folders:
        path = folder / "draft" / FILES[name]
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > _LARGEST:
            continue
        text = path.read_text("utf-8", errors="replace").replace("\r\n", "\n")
        state = read_state(text)
        if state is not None and state.branch == in_url(branch):
            return text
    return ""


def _template(reading: Reading, options: DraftOptions, earlier: str) -> Template | None:
    if earlier:
        return None
    head = reading.head_reader
    asked = reading.config.config.draft.template
    if not options.template and asked == "none":
        return None
    return choose_template(find_templates(head.modes), options.template or asked, head.text)


def _rfc_template(reading: Reading, options: DraftOptions, earlier: str) -> Template | None:
    if earlier:
        return None
    head = reading.head_reader
    name = options.template if options.what == "rfc" else ""
    return choose_template(find_rfc_templates(head.modes), name, head.text)


def check_drafts(
    reading: Reading,
    names: tuple[str, ...],
    environ: Mapping[str, str],
    say: Callable[[str], object],
) -> ExitCode:
    """Say which drafts are stale, and why, and what in them is still to do; changes nothing."""
    tree, _ = evidence_tree(reading)
    top = Path(reading.change.top)
    found = {
        name: text for name in names if (text := read_earlier(top, name, reading.change.branch))
    }
    if not found:
        raise UsageError("there is no draft of this branch", hint=f"presubmit draft {names[0]}")
    code = ExitCode.OK
    for name, text in found.items():
        why = "; ".join((*_why_stale(reading, text, tree, environ), *uncommitted(reading, tree)))
        if why or "\n> Stale: " in text:
            say(f"{FILES[name]}: stale: {why or 'its run tested another tree'}")
            code = ExitCode.STALE
        todos = open_todos(text)
        for line in todos:
            say(f"{FILES[name]}: open: {line}")
        if todos and code is ExitCode.OK:
            code = ExitCode.FAILED
    if code is ExitCode.OK:
        say(f"{', '.join(FILES[name] for name in found)}: of this tree, nothing open")
    return code


def _why_stale(
    reading: Reading, text: str, tree: str, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Say why what a draft was written for is not so any more: another tree or base, or its run is no evidence now."""
    state = read_state(text)
    if state is None:
        return ()
    why = state.differs(tree, reading.change.base.commit)
    if why:
        edited = differing_files(reading, state.tree, tree)
        return (f"{why}; it differs in {edited}" if edited else why,)
    with History(history_path(reading)) as history:
        known = Known(reading, history, tree, settings_digest(environ))
        try:
            view, _ = read_runs(reading.change, tree, state.run, known)
        except UsageError:
            return (f"its run {state.run} is gone",)
        return known.word_on(view)[0]


def say_todos(path: Path, say: Callable[[str], object]) -> None:
    """Say how much of a draft is the author's to write."""
    number = len(open_todos(path.read_text("utf-8")))
    if number:
        say(f"{path.name}: {number} to do by you (`presubmit draft {path.stem.lower()} --check`)")


def _command(
    facts: DraftFacts, reading: Reading, options: DraftOptions, shown: Callable[[str], str]
) -> str:
    head = reading.head_reader
    found = find_templates(head.modes)
    asked = options.template or (found[0] if len(found) == 1 else "")
    template = choose_template(found, asked, head.text) if asked else None
    path = Path(reading.change.top) / OWN / "last" / "draft" / FILES["pr"]
    body = os.path.relpath(path, options.run_options.start)
    title = shown(title_of(facts.commits, template.title if template else ""))
    return f"gh pr create --title {shlex.quote(title)} --body-file {shlex.quote(body)}"


def _relative(path: Path, top: Path) -> str:
    return str(path.relative_to(top.resolve()) if path.is_relative_to(top.resolve()) else path)


def _open(paths: list[Path], environ: Mapping[str, str], say: Callable[[str], object]) -> None:
    """Open the drafts in the user's editor, or say where they are."""
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    if not editor:
        say(f"no editor is set ($VISUAL, $EDITOR): open {' '.join(str(path) for path in paths)}")
        return
    command = (*shlex.split(editor), *(str(path) for path in paths))
    try:
        process.call(command)
    except OSError as error:
        raise UsageError(
            f"{editor} cannot be started: {error.strerror}", hint="set $EDITOR"
        ) from error
