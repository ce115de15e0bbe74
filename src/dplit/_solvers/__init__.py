"""Solvers: Newton, interior points, accelerated descent, boxes, and minimisers that are
certified.
"""
