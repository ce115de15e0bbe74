"""The audits' own claims."""
