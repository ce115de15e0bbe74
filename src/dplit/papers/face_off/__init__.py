"""The lesson that compares mechanisms."""
