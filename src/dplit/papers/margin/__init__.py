"""Bassily, Mohri and Suresh (2022): private learning with margin guarantees."""
