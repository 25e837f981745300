"""Runs one cell of an upstream job in its own container, as GitHub's runner would."""
