"""Private classifiers with a margin, on given columns and on public features of a kernel."""
