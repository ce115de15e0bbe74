"""Chapters run with the network cut: a book that fetches something is not rebuilt twice alike."""

from __future__ import annotations

from scripts.layout import Layout

#: Runs in every kernel before the first cell; a kernel talks to papermill on this machine alone.
_STARTUP = '''\
"""Refuse connections that leave this machine."""

import ipaddress
import socket


def _cut():
    connect = socket.socket.connect

    def refusing(self, address):
        host = address[0] if isinstance(address, tuple) else "localhost"
        try:
            inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            inside = False
        if not inside:
            raise OSError("a chapter runs without a network: fetch data before, with `make data`")
        return connect(self, address)

    socket.socket.connect = refusing


_cut()
del _cut
'''


def cut_network(layout: Layout) -> None:
    """Write what lets every kernel that :func:`scripts.execute.run` starts refuse connections."""
    folder = layout.build / "ipython" / "profile_default" / "startup"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "00-offline.py").write_text(_STARTUP, encoding="utf-8")
