"""The typeface of the pages: the one of the figures, cut to the letters that pages have.

Matplotlib brings DejaVu Sans along, which is free to be passed on; a copy in the repository would
be a third-party file. `book/_assets/book.css` names the files.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
from fontTools import subset

#: Latin, Greek, punctuation, signs and arrows; what is not there comes from the reader's machine.
RANGES = ((0x20, 0x250), (0x2C0, 0x400), (0x2000, 0x20D0), (0x2100, 0x2300), (0x25A0, 0x2600))
FACES = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique")


def write(folder: Path) -> None:
    """Write each face as a web font of some 80 kB, if it is not there."""
    for face in FACES:
        target = folder / f"{face}.woff"
        if target.exists():
            continue
        # hints are for screens of few points; times of making would differ between two builds
        options = subset.Options(flavor="woff", hinting=False, recalc_timestamp=False)
        options.drop_tables += ["FFTM"]
        cut = subset.Subsetter(options)
        cut.populate(unicodes=[letter for ends in RANGES for letter in range(*ends)])
        whole = f"{matplotlib.get_data_path()}/fonts/ttf/{face}.ttf"
        with subset.load_font(whole, options) as font:
            cut.subset(font)
            subset.save_font(font, target, options)
