"""Learning with margin guarantees: what the chapter computes. Import the modules by name."""
