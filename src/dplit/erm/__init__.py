"""Nie and Wang (2017), perturbation of convex risk minimisation and private learning."""
