"""Hook of MkDocs.

It writes `math` blocks as MathML, which browsers show without scripts and without a network. A page that is alone in its
section gets the room of the navigation beside it, which would list only that page.
"""

import re

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, page, **_: object) -> str:
    if page.parent is None:
        page.meta.setdefault("hide", []).append("navigation")

    def shown(found: re.Match[str]) -> str:
        return f'<div class="math">{convert(found.group(1).strip(), display="block")}</div>'

    return BLOCK.sub(shown, markdown)
