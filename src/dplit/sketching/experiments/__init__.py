"""Experiments: what takes a seed or runs trials."""
