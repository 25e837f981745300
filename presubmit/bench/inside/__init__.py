"""What runs inside a box to measure: standard library only, Python 3.8 and later."""
