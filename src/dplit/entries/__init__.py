"""Privacy of single entries of a matrix: projections, additive noise, noisy moments."""
