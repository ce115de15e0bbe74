"""Runs in every kernel before the first cell: a book that fetches something is not rebuilt alike.

A kernel talks to papermill on this machine alone.
"""

import ipaddress
import socket

_connect = socket.socket.connect


def _refusing(self, address):
    host = address[0] if isinstance(address, tuple) else "localhost"
    try:
        inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OSError("a chapter runs without a network: fetch data before, with `make data`")
    return _connect(self, address)


def _cut():
    socket.socket.connect = _refusing


if __name__ == "__main__":
    _cut()
