"""Whether both sides loaded what they should differ in."""

from __future__ import annotations

from presubmit.bench.progress import Proved
from presubmit.bench.same import same_build
from presubmit.bench.values import Adapter, Proof, Suite

SUITE = Suite(adapter=Adapter.ASV, root="b", files=("b/x.py",), origin="asv.conf.json")


def proved(base: dict[str, str], head: dict[str, str]) -> Proved:
    def side(files: dict[str, str]) -> tuple[Proof, ...]:
        return tuple(
            Proof(
                module=name,
                file=f"/src/{name}.so" if name.startswith("_") else f"/src/{name}.py",
                blob=blob,
            )
            for name, blob in files.items()
        )

    return Proved(suite=SUITE, base=side(base), head=side(head))


def test_a_changed_module_that_is_the_same_on_both_sides_is_one_build_twice() -> None:
    assert same_build(proved({"pkg": "1"}, {"pkg": "1"}), changed=["pkg"], native=False)


def test_a_changed_module_that_differs_is_two_builds() -> None:
    two = proved({"pkg": "1", "other": "5"}, {"pkg": "2", "other": "5"})
    assert not same_build(two, changed=["pkg"], native=False)


def test_native_sources_must_show_in_an_extension() -> None:
    same = proved({"_fast": "1", "pkg": "1"}, {"_fast": "1", "pkg": "1"})
    assert same_build(same, changed=[], native=True)
    other = proved({"_fast": "1", "pkg": "1"}, {"_fast": "2", "pkg": "1"})
    assert not same_build(other, changed=[], native=True)


def test_a_change_of_data_alone_proves_nothing_against_the_builds() -> None:
    assert not same_build(proved({"pkg": "1"}, {"pkg": "1"}), changed=[], native=False)


def test_a_module_that_only_one_side_has_says_nothing() -> None:
    assert not same_build(proved({}, {"pkg.new": "1"}), changed=["pkg.new"], native=False)
