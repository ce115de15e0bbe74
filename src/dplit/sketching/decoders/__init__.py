"""Decoders: models from sketches."""
