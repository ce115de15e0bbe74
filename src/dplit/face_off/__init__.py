"""Which mechanism, when: on common tasks at equal privacy, and on a reader's own table.

:func:`~dplit.face_off.choice.recommend` names a mechanism from public facts and is safe;
:func:`~dplit.face_off.exploring.explore` compares all of them on a table, which is itself a
release of that table; :func:`~dplit.face_off.choosing.choose` lets the records choose one
privately, at a stated budget. All three are found here: ``from dplit.face_off import recommend``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplit.face_off.choice import recommend as recommend
    from dplit.face_off.choosing import choose as choose
    from dplit.face_off.exploring import explore as explore

_HOME = {"choose": "choosing", "explore": "exploring", "recommend": "choice"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
