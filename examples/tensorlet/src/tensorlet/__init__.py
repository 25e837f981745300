"""Arithmetic on rows of numbers: `ops` has the functions, `formatting` prints."""

__version__ = "0.3.0"
