"""Native code: from a changed C, C++ or Cython file to the extension modules and the names that can behave otherwise.

Import its modules one by one: most changes need none of them, and together they take as long as the interpreter.
"""
