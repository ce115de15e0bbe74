"""Liao, Needell, Schaeffer and Xue (2025): private random feature models."""
