"""Runs one side's benchmarks as a driver outside the box tells it: inside other people's projects, Python 3.8 and later.

Put on the import path as a folder of its own and started as `python -P -m presubmit_bench`; one process a side and pair.
"""
