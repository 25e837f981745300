"""Which tests may have a file at hand."""

from __future__ import annotations

from presubmit.selector.at_hand import TestSets, importing_tests


def importing(dependents: dict[str, list[str]], *tests: str) -> dict[str, set[str]]:
    sets = TestSets(tests)
    return {it: set(sets.names(bits)) for it, bits in importing_tests(dependents, sets).items()}


def test_a_file_is_imported_by_the_tests_that_its_importers_lead_to() -> None:
    found = importing({"a": ["b", "x"], "b": ["y"], "c": ["z"]}, "x", "y", "z")
    assert found["a"] == {"x", "y"}
    assert found["b"] == {"y"}
    assert found["c"] == {"z"}


def test_files_that_import_each_other_are_imported_by_the_same_tests() -> None:
    found = importing({"a": ["b"], "b": ["c", "x"], "c": ["a", "d"], "d": ["y"]}, "x", "y")
    assert found["a"] == found["b"] == found["c"] == {"x", "y"}
    assert found["d"] == {"y"}


def test_a_component_met_again_from_another_start_counts_once_more() -> None:
    found = importing({"b": ["c"], "c": ["b", "x"], "a": ["c"], "e": ["a", "y"]}, "x", "y")
    assert found["a"] == {"x"}
    assert found["e"] == {"x", "y"}


def test_a_test_counts_for_itself() -> None:
    assert importing({"a": ["x"]}, "x")["x"] == {"x"}


def test_a_set_gives_its_tests_in_order() -> None:
    sets = TestSets(("x", "y", "z"))
    assert list(sets.names(sets.bits["z"] | sets.bits["x"])) == ["x", "z"]
    assert list(sets.names(sets.all)) == ["x", "y", "z"]
    assert list(sets.names(0)) == []
