"""Writes pull requests, RFCs and checklists out of what a run measured; pure: texts from values."""
