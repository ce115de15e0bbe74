"""Private kernel machines: released functions, oracles, random features."""
