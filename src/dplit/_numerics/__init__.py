"""Arithmetic that several rooms share: exact sums, outward rounding, blocks, cosines, descent."""
