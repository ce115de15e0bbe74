"""Liao, Needell, Schaeffer and Xue (2025), differentially private random feature model."""
