"""Showkatbakhsh, Karakus and Diggavi (2018): regression on projected, noised data."""
