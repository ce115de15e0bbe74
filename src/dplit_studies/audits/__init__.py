"""Tables of audits, with planted faults."""
