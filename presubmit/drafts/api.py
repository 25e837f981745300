"""Takes over what the review says of the public API: what is added, gone, or called another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.drafts.text import in_text
from presubmit.drafts.values import Api
from presubmit.review.values import Severity

if TYPE_CHECKING:
    from presubmit.review.values import Review

_ALONE: Final = frozenset({"api.added", "api.module-added", "api.removed"})


def api_of_review(review: Review) -> Api:
    """Sort the review's remarks on the API; it is whole where nothing of the API was left unchecked."""
    remarks = [it for it in review.remarks if it.code.startswith("api.")]
    breaking = [it for it in remarks if it.code not in _ALONE and it.severity is not Severity.NOTE]
    return Api(
        added=tuple(it.subject for it in remarks if it.code == "api.added"),
        removed=tuple(it.subject for it in remarks if it.code == "api.removed"),
        altered=tuple(in_text(it.text) for it in breaking),
        names=tuple(it.subject for it in breaking if it.subject),
        modules=tuple(it.subject for it in remarks if it.code == "api.module-added"),
        whole="api" in review.rules and all(it.rule != "api" for it in review.unchecked),
    )
