"""Makes the two font files beside this script: `python subset.py <folder of DejaVuSans.ttf and DejaVuSans-Bold.ttf>`.

Needs fonttools. Equal input gives equal bytes.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "Ocorl Sans"  # the licence forbids the names "Bitstream" and "Vera" for altered fonts

WORDS = [
    (0x20, 0x7E),  # Latin
    (0xA0, 0xFF),  # Latin-1
    *[(c, c) for c in map(ord, "ĆćČčĎďĘęĚěĞğİıŁłŃńŇňŐőŒœŘřŚśŞşŠšŤťŮůŰűŸŹźŻżŽž")],  # names of people
    (0x391, 0x3A9),  # Greek
    (0x3B1, 0x3C9),
    *[(ord(c), ord(c)) for c in "ϑϕϵ"],
    (0x2010, 0x2016),  # dashes, ‖
    *[(ord(c), ord(c)) for c in "‘’‚“”„†‡•…‰′″‹›⁄€−×·→"],
]
SIGNS = [
    *[(c, c) for c in [0x300, 0x301, 0x302, 0x303, 0x304, 0x307, 0x308, 0x30C]],  # combining: dot, hat, bar, …
    *[(ord(c), ord(c)) for c in "ẋẏ"],
    (0x2070, 0x2071),  # superscripts, subscripts
    (0x2074, 0x208E),
    (0x2090, 0x209C),
    (0x1D62, 0x1D65),
    *[(ord(c), ord(c)) for c in "ᵀℓℕℝℤℂ"],
    (0x2190, 0x2195),  # arrows
    *[(ord(c), ord(c)) for c in "↦⇐⇒⇔"],
    *[(ord(c), ord(c)) for c in "∀∂∃∅∆∇∈∉∋∏∑∓∗∘√∝∞∣∥∧∨∩∪∫∬∮∴∼≅≈≠≡≤≥≪≫⊂⊃⊆⊇⊕⊖⊗⊙⊥⋅⋯⌈⌉⌊⌋⟨⟩■□●○"],
]


def subset(source: Path, target: Path, style: str, ranges: list[tuple[int, int]]) -> None:
    font = TTFont(source, recalcTimestamp=False)
    options = Options()
    options.hinting = False
    options.layout_features = ["kern", "mark", "ccmp"]
    options.drop_tables += ["FFTM", "MATH", "gasp", "DSIG"]
    options.name_IDs = ["*"]
    options.name_languages = ["*"]
    options.notdef_outline = True
    maker = Subsetter(options)
    maker.populate(unicodes=[c for low, high in ranges for c in range(low, high + 1)])
    maker.subset(font)

    names = font["name"]
    notices = {i: names.getDebugName(i) for i in (0, 13, 14)}  # copyright, licence and its address stay in the font
    names.names = []
    full = FAMILY if style == "Regular" else f"{FAMILY} {style}"
    own = {1: FAMILY, 2: style, 3: full, 4: full, 5: "Version 2.37, subset", 6: full.replace(" ", "")}
    for i, text in own.items():
        names.setName(text, i, 3, 1, 0x409)
    for i, text in notices.items():
        names.setName(text, i, 1, 0, 0)  # one byte a character
    font.save(target)


if __name__ == "__main__":
    folder, here = Path(sys.argv[1]), Path(__file__).parent
    subset(folder / "DejaVuSans.ttf", here / "OcorlSans.ttf", "Regular", WORDS + SIGNS)
    subset(folder / "DejaVuSans-Bold.ttf", here / "OcorlSans-Bold.ttf", "Bold", WORDS + SIGNS)
