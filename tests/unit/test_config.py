from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.config import (
    ActionConfig,
    Config,
    ContainerConfig,
    ProjectFiles,
    Sourced,
    described_options,
    environment_name,
    fill_in,
    flatten,
    make_config,
    option_names,
    project_files,
    read_environment,
    read_project,
    read_user,
    value_of,
    without_upstream,
)
from presubmit.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_FILES = ProjectFiles(pyproject=None, presubmit=None)


def own(text: str) -> ProjectFiles:
    return ProjectFiles(pyproject=None, presubmit=text)


def make(
    head: str = "",
    *,
    base: str | None = None,
    user: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    command_line: Mapping[str, Any] | None = None,
    trust_head: bool = False,
    on_host: bool = False,
) -> Sourced:
    return make_config(
        command_line=command_line or {},
        environ=environ or {},
        user=user or {},
        user_name="~/config.toml",
        head=own(head),
        base=own(head if base is None else base),
        trust_head=trust_head,
        on_host=on_host,
    )


# --- precedence -----------------------------------------------------------------------------------------------------


def test_without_any_source_every_option_has_its_default() -> None:
    assert Sourced(config=Config(), origins={}) == make()


PRECEDENCE = [
    ({}, {}, {}, 3, "presubmit.toml"),
    ({"tests.shards": 4}, {}, {}, 4, "~/config.toml"),
    ({"tests.shards": 4}, {"PRESUBMIT_TESTS_SHARDS": "5"}, {}, 5, "PRESUBMIT_TESTS_SHARDS"),
    (
        {"tests.shards": 4},
        {"PRESUBMIT_TESTS_SHARDS": "5"},
        {"tests.shards": 6},
        6,
        "command line",
    ),
]


@pytest.mark.parametrize(("user", "environ", "command_line", "value", "origin"), PRECEDENCE)
def test_the_first_source_that_names_an_option_wins(
    user: dict[str, Any],
    environ: dict[str, str],
    command_line: dict[str, Any],
    value: int,
    origin: str,
) -> None:
    sourced = make("[tests]\nshards = 3\n", user=user, environ=environ, command_line=command_line)
    assert value == sourced.config.tests.shards
    assert {"tests.shards": origin} == sourced.origins


def test_sources_are_merged_option_by_option() -> None:
    sourced = make("[tests]\nshards = 3\nretries = 0\n", user={"tests.shards": 4})
    assert (sourced.config.tests.shards, sourced.config.tests.retries) == (4, 0)


def test_the_pyproject_table_is_read_where_there_is_no_presubmit_toml() -> None:
    files = ProjectFiles(pyproject='[tool.presubmit]\nbase = "upstream/dev"\n', presubmit=None)
    assert read_project(files, "") == ({"base": "upstream/dev"}, "pyproject.toml")


def test_both_project_files_at_once_are_a_usage_error() -> None:
    files = ProjectFiles(pyproject="[tool.presubmit]\n", presubmit="")
    with pytest.raises(ConfigError, match=r"both presubmit\.toml and") as caught:
        read_project(files, "")
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_pyproject_without_our_table_may_stand_beside_presubmit_toml() -> None:
    files = ProjectFiles(pyproject="[tool.ruff]\n", presubmit='base = "dev"\n')
    assert read_project(files, "") == ({"base": "dev"}, "presubmit.toml")


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\npresubmit = 3", "[[tool.presubmit]]"])
def test_a_tool_table_that_is_no_table_is_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError):
        read_project(ProjectFiles(pyproject=text, presubmit="x = 1"), "")


def test_a_file_that_is_not_toml_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^presubmit\.toml is not TOML"):
        make("[tests\n")


def test_project_files_are_read_through_the_given_function() -> None:
    contents = {"presubmit.toml": b"base = '\xff'"}
    files = project_files(contents.get)
    assert ProjectFiles(pyproject=None, presubmit="base = '�'") == files


# --- keys and values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("[tests]\nshard = 2\n", "tests.shards"),
        ("[container]\nimgae = 'x'\n", "container.image"),
        ("bases = 'x'\n", "base"),
        ("[test]\nshards = 2\n", "tests"),
        ("[contianer]\nimage = 'x'\n", "container"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest_known_one(
    text: str, nearest: str
) -> None:
    with pytest.raises(ConfigError, match="unknown option") as caught:
        make(text)
    assert f"did you mean `{nearest}`?" == caught.value.hint


def test_an_unknown_key_like_none_that_is_known_points_to_the_reference() -> None:
    with pytest.raises(ConfigError, match="unknown option `qqqq`") as caught:
        make("qqqq = 1\n")
    assert caught.value.hint == "see docs/reference/config.md"


def test_a_table_written_as_a_value_is_an_error() -> None:
    with pytest.raises(ConfigError, match="`tests` is a table"):
        make("tests = 3\n")


def test_a_dash_in_a_key_is_an_underscore() -> None:
    assert flatten({"tests": {"full-if": ["a"]}}, "x") == {"tests.full_if": ["a"]}


@pytest.mark.parametrize(
    "text",
    [
        "[tests]\nshards = 'many'\n",
        "[tests]\nshards = 1.5\n",
        "[tests]\nshards = [1]\n",
        "[container]\nimage = 3\n",
        "[container]\ncpus = 'all'\n",
        "[tests]\ncommand = [1, 2]\n",
        "base = ['a']\n",
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_that_names_file_and_option(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^presubmit\.toml: `"):
        make(text)


def test_a_text_where_a_list_belongs_is_an_error_in_a_file() -> None:
    with pytest.raises(ConfigError, match=r"`build\.packages`"):
        make("[build]\npackages = 'numpy>=2,<3'\n")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("container.network", "host"),
        ("container.profile", "soft"),
        ("build.mode", "fast"),
        ("build.native", "some"),
        ("docs.convention", "epytext"),
        ("docs.binding", "maybe"),
        ("docs.doctests", "true"),
    ],
)
def test_a_value_outside_the_choices_is_an_error_that_lists_them(option: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"~/config\.toml: `{option}` is '{value}'") as caught:
        make(user={option: value})
    assert caught.value.hint.startswith("it may be one of ")


# --- environment ----------------------------------------------------------------------------------------------------


def test_an_environment_variable_is_named_after_its_option() -> None:
    assert environment_name("tests.max_retried") == "PRESUBMIT_TESTS_MAX_RETRIED"


def test_every_option_has_a_variable_of_its_own() -> None:
    names = [environment_name(option) for option in option_names()]
    assert len(set(names)) == len(names)


def test_an_empty_variable_says_nothing() -> None:
    assert read_environment({"PRESUBMIT_BASE": ""}) == {}


def test_a_foreign_variable_says_nothing() -> None:
    assert read_environment({"PRESUBMIT_SKIP": "x", "BASE": "y"}) == {}


def test_a_list_in_the_environment_is_split_at_commas() -> None:
    sourced = make(environ={"PRESUBMIT_BUILD_EXTRAS": "test, docs,"})
    assert sourced.config.build.extras == ("test", "docs")


def test_a_number_in_the_environment_is_read_as_one() -> None:
    sourced = make(environ={"PRESUBMIT_CONTAINER_CPUS": "2", "PRESUBMIT_TESTS_RETRIES": "0"})
    assert (sourced.config.container.cpus, sourced.config.tests.retries) == (2.0, 0)


def test_a_list_on_the_command_line_is_split_at_commas() -> None:
    sourced = make(command_line={"build.extras": "a,b"})
    assert sourced.config.build.extras == ("a", "b")


# --- the user's file ------------------------------------------------------------------------------------------------

USER = """
[tests]
shards = 2

[repo."/home/me/torch".tests]
shards = 4

[repo."numpy".tests]
shards = 6
"""


@pytest.mark.parametrize(
    ("repository", "shards"),
    [
        ("/home/me/other", 2),
        ("/home/me/torch", 4),
        ("/home/me/numpy", 6),
        ("/home/me/mynumpy", 2),
        ("/home/me/numpy/inner", 2),
    ],
)
def test_the_users_table_for_a_repository_goes_above_the_rest(
    repository: str, shards: int
) -> None:
    assert {"tests.shards": shards} == read_user(USER, "user.toml", repository)


def test_without_a_user_file_there_are_no_user_options() -> None:
    assert read_user(None, "user.toml", "/r") == {}


def test_an_unknown_key_for_a_repository_names_its_table() -> None:
    with pytest.raises(ConfigError, match=r'user\.toml \[repo\."numpy"\]: unknown option `basse`'):
        read_user('[repo.numpy]\nbasse = "x"\n', "user.toml", "/other")


@pytest.mark.parametrize("text", ["repo = 3", "[repo]\nnumpy = 3"])
def test_a_repository_table_that_is_no_table_is_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError, match=r"user\.toml"):
        read_user(text, "user.toml", "/numpy")


# --- what a change may not widen ------------------------------------------------------------------------------------

IMAGE = '[container]\nimage = "{}"\n'


@pytest.mark.parametrize(
    ("base", "head", "shown"),
    [
        ("", IMAGE.format("mine"), "(not set)' on the base -> 'mine'"),
        (IMAGE.format("a"), IMAGE.format("b"), "'a' on the base -> 'b'"),
        (IMAGE.format("a"), "", "'a' on the base -> '(not set)'"),
    ],
    ids=["added", "changed", "removed"],
)
def test_a_guarded_key_that_head_alters_stops_the_run_and_shows_both(
    base: str, head: str, shown: str
) -> None:
    with pytest.raises(ConfigError, match="alters what may run on this machine") as caught:
        make(head, base=base)
    assert shown in str(caught.value)
    assert "--trust-head" in caught.value.hint


@pytest.mark.parametrize("name", ContainerConfig.__struct_fields__)
def test_every_option_of_the_container_is_guarded(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"container\.{name}"):
        make(f"[container]\n{name} = 'x'\n", base="")


def test_a_guarded_key_in_the_other_project_file_is_compared_too() -> None:
    pyproject = '[tool.presubmit.container]\nimage = "a"\n'
    sourced = make_config(
        command_line={},
        environ={},
        user={},
        user_name="u",
        head=own(IMAGE.format("a")),
        base=ProjectFiles(pyproject=pyproject, presubmit=None),
        trust_head=False,
        on_host=False,
    )
    assert sourced.config.container.image == "a"


def test_a_guarded_key_that_stays_as_on_the_base_is_used() -> None:
    assert make(IMAGE.format("a")).config.container.image == "a"


def test_trust_head_takes_what_head_says() -> None:
    sourced = make(IMAGE.format("b"), base=IMAGE.format("a"), trust_head=True)
    assert sourced.config.container.image == "b"


@pytest.mark.parametrize(
    "above",
    [
        {"user": {"container.image": "mine"}},
        {"environ": {"PRESUBMIT_CONTAINER_IMAGE": "mine"}},
        {"command_line": {"container.image": "mine"}},
    ],
    ids=["user", "environment", "command line"],
)
def test_a_guarded_key_that_the_user_sets_needs_no_trust(above: dict[str, Any]) -> None:
    sourced = make(IMAGE.format("b"), base=IMAGE.format("a"), **above)
    assert sourced.config.container.image == "mine"


def test_a_key_that_widens_nothing_may_change() -> None:
    assert make("[tests]\nshards = 7\n", base="").config.tests.shards == 7


COMMANDS = [
    ("build.command", "[build]\ncommand = 'make'\n"),
    ("tests.command", "[tests]\ncommand = ['make', 'test']\n"),
    ("lint.commands", "[lint]\ncommands = ['make lint']\n"),
]


@pytest.mark.parametrize(("option", "head"), COMMANDS)
def test_on_the_host_the_commands_are_guarded_as_well(option: str, head: str) -> None:
    with pytest.raises(ConfigError, match=option):
        make(head, base="", on_host=True)


@pytest.mark.parametrize(("option", "head"), COMMANDS)
def test_in_a_container_the_commands_may_change(option: str, head: str) -> None:
    assert {option: "presubmit.toml"} == make(head, base="").origins


def test_a_base_whose_config_cannot_be_read_does_not_stop_the_change_that_mends_it() -> None:
    assert make("[tests]\nshards = 7\n", base="[tests]\nshard = 7\n").config.tests.shards == 7


def test_a_base_whose_config_cannot_be_read_allows_nothing() -> None:
    with pytest.raises(ConfigError, match=r"container\.image"):
        make(IMAGE.format("a"), base="[[\n")


# --- the reference --------------------------------------------------------------------------------------------------


def test_every_option_is_described() -> None:
    assert [option for option, text in described_options() if not text.endswith((".", ")"))] == []
    assert tuple(option for option, _ in described_options()) == option_names()


def test_a_value_is_given_by_the_name_of_its_option() -> None:
    config = Config(base="dev")
    assert [value_of(config, option) for option in ("base", "tests.command", "tests.shards")] == [
        "dev",
        ["pytest"],
        1,
    ]


def test_a_table_of_tables_is_given_in_the_types_of_json() -> None:
    config = Config(actions={"me/act": ActionConfig(run="true")})
    assert value_of(config, "actions") == {"me/act": {"run": "true"}}


# --- what upstream's jobs fill in -----------------------------------------------------------------------------------


def test_what_no_source_names_is_filled_in_and_what_one_names_stays() -> None:
    found = fill_in(
        make('tests.command = ["own"]\n'),
        {"tests.command": (("pytest",), "upstream ci.yml:3"), "build.extras": (["x"], "upstream ci.yml:2")},
    )  # fmt: skip
    assert (found.config.tests.command, found.config.build.extras) == (("own",), ("x",))
    assert found.origins == {
        "tests.command": "presubmit.toml",
        "build.extras": "upstream ci.yml:2",
    }


def test_the_items_of_a_list_may_have_a_line_each() -> None:
    found = fill_in(make(), {"lint.commands": (("a", "b"), ("upstream c:1", "upstream c:2"))})
    assert found.origins == {
        "lint.commands": "upstream c:1",
        "lint.commands.0": "upstream c:1",
        "lint.commands.1": "upstream c:2",
    }


def test_the_configuration_without_what_was_filled_in_is_the_one_before() -> None:
    plain = make('tests.env = ["A=1"]\n')
    filled = fill_in(
        plain,
        {
            "lint.commands": (("a",), ("upstream c:1",)),
            "container.python": ("/p", "upstream c:2"),
        },
    )
    assert filled.config != plain.config
    assert without_upstream(filled) == plain.config


def test_a_table_in_the_environment_is_json() -> None:
    found = make(environ={"PRESUBMIT_REPLAY_VARS": '{"A": "b"}'})
    assert found.config.replay.vars == {"A": "b"}
    with pytest.raises(ConfigError, match=r"PRESUBMIT_REPLAY_VARS: `replay\.vars`"):
        make(environ={"PRESUBMIT_REPLAY_VARS": "A=b"})
