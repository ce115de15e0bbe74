"""Wrong versions of a function: what it returns, scaled, negated or in another order."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np

KINDS = ("x1.05", "x0.5", "not")
FACTORS = {"x1.05": 1.05, "x0.5": 0.5, "x2": 2.0}
DEEPEST = 6
#: Methods of a class whose results are changed; an estimator is wrong where these are.
METHODS = ("transform", "predict", "__call__")


@dataclass
class Tally:
    """How often a mutant was called, and how many values it changed."""

    called: int = 0
    changed: int = 0


def mutate(value: Any, kind: str, tally: Tally, depth: int = 0) -> Any:
    """Return a changed copy of a value, at any depth of tuples, lists, mappings and dataclasses.

    Parameters
    ----------
    value : object
        What a function returned. Strings, None, generators of random numbers and other objects
        that hold no numbers come back as they are.
    kind : {"x1.05", "x0.5", "x2", "not", "shuffle"}
        Numbers times 1.05, 0.5 or 2 (integers by at least one), truth values negated, or the
        entries of every array moved on by one along its first axis.
    tally : Tally
        Counts the values that differ afterwards.

    Examples
    --------
    >>> mutate((2.0, [True], {"n": 3}), "x0.5", Tally())
    (1.0, [True], {'n': 1})
    """
    if depth > DEEPEST or value is None or isinstance(value, (str, bytes, type)):
        return value
    if isinstance(value, (bool, np.bool_)):
        tally.changed += kind == "not"
        return type(value)(not value) if kind == "not" else value
    if isinstance(value, (int, float, complex, np.number, np.ndarray)):
        return _mutate_number(value, kind, tally)
    again = functools.partial(mutate, kind=kind, tally=tally, depth=depth + 1)
    if isinstance(value, tuple):
        parts = [again(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [again(part) for part in value]
    if isinstance(value, Mapping):
        return {key: again(part) for key, part in value.items()}
    if inspect.isgenerator(value):
        return (again(part) for part in value)
    return _mutate_attributes(value, again)


def _mutate_number(value: Any, kind: str, tally: Tally) -> Any:
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "biufc":
        return value
    if kind == "shuffle":
        new = np.roll(array, 1, axis=0) if array.ndim else array
    elif array.dtype.kind == "b":
        new = ~array if kind == "not" else array
    elif kind == "not":
        new = array
    elif array.dtype.kind in "iu":
        shift = np.maximum(1, np.rint(np.abs(array) * 0.05)).astype(array.dtype)
        new = {"x1.05": array + shift, "x0.5": array // 2, "x2": array * 2}[kind]
    else:
        new = array * np.asarray(FACTORS[kind], dtype=array.real.dtype)
    tally.changed += int(np.sum(new != array)) - int(np.sum((new != new) & (array != array)))
    if isinstance(value, np.ndarray):
        return new
    return type(value)(new[()])


def _mutate_attributes(value: Any, again: Callable[[Any], Any]) -> Any:
    """Change the fields of a dataclass, or what an estimator learned (``name_``)."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = [n for n in getattr(value, "__dict__", {}) if n.endswith("_") and n[0] != "_"]
    if not names:
        return value
    changed = copy.copy(value)
    for name in names:
        object.__setattr__(changed, name, again(getattr(value, name)))
    return changed


def wrap(function: Callable[..., Any], kind: str, tally: Tally) -> Callable[..., Any]:
    """Return a function that calls the given one and changes what it returns."""

    @functools.wraps(function)
    def wrong(*arguments: Any, **keywords: Any) -> Any:
        tally.called += 1
        return mutate(function(*arguments, **keywords), kind, tally)

    return wrong


def watch(function: Callable[..., Any], tallies: Mapping[str, Tally]) -> Callable[..., Any]:
    """Return a function that counts what each kind of mutant would change, and changes nothing."""

    @functools.wraps(function)
    def watched(*arguments: Any, **keywords: Any) -> Any:
        value = function(*arguments, **keywords)
        for kind, tally in tallies.items():
            tally.called += 1
            if not inspect.isgenerator(value):
                mutate(value, kind, tally)
        return value

    return watched


def find(name: str) -> tuple[Any, str, Any]:
    """Return the owner (module or class), attribute name and object of a dotted name.

    Raises
    ------
    BuildError
        If it does not exist.
    """
    from scripts.claims import resolve

    owner_name, _, attribute = name.rpartition(".")
    return resolve(owner_name), attribute, resolve(name)


def targets(name: str) -> list[str]:
    """Return what is mutated for a registered name: itself, or the methods of a class.

    A class without ``transform``, ``predict`` or ``__call__`` is mutated by what it holds after
    construction.
    """
    _, _, value = find(name)
    if not inspect.isclass(value):
        return [name]
    held = {key for base in value.__mro__[:-1] for key in vars(base)}
    return [f"{name}.{m}" for m in METHODS if m in held] or [f"{name}.__init__"]


def modules() -> Iterator[ModuleType]:
    """Yield the loaded modules of the package and of the studies."""
    for name, module in list(sys.modules.items()):
        ours = name.partition(".")[0] in ("dplit", "dplit_studies")
        if ours and isinstance(module, ModuleType):
            yield module


def plant(
    target: str,
    change: Callable[[Callable[..., Any]], Callable[..., Any]],
    namespaces: Sequence[MutableMapping[str, Any]] = (),
) -> None:
    """Put a changed function in the place of one, in every module of the package that holds it.

    Parameters
    ----------
    target : str
        One of `targets`.
    change : callable
        Makes the new function from the old one: `wrap` or `watch` with their other arguments.
    namespaces : sequence of mapping
        Where else the function may be held: the names of a running notebook.
    """
    owner, attribute, original = find(target)
    if isinstance(owner, ModuleType):
        new = change(original)
        for held in (*map(vars, modules()), *namespaces):
            for key, value in list(held.items()):
                held[key] = _replaced(value, original, new)
        return
    static: Any = inspect.getattr_static(owner, attribute)
    if attribute == "__init__":
        setattr(owner, attribute, _changed_init(original, change))
    elif isinstance(static, property):
        setattr(owner, attribute, property(change(cast(Callable[..., Any], static.fget))))
    elif isinstance(static, (staticmethod, classmethod)):
        setattr(owner, attribute, staticmethod(change(original)))
    else:
        setattr(owner, attribute, change(original))


def _replaced(value: Any, original: Any, new: Any) -> Any:
    """Return what stands for a value once a function is replaced: itself, or what holds it."""
    if value is original:
        return new
    if isinstance(value, functools.partial) and value.func is original:
        return functools.partial(new, *value.args, **value.keywords)
    if type(value) is dict and any(v is original for v in value.values()):
        return {key: new if v is original else v for key, v in value.items()}
    if type(value) in (list, tuple) and any(v is original for v in value):
        return type(value)(new if v is original else v for v in value)
    return value


def _changed_init(
    original: Callable[..., None], change: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., None]:
    """Change what an object holds after construction, as one mapping."""

    @functools.wraps(original)
    def wrong(self: Any, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        held = dict(vars(self))
        for name, value in change(lambda: held)().items():
            object.__setattr__(self, name, value)

    return wrong
