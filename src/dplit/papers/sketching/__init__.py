"""Chatalic et al. (2022): private learning from sketches."""
