"""The only source of random generators: streams are named, none depends on the order of cells."""

from __future__ import annotations

from typing import Literal, get_args
from zlib import crc32

import numpy as np

from dplit._checks import check_choice, check_integer

Role = Literal["data", "public", "noise"]


def stream(seed: int, name: str, role: Role, trial: int = 0) -> np.random.Generator:
    """Return the generator that belongs to one name, role and trial under one seed.

    Equal arguments give the same numbers, others statistically independent ones: privacy noise and
    public randomness (features, projections, splits) never share a stream.

    Parameters
    ----------
    seed : int
        Nonnegative seed of the run.
    name : str
        Identifier of the claim, figure or experiment that consumes the numbers.
    role : {"data", "public", "noise"}
        What the numbers are for: data generation, published randomness or privacy noise.
    trial : int, default=0
        Nonnegative index of the repetition.

    Returns
    -------
    numpy.random.Generator
        A PCG64 generator seeded by ``SeedSequence([seed, crc32(name), role, trial])``.

    Examples
    --------
    >>> a = stream(0, "dprf-thm7", "noise").standard_normal(2)
    >>> b = stream(0, "dprf-thm7", "noise").standard_normal(2)
    >>> bool((a == b).all())
    True
    """
    check_integer("seed", seed, minimum=0)
    check_integer("trial", trial, minimum=0)
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got name={name!r}")
    if not name:
        raise ValueError(f"name must not be empty, got name={name!r}")
    roles = get_args(Role)
    check_choice("role", role, roles)
    entropy = [int(seed), crc32(name.encode()), roles.index(role), int(trial)]
    return np.random.default_rng(np.random.SeedSequence(entropy))
