"""From a plan to results: lanes with their boxes, Nox sessions that do the steps, and what they write down."""
