"""Which mechanism, from public facts alone: one rule for each question, and what it learnt."""
