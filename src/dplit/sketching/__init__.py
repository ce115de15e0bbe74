"""Compressive learning from private sketches: what the chapter computes. Import modules by name."""
