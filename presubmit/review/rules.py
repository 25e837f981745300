"""All rules, and the review that they make together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.review import api, dockerfile, documentation, files, packaging, pins, symbols
from presubmit.review.values import Remark, Review, Severity, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.review.facts import Facts, Rule

RULES: Final[Mapping[str, Rule]] = {
    "files": files,
    "api": api,
    "documentation": documentation,
    "dockerfile": dockerfile,
    "pins": pins,
    "packaging": packaging,
    "symbols": symbols,
}

_ORDER: Final = list(Severity)


def review(
    facts: Facts, rules: Iterable[str] = RULES, *, besides: Iterable[Remark | Unchecked] = ()
) -> Review:
    """Ask the named rules about a change; `besides` is what tools said of it."""
    names = tuple(rules)
    said = [one for name in names for one in _asked(name, facts)]
    return make_review(facts, names, (*said, *besides))


def _asked(name: str, facts: Facts) -> tuple[Remark | Unchecked, ...]:
    """Ask one rule; a mistake of ours in it costs its own remarks, not the run."""
    try:
        return tuple(RULES[name].remarks(facts))
    except Exception as error:  # noqa: BLE001 - said as what was not checked
        why = f"a mistake in the rule: {type(error).__name__}: {error}"
        return (Unchecked(rule=name, what="the whole change", why=why),)


def make_review(
    facts: Facts, rules: tuple[str, ...], said: Iterable[Remark | Unchecked]
) -> Review:
    """Put what was said into its order."""
    empty = Review(tree=facts.change.target.tree, base=facts.change.base.commit, rules=rules)
    return _in_order(empty, said)


def _in_order(review: Review, said: Iterable[Remark | Unchecked]) -> Review:
    every = tuple(dict.fromkeys(said))
    remarks = [one for one in every if isinstance(one, Remark)]
    remarks.sort(key=lambda one: (_ORDER.index(one.severity), one.file, one.line or 0, one.code))
    return msgspec.structs.replace(
        review,
        remarks=tuple(remarks),
        unchecked=tuple(one for one in every if isinstance(one, Unchecked)),
    )


def renewed(review: Review, newer: Review) -> Review:
    """Put what some rules say now in the place of what they said before."""
    again = set(newer.rules)
    kept = [one for one in review.remarks if one.code.partition(".")[0] not in again]
    unchecked = [one for one in review.unchecked if one.rule not in again]
    rules = tuple(dict.fromkeys((*review.rules, *newer.rules)))
    said: list[Remark | Unchecked] = [*kept, *newer.remarks, *unchecked, *newer.unchecked]
    return _in_order(msgspec.structs.replace(newer, rules=rules), said)
