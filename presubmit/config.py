"""Reads `[tool.presubmit]`, `presubmit.toml`, the user's config and the environment into one Config.

Each option is declared once, here, with its type, default and help; the config table, the environment variables and
the reference page (docs/reference/config.md) follow from that.
"""

from __future__ import annotations

import difflib
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from presubmit.errors import ConfigError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class ContainerConfig(Value, frozen=True, kw_only=True):
    """`[container]`: read from the base commit or the user's config, since it widens what a change may do."""

    image: Annotated[str, Meta(description="Image to run in; it must be there already.")] = ""
    dockerfile: Annotated[
        str, Meta(description="Dockerfile that `presubmit image build` builds the image from.")
    ] = ""
    python: Annotated[
        str, Meta(description="Interpreter inside the image that environments are made with.")
    ] = "python3"
    network: Annotated[
        str, Meta(description="Network of the tests: `none` (loopback only) or `bridge`.")
    ] = "none"
    memory: Annotated[str, Meta(description="Memory limit, `8g`; swap is never more.")] = ""
    cpus: Annotated[
        float, Meta(ge=0, description="Processors a box may use; also sets MAX_JOBS. 0: all.")
    ] = 0.0
    shm: Annotated[str, Meta(description="Size of /dev/shm.")] = "2g"
    pids: Annotated[int, Meta(ge=16, description="Most processes at a time.")] = 4096
    gpus: Annotated[str, Meta(description="`all`, or device ids: `0,1`.")] = ""
    user: Annotated[
        str, Meta(description="`caller` (your uid), `image` (the image's user) or `uid:gid`.")
    ] = "caller"
    env: Annotated[
        tuple[str, ...],
        Meta(
            description="Host variables passed into the box (`NAME`), or set there (`NAME=value`)."
        ),
    ] = ()
    options: Annotated[
        str,
        Meta(
            description="docker options, by allow list: shm-size, memory, cpus, ulimit, gpus, user, env."
        ),
    ] = ""
    profile: Annotated[
        str, Meta(description="`hardened`, or `ci-parity` (upstream CI's own docker flags).")
    ] = "hardened"


class BuildConfig(Value, frozen=True, kw_only=True):
    """`[build]`: how the project is built and installed."""

    mode: Annotated[
        str,
        Meta(
            description="`auto`, `editable`, `wheel` (tests see the installed wheel only), `command`, `none`, or `overlay`"
            " (the tree's Python over an installed build)."
        ),
    ] = "auto"
    overlay: Annotated[
        tuple[str, ...],
        Meta(
            description="Import packages at the tree's root that mode `overlay` lays over the installed ones."
        ),
    ] = ()
    installed: Annotated[
        tuple[str, ...],
        Meta(
            description="Requirements that give the installed build of mode `overlay`; else the image has it."
        ),
    ] = ()
    compiled: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of the files that the installed build was made from (`!docs/**` takes out): a change of"
            " one needs `build.command` instead of the overlay. Else native sources and build files."
        ),
    ] = ()
    command: Annotated[
        str, Meta(description="Shell command that builds and installs, for mode `command`.")
    ] = ""
    before: Annotated[
        str,
        Meta(
            description="Shell command that runs before the build, for example `cython pkg/mod.pyx`."
        ),
    ] = ""
    extras: Annotated[
        tuple[str, ...], Meta(description="Extras to install; else test, tests, testing, dev.")
    ] = ()
    groups: Annotated[
        tuple[str, ...],
        Meta(description="Dependency groups to install; else test, tests, testing, dev."),
    ] = ()
    requirements: Annotated[
        tuple[str, ...],
        Meta(
            description="Requirement files to install; else the usual names of test requirements."
        ),
    ] = ()
    packages: Annotated[
        tuple[str, ...], Meta(description="Further requirements to install: `numpy>=2`.")
    ] = ()
    constraints: Annotated[
        tuple[str, ...], Meta(description="Constraint files that pip honours.")
    ] = ()
    env: Annotated[
        tuple[str, ...],
        Meta(description="Variables of the build alone, `NAME=value`, besides `tests.env`."),
    ] = ()
    triggers: Annotated[
        tuple[str, ...],
        Meta(description="Patterns of further files whose change forces a clean build."),
    ] = ()
    native: Annotated[
        str,
        Meta(
            description="`auto`: native sources must give extension modules; `none`: they need not."
        ),
    ] = "auto"
    timeout: Annotated[float, Meta(gt=0, description="Seconds that a build may take.")] = 7200.0


class TestsConfig(Value, frozen=True, kw_only=True):
    """`[tests]`: how the tests are run."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="Test command: one that ends in a pytest run, `python -m unittest …`, `python manage.py test …`,"
            " or a script such as `runtests.py`."
        ),
    ] = ("pytest",)
    apart: Annotated[
        bool,
        Meta(
            description="Run every chosen file in a pytest process of its own, the file named as an argument."
        ),
    ] = False
    path: Annotated[
        tuple[str, ...],
        Meta(description="Folders of the tree that the tests have on their import path."),
    ] = ()
    shards: Annotated[
        int, Meta(ge=1, description="Processes that share the chosen test files.")
    ] = 1
    retries: Annotated[int, Meta(ge=0, description="Reruns of a failing test on head.")] = 1
    max_retried: Annotated[
        int, Meta(ge=0, description="Failing tests that are run again at the most.")
    ] = 50
    timeout: Annotated[float, Meta(gt=0, description="Seconds that one shard may take.")] = 3600.0
    env: Annotated[
        tuple[str, ...], Meta(description="Variables of build and tests, `NAME=value`.")
    ] = ()
    always: Annotated[
        tuple[str, ...], Meta(description="Test files that run with every change.")
    ] = ()
    full_if: Annotated[
        tuple[str, ...], Meta(description="Patterns of files whose change selects every test.")
    ] = ()
    rules: Annotated[
        dict[str, str],
        Meta(
            description='What a changed file means, first match wins: `{"data/*.bin" = "tests/io/*"}`; or `none`, `all`.'
        ),
    ] = {}
    record: Annotated[
        str,
        Meta(
            description="Record what tests run, to narrow later runs. `auto`: where that takes less than a minute more."
        ),
    ] = "auto"
    serial: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of test files that never run in two processes at a time: one shard has them all."
        ),
    ] = ()
    xdist: Annotated[
        str,
        Meta(
            description="`no`; `auto`: `-n auto` where pytest-xdist is installed and the tests took over a minute; `yes`."
            " Tests that need an order break."
        ),
    ] = "no"


class LintConfig(Value, frozen=True, kw_only=True):
    """`[lint]`: what is linted, and by what."""

    commands: Annotated[
        tuple[str, ...],
        Meta(
            description="Commands; `{files}` stands for the changed files, `{files:src/*.py docs/*.py}` for those"
            " that match (`*` matches `/`, too). Else pre-commit, lintrunner, ruff."
        ),
    ] = ()
    packages: Annotated[
        tuple[str, ...], Meta(description="Requirements that the commands need.")
    ] = ()
    timeout: Annotated[float, Meta(gt=0, description="Seconds that one command may take.")] = (
        1800.0
    )


class DocsConfig(Value, frozen=True, kw_only=True):
    """`[docs]`: docstrings and doctests."""

    convention: Annotated[str, Meta(description="`auto`, `numpy`, `google` or `rst`.")] = "auto"
    binding: Annotated[
        str,
        Meta(
            description="`auto`: a finding fails where the project checks docstrings itself; `yes`; `no`."
        ),
    ] = "auto"
    doctests: Annotated[
        str, Meta(description="`auto`: where the project's pytest runs doctests; `yes`; `no`.")
    ] = "auto"


class BenchCommand(Value, frozen=True, kw_only=True):
    """`[[bench.command]]`: any program as a benchmark."""

    name: Annotated[str, Meta(min_length=1, description="What it is called.")]
    run: Annotated[tuple[str, ...], Meta(min_length=1, description="The command, as a list.")]
    json: Annotated[
        str,
        Meta(
            description="File that it writes its numbers to, name to number; else the whole process is timed."
        ),
    ] = ""
    files: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of the files that make it up; a change of the project that they import reaches it."
        ),
    ] = ()


class BenchConfig(Value, frozen=True, kw_only=True):
    """`[bench]`: microbenchmarks, base against head."""

    command: Annotated[
        tuple[BenchCommand, ...],
        Meta(
            description="Programs as benchmarks, `[[bench.command]]`: `name`, `run` (a list), `json`"
            " (the file it writes name -> number to; else the process is timed), `files` (patterns of what it is made of)."
        ),
    ] = ()
    paths: Annotated[
        tuple[str, ...],
        Meta(description="Patterns of the benchmark files to use; else all that are recognised."),
    ] = ()
    budget: Annotated[float, Meta(gt=0, description="Seconds for measuring, builds apart.")] = (
        120.0
    )
    fail_above: Annotated[
        float, Meta(gt=0, description="A confirmed slow-down of at least this fails: `0.05`.")
    ] = 0.05
    threads: Annotated[
        int, Meta(ge=1, description="Threads that numeric libraries may use while measuring.")
    ] = 1
    timeout: Annotated[
        float, Meta(gt=0, description="Seconds that one turn of a benchmark may take.")
    ] = 60.0
    env: Annotated[
        tuple[str, ...], Meta(description="Variables of benchmarks, `NAME=value`.")
    ] = ()


class HookConfig(Value, frozen=True, kw_only=True):
    """`[hook]`: what a push waits for."""

    budget: Annotated[
        float,
        Meta(
            gt=0,
            description="Seconds that a push waits at the most; servers drop an idle one after six minutes.",
        ),
    ] = 240.0
    incomplete: Annotated[
        str,
        Meta(
            description="What becomes of a push that could not be tested whole: `warn` lets it through and says so; `refuse`."
        ),
    ] = "warn"
    skip_refs: Annotated[
        tuple[str, ...],
        Meta(description="Patterns of the remote's refs that are not tested: `refs/heads/wip/*`."),
    ] = ()
    skip_remotes: Annotated[
        tuple[str, ...],
        Meta(description="Names or URLs of remotes to which pushes are not tested."),
    ] = ()


class DraftItem(Value, frozen=True, kw_only=True):
    """`[[draft.item]]`: a box of the checklist, or of the project's template, and what ticks it."""

    id: Annotated[str, Meta(min_length=1, description="Its name; one of ours is replaced.")]
    text: Annotated[
        str, Meta(min_length=1, description="What the box says, or a part of the template's box.")
    ]
    evidence: Annotated[
        str,
        Meta(
            min_length=1,
            description="What ticks it: `step:lint`, `tests`, `changelog`, …, or `none`: only a person can.",
        ),
    ]


class DraftConfig(Value, frozen=True, kw_only=True):
    """`[draft]`: what a pull request of this project is made of."""

    template: Annotated[
        str,
        Meta(
            description="The pull request's template: `auto` (where GitHub looks for it), `none`, or a path in the tree."
        ),
    ] = "auto"
    fragments: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of changelog files; else those of towncrier, scriv, reno and blurb, or the changelog."
        ),
    ] = ()
    dco: Annotated[
        str,
        Meta(
            description="Whether commits must be signed off: `auto` (as the project's files say), `yes`, `no`."
        ),
    ] = "auto"
    codeowners: Annotated[
        str, Meta(description="Name the owners of what changes: `auto` (CODEOWNERS), `no`.")
    ] = "auto"
    item: Annotated[
        tuple[DraftItem, ...],
        Meta(
            description="Boxes, `[[draft.item]]`: `id`, `text` (of the template's box), `evidence`"
            " (`step:NAME`, `tests`, `tests-added`, `build`, `lint`, `docs`, `api`, `bench`, `changelog`, `dco`, `merges`, `none`)."
        ),
    ] = ()
    rfc_needed: Annotated[
        tuple[str, ...],
        Meta(
            description="What alone makes an RFC needed: `api-break`, `new-module`, `new-names`, `new-dependency`,"
            " `build`, `areas`, `operators`."
        ),
    ] = ()


class ReplayConfig(Value, frozen=True, kw_only=True):
    """`[replay]`: how jobs of upstream's workflows are replayed."""

    runners: Annotated[
        dict[str, str],
        Meta(
            description='Images for labels of `runs-on`: `{"linux.2xlarge" = "name"}`; "" is the devel image.'
        ),
    ] = {}
    vars: Annotated[
        dict[str, str], Meta(description="The repository's variables, `vars.NAME` in expressions.")
    ] = {}
    parallel: Annotated[
        int, Meta(ge=0, description="Cells that run at a time. 0: half of the processors.")
    ] = 0
    user: Annotated[
        str,
        Meta(
            description="`caller` (your uid, without rights), or `root` (inside the container; apt-get works)."
        ),
    ] = "caller"


class ActionConfig(Value, frozen=True, kw_only=True):
    """`[actions."owner/name"]`: your own substitute for an action."""

    run: Annotated[
        str,
        Meta(
            description="Shell script that stands for the action; inputs are INPUT_NAME, outputs go to GITHUB_OUTPUT."
        ),
    ]


class Config(Value, frozen=True, kw_only=True):
    """The whole configuration."""

    base: Annotated[
        str, Meta(description="What changes are compared with, for example `upstream/main`.")
    ] = ""
    host: Annotated[
        bool,
        Meta(
            description="Run on this host, as with --no-container; only the user's own configuration may say so."
        ),
    ] = False
    container: ContainerConfig = ContainerConfig()
    build: BuildConfig = BuildConfig()
    tests: TestsConfig = TestsConfig()
    lint: LintConfig = LintConfig()
    docs: DocsConfig = DocsConfig()
    bench: BenchConfig = BenchConfig()
    hook: HookConfig = HookConfig()
    draft: DraftConfig = DraftConfig()
    replay: ReplayConfig = ReplayConfig()
    upstream: Annotated[
        str,
        Meta(
            description="`auto`: commands, extras and variables that nothing here names come from upstream's jobs; `no`."
        ),
    ] = "auto"
    profile: Annotated[
        str,
        Meta(
            description="What presubmit knows of this upstream beyond its files: `auto`, `pytorch` or `none`."
        ),
    ] = "auto"
    actions: Annotated[
        dict[str, ActionConfig],
        Meta(description='Substitutes for actions, by name: `[actions."owner/name"]`.'),
    ] = {}


TABLES: Final[Mapping[str, type[Value]]] = {
    "container": ContainerConfig,
    "build": BuildConfig,
    "tests": TestsConfig,
    "lint": LintConfig,
    "docs": DocsConfig,
    "bench": BenchConfig,
    "hook": HookConfig,
    "draft": DraftConfig,
    "replay": ReplayConfig,
}

_CHOICES: Final[Mapping[str, frozenset[str]]] = {
    "container.network": frozenset({"none", "bridge"}),
    "container.profile": frozenset({"hardened", "ci-parity"}),
    "build.mode": frozenset({"auto", "editable", "wheel", "command", "none", "overlay"}),
    "build.native": frozenset({"auto", "none"}),
    "docs.convention": frozenset({"auto", "numpy", "google", "rst"}),
    "docs.binding": frozenset({"auto", "yes", "no"}),
    "docs.doctests": frozenset({"auto", "yes", "no"}),
    "upstream": frozenset({"auto", "no"}),
    "profile": frozenset({"auto", "none", "pytorch"}),
    "replay.user": frozenset({"caller", "root"}),
    "hook.incomplete": frozenset({"warn", "refuse"}),
    "draft.dco": frozenset({"auto", "yes", "no"}),
    "draft.codeowners": frozenset({"auto", "no"}),
    "tests.record": frozenset({"auto", "yes", "no"}),
    "tests.xdist": frozenset({"auto", "no", "yes"}),
}

# What a change may not widen for itself: only the base commit, the user or --trust-head can (DESIGN, section 6).
GUARDED: Final = (
    *(f"container.{name}" for name in ContainerConfig.__struct_fields__),
    "replay.runners",
    "replay.user",
)
# On the host the project's own commands run with the user's rights, so they are guarded as well.
GUARDED_ON_HOST: Final = (
    "build.command",
    "build.before",
    "tests.command",
    "lint.commands",
    "bench.command",
    "actions",
)


class Sourced(Value, frozen=True, kw_only=True):
    """A Config and, for each option that is not at its default, where its value came from."""

    config: Config
    origins: dict[str, str]


class ProjectFiles(Value, frozen=True, kw_only=True):
    """The texts of a commit's two possible config files; None where the file is absent."""

    pyproject: str | None
    presubmit: str | None


def option_names() -> tuple[str, ...]:
    """Every option as `table.name`, top-level ones first."""
    top = tuple(name for name in Config.__struct_fields__ if name not in TABLES)
    tabled = (
        f"{table}.{name}" for table, kind in TABLES.items() for name in kind.__struct_fields__
    )
    return (*top, *tabled)


def environment_name(option: str) -> str:
    """Name the environment variable of an option: `tests.max_retried` -> `PRESUBMIT_TESTS_MAX_RETRIED`."""
    return "PRESUBMIT_" + option.replace(".", "_").upper()


def flatten(tables: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Turn nested tables into `table.option` keys; raises ConfigError for an unknown key."""
    known = option_names()
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if key in TABLES:
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: `{key}` is a table", hint=f"write [{key}]")
            flat |= {f"{key}.{name.replace('-', '_')}": inner for name, inner in value.items()}
        else:
            flat[key.replace("-", "_")] = value
    for name in flat:
        if name not in known:
            near = _nearest(name)
            hint = f"did you mean `{near}`?" if near else "see docs/reference/config.md"
            raise ConfigError(f"{where}: unknown option `{name}`", hint=hint)
    return flat


def _nearest(name: str) -> str:
    """Give the known name that is most like an unknown one: an option of its table, or a table's name."""
    table = name.partition(".")[0]
    among = option_names() if table in TABLES else (*Config.__struct_fields__,)
    return next(iter(difflib.get_close_matches(name, among, n=1, cutoff=0.5)), "")


def read_project(files: ProjectFiles, where: str) -> tuple[dict[str, Any], str]:
    """Read the project's options from its two possible files; both at once is an error."""
    pyproject = _parse(files.pyproject, f"{where}pyproject.toml")
    tools = pyproject.get("tool", {})
    tool = tools.get("presubmit") if isinstance(tools, dict) else None
    if tool is not None and not isinstance(tool, dict):
        raise ConfigError(f"{where}pyproject.toml: `tool.presubmit` is a table", hint="mend it")
    if tool is not None and files.presubmit is not None:
        raise ConfigError(
            "both presubmit.toml and [tool.presubmit] in pyproject.toml configure presubmit",
            hint="keep one of them",
        )
    if files.presubmit is not None:
        name = f"{where}presubmit.toml"
        return flatten(_parse(files.presubmit, name), name), name
    name = f"{where}pyproject.toml"
    return flatten(tool or {}, name), name


def read_user(text: str | None, where: str, repository: str) -> dict[str, Any]:
    """Read the user's options: the whole file's, and above them those of `[repo."<folder>"]`."""
    tables = _parse(text, where)
    repositories = tables.pop("repo", {})
    options = flatten(tables, where)
    if not isinstance(repositories, dict):
        raise ConfigError(f"{where}: `repo` is a table", hint='write [repo."<folder>"]')
    for name, inner in repositories.items():
        if not isinstance(inner, dict):
            raise ConfigError(f"{where}: `repo.{name}` is a table", hint=f'write [repo."{name}"]')
        own = flatten(inner, f'{where} [repo."{name}"]')
        if repository == name or repository.endswith("/" + name.strip("/")):
            options |= own
    return options


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read `PRESUBMIT_<TABLE>_<OPTION>` variables; a list is split at commas. An unknown option is a ConfigError."""
    known = {environment_name(option) for option in option_names()}
    tables = tuple(f"PRESUBMIT_{table.upper()}_" for table in TABLES)
    for name in sorted(environ):
        if name.startswith(tables) and name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "presubmit config"
            raise ConfigError(f"environment: unknown option {name}", hint=hint)
    return {
        name: environ[environment_name(name)]
        for name in option_names()
        if environ.get(environment_name(name), "") != ""
    }


def users_host(own: Mapping[str, Any]) -> bool:
    """Tell whether the user's own options say that tests run on the host. Raises ConfigError."""
    if "host" not in own:
        return False
    given = own["host"]
    origin = environment_name("host") if isinstance(given, str) else "your own config"
    return bool(_convert_one("host", given, Config, "host", origin))


def make_config(
    *,
    command_line: Mapping[str, Any],
    environ: Mapping[str, str],
    user: Mapping[str, Any],
    user_name: str,
    head: ProjectFiles,
    base: ProjectFiles,
    trust_head: bool,
    on_host: bool,
) -> Sourced:
    """Merge all sources, first wins: command line, environment, user, project; convention is the default.

    Raises ConfigError where a value is of the wrong type, where a key is unknown, or where head's project
    files change what only the base or the user may say (`trust_head` allows it).
    """
    project, name = read_project(head, "")
    own = _read_base(base)
    if "host" in project:
        raise ConfigError(
            f"{name}: `host` is not the project's to say", hint="set it in your own config"
        )
    above = {**user, **read_environment(environ), **command_line}
    guarded = (*GUARDED, *GUARDED_ON_HOST) if on_host else GUARDED
    if not trust_head:
        widened = [k for k in guarded if project.get(k) != own.get(k) and k not in above]
        if widened:
            raise ConfigError(_differences(name, widened, own, project), hint=_TRUST_HINT)
    layers: tuple[tuple[str, Mapping[str, Any]], ...] = (
        (name, project),
        (user_name, user),
        ("environment", read_environment(environ)),
        ("command line", command_line),
    )
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, options in layers:
        for option, value in options.items():
            merged[option] = value
            origins[option] = environment_name(option) if origin == "environment" else origin
    return Sourced(config=_convert(merged, origins), origins=origins)


def _read_base(files: ProjectFiles) -> dict[str, Any]:
    """Read the base's options; a base that cannot be read allows nothing, but a change may mend it."""
    try:
        return read_project(files, "the base's ")[0]
    except ConfigError:
        return {}


_TRUST_HINT: Final = (
    "read the difference; then run again with --trust-head, or set it in your own config "
    "(`presubmit config --user-file` names the file)"
)


def _differences(
    name: str, options: Sequence[str], base: Mapping[str, Any], head: Mapping[str, Any]
) -> str:
    lines = [
        f"  {option}: {base.get(option, '(not set)')!r} on the base -> {head.get(option, '(not set)')!r}"
        for option in options
    ]
    return f"{name} of this change alters what may run on this machine:\n" + "\n".join(lines)


def _parse(text: str | None, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not TOML: {error}", hint="mend the file") from error


def _convert(flat: Mapping[str, Any], origins: Mapping[str, str]) -> Config:
    nested: dict[str, Any] = {}
    for option, value in flat.items():
        table, _, name = option.rpartition(".")
        kind = TABLES[table] if table else Config
        converted = _convert_one(option, value, kind, name, origins[option])
        if option in _CHOICES and converted not in _CHOICES[option]:
            choices = ", ".join(sorted(_CHOICES[option]))
            raise ConfigError(
                f"{origins[option]}: `{option}` is {converted!r}",
                hint=f"it may be one of {choices}",
            )
        (nested.setdefault(table, {}) if table else nested)[name] = converted
    return msgspec.convert(nested, Config)


def _convert_one(option: str, value: Any, kind: type[Value], name: str, origin: str) -> Any:  # noqa: ANN401 - TOML
    wanted = next(f.type for f in msgspec.structs.fields(kind) if f.name == name)
    # The environment and the command line give text, in which a list is split at commas; a file has types.
    from_text = origin in {environment_name(option), "command line"}
    if from_text and isinstance(value, str) and "tuple" in str(wanted):
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        if from_text and isinstance(value, str) and "dict" in str(wanted):
            value = msgspec.json.decode(value)
        return msgspec.convert(value, wanted, strict=not from_text)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"{origin}: `{option}`: {str(error)[0].lower()}{str(error)[1:]}",
            hint="see docs/reference/config.md",
        ) from error


def project_files(read: Callable[[str], bytes | None]) -> ProjectFiles:
    """Read a commit's two possible config files through `read` (path -> content)."""
    return ProjectFiles(
        pyproject=_text(read("pyproject.toml")), presubmit=_text(read("presubmit.toml"))
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


UPSTREAM: Final = "upstream "
"""How the origin of an option begins that a job of upstream gave: `upstream ci.yml:31`."""


def fill_in(config: Sourced, options: Mapping[str, tuple[Any, str | tuple[str, ...]]]) -> Sourced:
    """Set options that no source names, each with where its value comes from; what is named stays.

    Of a list, each item may have a line of its own: they are the origins of `lint.commands.0` and so on.
    """
    origins = dict(config.origins)
    filled = config.config
    for name, (value, at) in options.items():
        if name in config.origins:
            continue
        origins[name] = at if isinstance(at, str) else at[0]
        if not isinstance(at, str):
            origins |= {f"{name}.{number}": one for number, one in enumerate(at)}
        filled = _with_value(filled, name, value, origins[name])
    return Sourced(config=filled, origins=origins)


def without_upstream(config: Sourced) -> Config:
    """Give the configuration as it was before upstream's jobs filled it in."""
    plain = config.config
    for name, origin in config.origins.items():
        if origin.startswith(UPSTREAM) and name in option_names():
            plain = _with_value(plain, name, value_of(Config(), name), origin)
    return plain


def _with_value(config: Config, option: str, value: Any, origin: str) -> Config:  # noqa: ANN401 - any option's type
    table, _, name = option.rpartition(".")
    kind = TABLES[table]
    converted = _convert_one(option, value, kind, name, origin)
    inner = msgspec.structs.replace(getattr(config, table), **{name: converted})
    return msgspec.structs.replace(config, **{table: inner})


def described_options() -> tuple[tuple[str, str], ...]:
    """Give every option with its help text, as declared above."""
    return tuple((option, _description(option)) for option in option_names())


def value_of(config: Config, option: str) -> Any:  # noqa: ANN401 - any of the options' types
    """Give an option's value by its name, `table.option`, in the types of JSON."""
    table, _, name = option.rpartition(".")
    value = msgspec.to_builtins(getattr(getattr(config, table) if table else config, name))
    return list(value) if isinstance(value, tuple) else value


def _description(option: str) -> str:
    table, _, name = option.rpartition(".")
    kind = TABLES[table] if table else Config
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 - the tables are Structs
    field = next(f for f in info.fields if f.name == name)
    extra = (
        field.type.extra_json_schema if isinstance(field.type, msgspec.inspect.Metadata) else None
    )
    return str((extra or {}).get("description", ""))
