"""The `secrets` context of a pull request from a fork: every name is there, and empty."""

from __future__ import annotations


class EmptySecrets(dict[str, str]):
    """No secret is known here, so each gives "" (docs: "Using secrets", workflows started from forks)."""
