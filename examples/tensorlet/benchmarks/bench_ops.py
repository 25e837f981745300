"""Benchmarks of the ops, in the form that asv discovers."""

from tensorlet import ops


class Ops:
    """Times every op on a short and on a long row."""

    params = (16, 65536)
    param_names = ("size",)

    def setup(self, size):
        """Make the rows."""
        self.a = [float(i) for i in range(size)]
        self.b = [float(-i) for i in range(size)]

    def time_add(self, size):
        """Add two rows."""
        ops.add(self.a, self.b)

    def time_scale(self, size):
        """Multiply a row."""
        ops.scale(self.a, 0.5)

    def time_clip(self, size):
        """Clip a row."""
        ops.clip(self.a, 2.0, 8.0)

    def time_dot(self, size):
        """Sum up products."""
        ops.dot(self.a, self.b)
