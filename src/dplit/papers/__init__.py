"""What the papers state, as functions: one folder a paper, one module a subject."""
