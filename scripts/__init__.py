"""The steps of the build: run chapters, normalise them, collect claims, write pages, render."""
