"""What takes a seed or runs trials."""
