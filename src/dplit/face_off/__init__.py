"""Which mechanism, when: on common tasks at equal privacy, and on a reader's own table."""
