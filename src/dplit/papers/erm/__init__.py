"""Nie and Wang (2017): private kernel machines by noise on the released function."""
