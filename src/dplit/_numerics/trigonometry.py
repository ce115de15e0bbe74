"""Cosines and sines in place, through the half-angle tangent where that is the fast road.

With AVX-512 numpy evaluates the float64 tangent by a vector routine, the float64 cosine one number
at a time, about twenty times slower. With ``t = tan(x / 2)``, ``cos x = 2 / (1 + t^2) - 1`` and
``sin x = 2 t / (1 + t^2)``, and as ``d cos x = -sin(x)^2 dt / t`` a relative error of ``t`` is
never amplified: the result is within a few 1e-16 of the truth for every finite argument. The road
follows from processor features, never from a measured time: one machine gives the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib import introspect
from numpy.typing import ArrayLike, NDArray


def tangent_is_vectorised() -> bool:
    """Return whether numpy runs the float64 tangent through a vector routine on this machine.

    Numpy ships that routine for AVX-512 only; the answer honours ``NPY_DISABLE_CPU_FEATURES``.
    """
    info = introspect.opt_func_info(func_name="^tan$", signature="float64")
    targets = [entry["current"] for entry in info.get("tan", {}).values()]
    return any(target.startswith(("AVX512", "X86_V4")) for target in targets)


#: Elements per piece in :func:`fast_cos`: half a megabyte, which stays in the second-level cache.
_PIECE = 1 << 16

#: Fixed at import, so that one process never mixes the two roads.
HALF_TANGENT: bool = tangent_is_vectorised()


def _through_tangent(dtype: np.dtype[Any]) -> bool:
    """Return whether angles of ``dtype`` take the half-angle road (float32 cosines are fast)."""
    return HALF_TANGENT and dtype == np.float64


def angle_factor(dtype: np.dtype[Any]) -> float:
    """Return the factor by which angles are multiplied before the functions below: 1/2 or 1.

    The caller folds it into its frequencies; as a power of two it changes no digit.
    """
    return 0.5 if _through_tangent(dtype) else 1.0


def scaled_cosine(angle: NDArray[Any], out: NDArray[Any], scale: float) -> None:
    """Write ``scale * cos(x)`` into ``out``; ``angle`` holds ``x * angle_factor`` and is destroyed.

    ``out`` may be ``angle`` itself.
    """
    kind = angle.dtype.type
    if _through_tangent(angle.dtype):
        np.tan(angle, out=angle)
        np.multiply(angle, angle, out=angle)
        np.add(angle, 1.0, out=angle)
        np.divide(2.0 * scale, angle, out=angle)
        np.subtract(angle, scale, out=out)
    else:
        np.cos(angle, out=angle)
        np.multiply(angle, kind(scale), out=out)


def scaled_cosine_and_sine(
    angle: NDArray[Any], cosine: NDArray[Any], sine: NDArray[Any], scale: float
) -> None:
    """Write ``scale * cos(x)`` and ``scale * sin(x)``; ``angle`` holds ``x * angle_factor``.

    ``angle`` is destroyed. Neither output may share memory with it or with the other output.
    """
    kind = angle.dtype.type
    if _through_tangent(angle.dtype):
        np.tan(angle, out=angle)
        np.multiply(angle, angle, out=cosine)
        np.add(cosine, 1.0, out=cosine)
        np.divide(2.0 * scale, cosine, out=cosine)
        np.multiply(angle, cosine, out=sine)
        np.subtract(cosine, scale, out=cosine)
    else:
        np.cos(angle, out=cosine)
        np.multiply(cosine, kind(scale), out=cosine)
        np.sin(angle, out=sine)
        np.multiply(sine, kind(scale), out=sine)


def fast_cos(array: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Cosine of every entry, through the half-angle tangent where numpy's float64 tangent is fast.

    Parameters
    ----------
    array : array_like of float64 or float32
        Angles in radians, any shape; integers are converted to float64.
    out : ndarray, optional
        Where to write, of the same shape and dtype; may be ``array`` itself.

    Returns
    -------
    ndarray
        ``cos(array)`` to within 1e-15 (float64) or 1e-6 (float32) in absolute value.

    Notes
    -----
    In pieces that stay in cache. Without AVX-512, and in float32, this is ``numpy.cos``: chosen
    from the processor features at import, so that one machine always gives the same bytes.

    Examples
    --------
    >>> x = np.linspace(-10.0, 10.0, 7)
    >>> bool(abs(fast_cos(x) - np.cos(x)).max() < 1e-15)
    True
    """
    angles = np.asarray(array)
    if angles.dtype.kind in "iub":
        angles = angles.astype(np.float64)
    if angles.dtype not in (np.float64, np.float32):
        raise TypeError(f"array must be float64 or float32, got array of dtype {angles.dtype}")
    if out is None:
        out = np.empty_like(angles, order="C", subok=False)
    elif out.shape != angles.shape or out.dtype != angles.dtype:
        raise ValueError(
            f"out must have shape {angles.shape} and dtype {angles.dtype}, "
            f"got out of shape {out.shape} and dtype {out.dtype}"
        )
    np.multiply(angles, angles.dtype.type(angle_factor(angles.dtype)), out=out)
    flat = out.reshape(-1) if out.flags.c_contiguous else None
    if flat is None:
        scaled_cosine(out, out, 1.0)
        return out
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        scaled_cosine(piece, piece, 1.0)
    return out
