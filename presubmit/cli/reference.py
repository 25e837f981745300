"""The reference pages on commands and configuration, from the code itself."""

from __future__ import annotations

import json

import rich_click as click

from presubmit.config import Config, described_options, environment_name, value_of

_CONFIG = """\
# Configuration

First wins: command line, environment, your own file (`presubmit config --user-file` names it), the project's `presubmit.toml` or `[tool.presubmit]` in `pyproject.toml` (both: exit 2), upstream's own jobs, convention.
`presubmit config` prints every value and where it came from; `presubmit config --schema` gives the JSON Schema.

Your own file may hold options for single repositories: `[repo."name"]`, `[repo."/path/to/checkout".container]`.

The options of `container`, `replay.runners` and `replay.user` are read from the *base* of a change or from you, never from the change itself without `--trust-head`; on the host that goes for `build.command`, `build.before`, `tests.command`, `lint.commands` and `actions`, too.

What upstream's jobs give (`upstream = "no"` leaves them out): `tests.command`, `tests.env`, `build.extras`, `build.groups`, `build.requirements`, `build.constraints`, `build.packages`, `build.before` (calls of Cython), `build.env`, `lint.commands`, `lint.packages`, and `container.python` where upstream does not test on the image's default.
`presubmit config` shows the line that each comes from.

An option of a table is written as `[table]`, `option = value`; an unknown one is an error that names the nearest known.
In the environment, the items of a list are separated by commas; a table is JSON.

| option | default | environment | what |
| --- | --- | --- | --- |
"""


def render_config() -> str:
    """Give docs/reference/config.md."""
    rows = [
        f"| `{option}` | `{json.dumps(value_of(Config(), option))}` | `{environment_name(option)}` | {text} |\n"
        for option, text in described_options()
    ]
    return _CONFIG + "".join(rows)


def render_cli() -> str:
    """Give docs/reference/cli.md."""
    from presubmit.cli.app import app  # noqa: PLC0415 - it imports this package

    parts = [
        "# Commands\n\n",
        "`presubmit COMMAND --help` says the same.\n",
        (
            'Shell completion: `eval "$(_PRESUBMIT_COMPLETE=bash_source presubmit)"` '
            "(or `zsh_source`; fish: `fish_source`).\n"
        ),
    ]
    context = click.Context(app, info_name="presubmit")
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None  # noqa: S101 - it was listed
        parts += _command(f"presubmit {name}", command)
    return "".join(parts)


def _command(name: str, command: click.Command) -> list[str]:
    if isinstance(command, click.Group):
        inner = [
            part
            for sub, member in command.commands.items()
            for part in _command(f"{name} {sub}", member)
        ]
        return [f"\n## {name}\n\n{_help(command)}\n", *inner]
    arguments = " ".join(
        p.make_metavar(click.Context(command))
        for p in command.params
        if isinstance(p, click.Argument)
    )
    parts = [
        f"\n## {name}\n\n",
        f"`{name} [OPTIONS] {arguments}`".replace(" `", "`"),
        "\n\n",
        _help(command),
        "\n",
    ]
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        parts.append("\n| option | what |\n| --- | --- |\n")
        parts += [_option(option) for option in options]
    return parts


def _help(command: click.Command) -> str:
    return "\n".join(line.strip() for line in (command.help or "").strip().splitlines())


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    default = ""
    if option.show_default and option.default is not None:
        default = f" Default: `{option.default}`."
    choices = ""
    if isinstance(option.type, click.Choice):
        choices = f" One of {', '.join(f'`{c}`' for c in option.type.choices)}."
    return f"| {names} | {option.help or ''}{choices}{default} |\n"
