"""The lesson before the papers: its exercises."""
