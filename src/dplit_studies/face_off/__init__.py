"""Mechanisms against each other on splits of a table."""
