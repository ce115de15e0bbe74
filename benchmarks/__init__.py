"""Timings of the package beside its peers; ``python -m benchmarks`` prints one table."""
