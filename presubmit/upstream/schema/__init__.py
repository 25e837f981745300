"""What may stand where in a workflow or an action file: tables, and the one walk that holds a document against them."""

from __future__ import annotations

from presubmit.upstream.schema.action import ACTION
from presubmit.upstream.schema.check import check
from presubmit.upstream.schema.workflow import WORKFLOW

__all__ = ["ACTION", "WORKFLOW", "check"]
