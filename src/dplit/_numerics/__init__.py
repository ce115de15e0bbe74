"""Arithmetic that several rooms share: exact sums, clipping, outward rounding, blocks, cosines."""
