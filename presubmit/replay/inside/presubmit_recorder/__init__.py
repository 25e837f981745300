"""Records what each test of a pytest run executes, opens and starts: inside other people's projects, Python 3.8 and later.

Mounted as a folder of its own beside the pytest plugin, and on the import path only where a run is recorded.
"""
