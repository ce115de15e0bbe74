"""Maps of choices: the simulations from which advice learns, with the rivals that only they
need.
"""
