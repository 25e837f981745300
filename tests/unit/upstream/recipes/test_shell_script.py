from __future__ import annotations

import pytest

from presubmit.upstream.recipes.shell_script import Command, read_script


def commands(script: str, **variables: str) -> tuple[Command, ...]:
    found = read_script(script, variables)
    assert found.unread is None
    return found.commands


def lines(script: str, **variables: str) -> list[str]:
    return [" ".join(c.texts) for c in commands(script, **variables)]


def conditions(script: str, **variables: str) -> list[tuple[str, str]]:
    return [(c.texts[0], c.condition) for c in commands(script, **variables)]


def test_commands_come_in_order_with_their_lines() -> None:
    found = commands("pip install x\n\n# a comment; not a command\npytest \\\n  -v; ls # why\n")
    assert [(c.texts, c.line) for c in found] == [
        (("pip", "install", "x"), 0),
        (("pytest", "-v"), 3),
        (("ls",), 4),
    ]


def test_a_sign_within_a_word_begins_no_comment() -> None:
    assert lines("pip install git+https://x/y#egg=z") == ["pip install git+https://x/y#egg=z"]


def test_assignments_before_a_command_are_its_environment() -> None:
    (found,) = commands("A=1 B='x y' pytest -k 'a and b'")
    assert {name: word.text for name, word in found.env} == {"A": "1", "B": "x y"}
    assert found.texts == ("pytest", "-k", "a and b")


def test_an_exported_variable_reaches_later_commands_and_a_plain_one_does_not() -> None:
    found = commands("export A=1\nB=2\npytest $A $B")
    assert found[0].texts == ("pytest", "1", "2")
    assert [name for name, _ in found[0].env] == ["A"]


def test_a_variable_of_the_environment_stays_exported_when_it_is_set_anew() -> None:
    (found,) = commands("CFLAGS=-O2\nmake", CFLAGS="")
    assert {name: word.text for name, word in found.env} == {"CFLAGS": "-O2"}


def test_cd_moves_what_follows_and_only_there() -> None:
    found = commands("cd a && pytest\n(cd b; ls)\ncd ../c\nmake\ncd $X\nls\ncd /abs\nls")
    assert [(c.texts[0], c.cwd) for c in found] == [
        ("pytest", "a"),
        ("ls", "a/b"),
        ("make", "c"),
        ("ls", None),
        ("ls", "/abs"),
    ]


def test_popd_goes_back() -> None:
    assert [c.cwd for c in commands("pushd a\nls\npopd\nls")] == ["a", ""]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("make && pytest", [("make", ""), ("pytest", "")]),
        ("make || true", [("make", ""), ("true", "||")]),
        ("[ -f x ] && pytest", [("pytest", "&&")]),
        ('if [ -n "$U" ]; then pytest; else tox; fi', [("pytest", "if"), ("tox", "if")]),
        ("if which x; then pytest; fi\nls", [("which", ""), ("pytest", "if"), ("ls", "")]),
        ("for i in 1 2; do pytest; done", [("pytest", "for loop")]),
        ("while read x; do pytest; done < f", [("read", "while loop"), ("pytest", "while loop")]),
        ("case $U in a) pytest;; *) tox;; esac", [("pytest", "case"), ("tox", "case")]),
        ("f() { pytest; }\nf", [("pytest", "function f"), ("f", "")]),
        ("function f { pytest; }", [("pytest", "function f")]),
        ("pytest | tee log", [("pytest", ""), ("tee", "")]),
        ("! pytest", [("pytest", "")]),
        ("time -p pytest", [("pytest", "")]),
        ("select x in a; do pytest; done", [("pytest", "select loop")]),
        ("for ((i=0; i<3; i++)); do pytest; done", [("pytest", "for loop")]),
        ("for f\ndo\n  pytest\ndone", [("pytest", "for loop")]),
        ("until make; do ls; done", [("make", "until loop"), ("ls", "until loop")]),
        ("f()\n{\n  pytest\n}", [("pytest", "function f")]),
        ("function f() { pytest; }", [("pytest", "function f")]),
        ("make &&\n  pytest |\n  cat", [("make", ""), ("pytest", ""), ("cat", "")]),
        ("case x in x) pytest;& y) ls;; esac", [("pytest", ""), ("ls", "case")]),
        ("case $U in (a) pytest;; esac", [("pytest", "case")]),
        ("if $U; then exit 1; fi\npytest", [("$U", ""), ("pytest", "")]),
    ],
)  # fmt: skip
def test_a_command_that_may_not_run_says_why(script: str, expected: list[tuple[str, str]]) -> None:
    assert conditions(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('if [ "Linux" = "Linux" ]; then a; else b; fi', ["a"]),
        ("if [[ \"Linux\" == 'macOS' ]]; then a; elif true; then b; else c; fi", ["b"]),
        ('if [[ "3.13t" == *t ]]; then a; fi', ["a"]),
        ("if [ $EMPTY ]; then a; fi", []),
        ('if [ -z "$EMPTY" ]; then a; fi', ["a"]),
        ('if [[ "a" == "b" || "c" == "c" ]]; then a; fi', ["a"]),
        ('if [[ "a" == "a" && "c" == "d" ]]; then a; fi', []),
        ("if ! false; then a; fi", ["a"]),
        ('[ "a" = "b" ] || a', ["a"]),
        ('[ "a" = "b" ] && a', []),
        ("[ 3 -ge 2 ] && a", ["a"]),
        ("[[ ! 3 -lt 2 ]] && a", ["a"]),
        ("[ 1 != 2 ] && a", ["a"]),
        ("exec a\nb", ["exec"]),
        ('case "Linux" in macOS|Win*) a;; Lin*) b;; *) c;; esac', ["b"]),
        ('if [ "a" = "a" ]; then exit 0; fi\nb', []),
        ("false && a", []),
    ],
)
def test_a_known_condition_is_decided(script: str, expected: list[str]) -> None:
    found = commands(script, EMPTY="")
    assert [c.texts[0] for c in found if c.texts[0] not in {"true", "false"}] == expected
    assert {c.condition for c in found} <= {""}


def test_a_variable_that_a_branch_may_set_is_not_known_afterwards() -> None:
    (found,) = commands("X=1\nif [ -f a ]; then X=2; fi\npytest $X")
    assert [word.literal for word in found.words] == [True, False]


def test_a_variable_that_a_known_branch_sets_is_known() -> None:
    assert lines('X=1\nif [ "a" = "a" ]; then X=2; fi\npytest -n $X') == ["pytest -n 2"]


def test_the_folder_after_a_doubtful_cd_is_not_known() -> None:
    assert [c.cwd for c in commands("if [ -d a ]; then cd a; fi\npytest")] == [None]


def test_the_body_of_a_here_document_is_no_command() -> None:
    found = commands("cat > f <<'EOF'\npytest\n  EOF\nEOF\ncat <<-X\n\tls\n\tX\nmake")
    assert [c.texts[0] for c in found] == ["cat", "cat", "make"]
    assert [r.operator for r in found[0].redirections] == [">", "<<"]


def test_where_output_goes_is_known_of_each_command_of_a_group() -> None:
    found = commands('{ echo a=1; echo b=2; } >> "$GITHUB_ENV"', GITHUB_ENV="/e")
    assert [[r.target.text for r in c.redirections] for c in found] == [["/e"], ["/e"]]


def test_a_number_before_a_redirection_is_no_argument() -> None:
    assert lines("pytest 2>&1 >log 3<in x2") == ["pytest x2"]


def test_an_array_is_read_and_its_value_is_not_known() -> None:
    (found,) = commands("F=(-k 'not slow')\npytest \"${F[@]}\" -v")
    assert [(w.text, w.literal) for w in found.words][1:] == [("${F[@]}", False), ("-v", True)]


def test_a_process_substitution_is_one_word() -> None:
    assert lines("bash x.sh 2> >(tee log) | cat") == ["bash x.sh", "cat"]


def test_arithmetic_and_tests_hold_no_commands() -> None:
    assert lines("(( i = 1 + 2 ))\nif [[ $a =~ ^(x|y)$ && -f b ]]; then ls; fi") == ["ls"]


@pytest.mark.parametrize(
    ("script", "line", "why"),
    [
        ("ls\necho 'a", 1, "not closed"),
        ("if true; then ls", 0, "`if` has no `fi`"),
        ("ls\ncat <<EOF\nx\n", 3, "no end `EOF`"),
        ("ls\n)", 1, "unexpected `)`"),
        ("( " * 80, 0, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(script: str, line: int, why: str) -> None:
    found = read_script(script, {})
    assert found.unread is not None
    assert why in found.unread.why
    assert found.unread.line == line


def test_commands_before_what_cannot_be_read_are_kept() -> None:
    assert [c.texts for c in read_script("pip install x\necho 'a", {}).commands] == [
        ("pip", "install", "x")
    ]


def test_carriage_returns_are_no_part_of_words() -> None:
    assert lines("pytest -v\r\nls\r\n") == ["pytest -v", "ls"]


def test_declarations_and_unset_are_followed() -> None:
    found = commands("declare -x A=1\nlocal B=2\nexport A\nX=1\nX+=2\nunset B\npytest $X")
    assert [c.texts for c in found] == [("pytest", "12")]
    assert [name for name, _ in found[0].env] == ["A"]


def test_a_file_that_a_redirection_lacks_is_an_error() -> None:
    assert read_script("ls >\npytest", {}).unread is not None


def test_a_script_that_is_too_long_is_not_read() -> None:
    found = read_script("ls\n" * 100_000, {})
    assert found.commands == ()
    assert found.unread is not None


def test_nests_of_expansions_end_in_a_message() -> None:
    found = read_script("echo " + "$(" * 50_000, {})
    assert found.unread is not None
    assert "deeply" in found.unread.why
