"""A reader's own table: its stated facts, comparison, private choice, release and card."""
