"""Compares microbenchmarks of base and head: discovers, measures in pairs of processes, decides, and says how sure."""
