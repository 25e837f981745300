"""What a test may read as `benchmark.stats` after it was measured: figures of the turns, seconds a call."""

import statistics


class Stats:
    """`benchmark.stats.stats.mean`, `benchmark.stats["mean"]` and `benchmark.stats.mean` alike."""

    def __init__(self, samples, fixture):
        # Without turns (a traced run) a test that asserts something of them sees one short time.
        self.data = list(samples) or [1e-9]
        self.name = fixture.name
        self.fullname = fixture.fullname
        self.group = fixture.group
        self.extra_info = fixture.extra_info
        self.iterations = 1
        self.min = min(self.data)
        self.max = max(self.data)
        self.mean = statistics.mean(self.data)
        self.median = statistics.median(self.data)
        self.stddev = statistics.stdev(self.data) if len(self.data) > 1 else 0.0
        self.total = sum(self.data)
        self.rounds = len(self.data)
        quarter = len(self.data) // 4
        ordered = self.sorted_data = sorted(self.data)
        self.q1, self.q3 = ordered[quarter], ordered[-1 - quarter]
        self.iqr = self.q3 - self.q1
        self.ld15iqr, self.hd15iqr = self.min, self.max
        self.stddev_outliers = self.iqr_outliers = 0
        self.outliers = "0;0"
        self.ops = 1 / self.mean if self.mean else 0.0

    @property
    def stats(self):
        """As pytest-benchmark nests them."""
        return self

    def __getitem__(self, name):
        return getattr(self, name)

    def as_dict(self):
        """Give the figures by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, float)}
