"""Showkatbakhsh, Karakus and Diggavi (2018), regression by noise and random projections."""
