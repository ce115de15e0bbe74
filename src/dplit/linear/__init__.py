"""Private linear models on given columns: moments, descents, perturbed objectives."""
