"""Compressive learning from private sketches: maps, sums, releases, decoders, estimators."""
