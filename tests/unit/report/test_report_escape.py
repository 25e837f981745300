from __future__ import annotations

import pytest

from presubmit.report.escape import (
    for_code,
    for_code_in_table,
    for_command_data,
    for_command_property,
    for_markdown,
    for_terminal,
    one_line,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\rb\x00\x7f", "a\\rb\\x00\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u2028b\u2029", "a\\u2028b\\u2029"),
        ("\u202eevil\u2066x\u2069", "\\u202eevil\\u2066x\\u2069"),
        ("\u200e\u200f\u061c", "\\u200e\\u200f\\u061c"),
        ("\ufeffx", "\\ufeffx"),
        ("\udcff", "\\udcff"),
        ("ö → 日本", "ö → 日本"),
    ],
)
def test_what_would_steer_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert for_terminal(text) == shown


def test_one_line_is_one_line() -> None:
    assert one_line("  a\n\n b\tc\x0b") == "a b c\\x0b"


def test_one_line_is_cut_where_it_is_too_long() -> None:
    assert one_line("x" * 400) == "x" * 299 + "…"


def test_one_line_of_just_the_length_is_not_cut() -> None:
    assert one_line("x" * 300) == "x" * 300


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# head", "\\# head"),
        ("*a* _b_ ~c~", "\\*a\\* \\_b\\_ \\~c\\~"),
        ("[a](http://x)", "\\[a\\]\\(http://x\\)"),
        ("![a](x)", "\\!\\[a\\]\\(x\\)"),
        ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
        ("a|b", "a\\|b"),
        ("`x`", "\\`x\\`"),
        ("\\", "\\\\"),
        ("a\nb", "a b"),
        ("- [x] done", "\\- \\[x\\] done"),
        ("<!-- x -->", "&lt;\\!\\-\\- x \\-\\-&gt;"),
    ],
)
def test_what_markdown_or_html_would_read_is_escaped(text: str, shown: str) -> None:
    assert for_markdown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`a`", "`` `a` ``"),
        ("```", "```` ``` ````"),
        ("a\nb", "`a b`"),
        ("a|b", "`a|b`"),
        ("<b>", "`<b>`"),
        ("\x1b", "`\\x1b`"),
    ],
)
def test_a_code_span_cannot_be_ended_by_its_text(text: str, shown: str) -> None:
    assert for_code(text) == shown


def test_a_code_span_in_a_table_does_not_end_its_cell() -> None:
    assert for_code_in_table("a|b") == "`a\\|b`"


def test_the_message_of_a_command_is_one_line_that_the_runner_decodes() -> None:
    assert for_command_data("50%\n::set-env::x") == "50%25%0A::set-env::x"


def test_a_carriage_return_in_a_message_is_shown() -> None:
    assert for_command_data("a\r\n::x") == "a\\r%0A::x"


def test_a_property_of_a_command_cannot_end_it() -> None:
    assert for_command_property("a,line=1::b") == "a%2Cline=1%3A%3Ab"
