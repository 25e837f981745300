"""Reads `.github` and says which jobs upstream CI would run for a change; pure, without an engine."""
