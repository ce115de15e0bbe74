"""What the book runs beside the package: trials behind figures and tables, one room a chapter.

Imported by the chapters, ``make paper`` and the benchmarks, never by ``dplit``, and no part of its
wheel.
"""
