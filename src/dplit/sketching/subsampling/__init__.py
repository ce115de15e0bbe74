"""Sketches of sampled features."""
