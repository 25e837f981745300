"""From bytes to nodes with their places, and every way in which a file can be broken."""

from __future__ import annotations

import time

import pytest
import yaml

from presubmit.upstream import document
from presubmit.upstream.document import MAX_DEPTH, read_document
from presubmit.upstream.nodes import Mapping, Mark, Scalar, Sequence, plain


@pytest.fixture(autouse=True, params=["the C loader", "the pure loader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "the pure loader":
        monkeypatch.setattr(document, "_LOADER", yaml.SafeLoader)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without libyaml")


def problems_of(data: bytes) -> list[str]:
    return [str(problem) for problem in read_document(data, "ci.yml")[1]]


def test_every_node_knows_its_line_and_column() -> None:
    node, problems = read_document(
        b"on: push\njobs:\n  a: [1, {b: ''}]\n  c:\n    - |\n      x\n", "ci.yml"
    )
    assert problems == ()
    assert isinstance(node, Mapping)
    assert node.mark == Mark(1, 1)
    jobs = node.get("jobs")
    assert isinstance(jobs, Mapping)
    assert [key.mark for key, _ in jobs.entries] == [Mark(3, 3), Mark(4, 3)]
    flow, block = jobs.get("a"), jobs.get("c")
    assert isinstance(flow, Sequence)
    assert isinstance(block, Sequence)
    assert (flow.mark, [item.mark for item in flow.items]) == (
        Mark(3, 6),
        [Mark(3, 7), Mark(3, 10)],
    )
    assert (block.mark, block.items[0].mark) == (Mark(5, 5), Mark(5, 7))


def test_columns_count_characters_and_not_bytes() -> None:
    node, _ = read_document("{ü😀: x}\n".encode(), "ci.yml")
    assert isinstance(node, Mapping)
    assert node.entries[0][1].mark == Mark(1, 6)


def test_a_scalar_keeps_what_the_file_says() -> None:
    node, _ = read_document(b"python: 3.10\n", "ci.yml")
    assert isinstance(node, Mapping)
    assert node.get("python") == Scalar(3.1, Mark(1, 9), "3.10")


def test_the_traps_of_yaml_1_1_are_none() -> None:
    data = b"on: yes\nmode: 0777\nat: 12:30\nbig: 1e3\nday: 2020-01-02\nquoted: '1'\n"
    node, _ = read_document(data, "ci.yml")
    assert plain(node) == {
        "on": "yes",
        "mode": 777,
        "at": "12:30",
        "big": 1000.0,
        "day": "2020-01-02",
        "quoted": "1",
    }


def test_an_alias_stands_for_the_anchored_value() -> None:
    data = b"a: &paths [x, y]\nb: *paths\n? &key c\n: 1\nd:\n  *key : 2\n"
    node, problems = read_document(data, "ci.yml")
    assert problems == ()
    assert plain(node) == {"a": ["x", "y"], "b": ["x", "y"], "c": 1, "d": {"c": 2}}


def test_an_anchor_that_is_set_again_counts_from_then_on() -> None:
    node, _ = read_document(b"- &a 1\n- *a\n- &a 2\n- *a\n", "ci.yml")
    assert plain(node) == [1, 1, 2, 2]


def test_a_byte_order_mark_of_utf_8_is_passed_over() -> None:
    node, problems = read_document(b"\xef\xbb\xbfon: push\n", "ci.yml")
    assert problems == ()
    assert plain(node) == {"on": "push"}


def test_carriage_returns_end_lines_too() -> None:
    assert problems_of(b"on: push\r\nname: a\r\nname: b\r\n") == [
        "ci.yml:3:1: 'name' is already defined"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "1:1: the file is empty"),
        (b"# nothing\n", "1:1: the file is empty"),
        ("on: push".encode("utf-16"), "1:1: the file is UTF-16; save it as UTF-8"),
        (b"on: push\nname: a\0b\n", "2:8: a NUL byte cannot stand in YAML"),
        (b"on: \x1b[31m\n", "1:5: a control character U+001B cannot stand in YAML"),
        (b"on: push\nname: caf\xe9\n", "2:10: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"on:\n\tpush:\n", "2:1: not valid YAML: a tab cannot indent; use spaces"),
        (b"name: @me\n", "1:7: not valid YAML: no plain text begins with '@'; quote it"),
        (b"on: push\n---\non: push\n", "2:1: a second document; a file holds one"),
        (b"on: push\n---\n", "2:1: a second document; a file holds one"),
        (b"? [a]\n: 1\n", "1:3: a mapping or a sequence cannot be a key"),
        (b"a: &a [1]\n? *a\n: 2\n", "2:3: a mapping or a sequence cannot be a key"),
        (b"a: *b\n", "1:4: no anchor 'b' stands before this alias"),
        (b"a: &a [*a]\n", "1:8: the alias 'a' stands inside its own anchor"),
        (
            b"a: x\n" * 1 + b"b: " + b"y" * 1_048_576,
            "1:1: the file has more than 1048576 characters; GitHub reads no more",
        ),
    ],
)
def test_a_broken_file_is_one_problem_with_its_place(data: bytes, message: str) -> None:
    assert read_document(data, "ci.yml")[0] is None
    assert problems_of(data) == [f"ci.yml:{message}"]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a: b: c\n", "1:5"),
        (b"a: [1\nb: 2\n", "2:2"),
        (b"a: 'x\n", "2:1"),
        (b"a:\n  b: 1\n c: 2\n", "3:2"),
    ],
)
def test_what_is_no_yaml_is_one_problem_with_its_place(data: bytes, place: str) -> None:
    (problem,) = problems_of(data)
    assert problem.startswith(f"ci.yml:{place}: not valid YAML: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nA: 2\n", "2:1: 'A' is already defined"),
        (b"a:\n  1: x\n  1.0: y\n", "3:3: '1' is already defined"),
        (
            b"x: &x {a: 1}\ny:\n  <<: *x\n",
            "3:3: GitHub has no merge key '<<'; an alias stands for a whole value only",
        ),
        (b"a: !!float test\n", "1:4: 'test' is no !!float"),
        (b'a: !!int "300"\n', "1:4: a quoted or block scalar cannot have the tag '!!int'"),
        (b"a: 0x1FFFFFFFF\n", "1:4: '0x1FFFFFFFF' does not fit in 32 bits"),
    ],
)
def test_a_problem_in_one_place_leaves_the_rest_readable(data: bytes, message: str) -> None:
    assert isinstance(read_document(data, "ci.yml")[0], Mapping)
    assert problems_of(data) == [f"ci.yml:{message}"]


def test_keys_that_expressions_give_may_be_equal() -> None:
    assert problems_of(b"a:\n  ${{ insert }}: 1\n  ${{ insert }}: 2\n") == []


def test_a_tag_on_a_collection_says_nothing() -> None:
    node, problems = read_document(b"a: !!set {b: 1}\n", "ci.yml")
    assert problems == ()
    assert plain(node) == {"a": {"b": 1}}


def test_a_file_may_nest_as_deep_as_github_reads_and_no_deeper() -> None:
    assert problems_of(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) == []
    (problem,) = problems_of(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    assert (
        problem
        == f"ci.yml:1:{MAX_DEPTH + 1}: nested more than {MAX_DEPTH} deep; GitHub reads no deeper"
    )


def test_an_alias_counts_with_its_whole_depth() -> None:
    inner = b"[" * 40 + b"]" * 40
    (problem,) = problems_of(b"- &a " + inner + b"\n- " + b"[" * 10 + b"*a" + b"]" * 10)
    assert "nested more than 50 deep" in problem


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_a_hundred_thousand_levels_are_a_problem_and_no_crash(opening: bytes) -> None:
    assert len(problems_of(opening * 100_000)) == 1


def test_a_billion_laughs_are_one_problem_and_soon() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{c}: &{c} [{', '.join([f'*{p}'] * 10)}]"
        for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    start = time.process_time()
    (problem,) = problems_of("\n".join(lines).encode())
    assert "more than 50000 nodes" in problem
    assert time.process_time() - start < 5


def test_ten_megabytes_are_refused_before_they_are_parsed() -> None:
    start = time.process_time()
    assert len(problems_of(b"- x\n" * 2_500_000)) == 1
    assert time.process_time() - start < 5
