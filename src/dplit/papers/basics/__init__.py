"""Exercises of the first lesson."""
