"""What nobody looks at is said, and never the same as clean."""

from __future__ import annotations

from tests.unit.review.trees import codes, review_of

PINNED = {"requirements.txt": "attrs==25.1.0\nnumpy==2.1.0\n"}


def test_native_sources_say_that_symbols_were_not_compared() -> None:
    base = {"src/pkg/a.c": "int a;\n", "src/pkg/b.hpp": "int b;\n", "x.py": ""}
    head = {**base, "src/pkg/a.c": "int c;\n", "src/pkg/b.hpp": "int d;\n"}
    found = review_of(base, head, "symbols")
    assert codes(found) == []
    (one,) = found.unchecked
    assert one.rule == "symbols"
    assert one.what == "the symbols that the libraries of src/pkg/a.c and 1 more export"
    assert review_of(base, {**base, "x.py": "X = 1\n"}, "symbols").unchecked == ()


def test_new_versions_say_that_no_database_was_asked() -> None:
    head = {"requirements.txt": "attrs==25.2.0\nnumpy==2.1.0\nidna==3.10\n"}
    (one,) = review_of(PINNED, head, "pins").unchecked
    assert one.what == "known vulnerabilities of attrs 25.2.0, idna 3.10"
    assert "pip-audit -r requirements.txt" in one.why
    fewer = {"requirements.txt": "numpy==2.1.0\n"}
    assert review_of(PINNED, fewer, "pins").unchecked == ()
