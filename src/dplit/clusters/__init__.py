"""Private centres: Lloyd's algorithm with noisy sums and counts."""
