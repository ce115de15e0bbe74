"""Every public mechanism through the same auditors."""
