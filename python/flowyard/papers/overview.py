"""Verdicts of several papers as one picture: a bar for each, divided by verdict. An SVG of a few kilobytes.

README.md shows it, on light pages and on dark ones. A picture in a page does not know that page's colours, so its text
has a grey that is legible on both. Expectations of ours are no part of the bars: they have a column of their own.
"""

from collections.abc import Sequence

from flowyard.papers.verdicts import Summary

# Field of a summary, what it means, colour: also told apart without red and green. What is open stands out.
PARTS = (
    ("passed", "pass", "#009e73"),
    ("arithmetic", "pass, arithmetic", "#80cfb9"),
    ("predicted", "fail, predicted", "#e69f00"),
    ("not_reproducible", "fail, not reproducible", "#cc79a7"),
    ("open", "fail, open", "#d55e00"),
    ("not_reached", "not reached", "#9aa5b4"),
)
WIDTH, LEFT, RIGHT, ROW, BAR, TOP = 780, 60, 150, 30, 18, 56
_STYLE = "text{font:13px system-ui,sans-serif;fill:#737e8c}.id{font-weight:600}"


def picture(papers: Sequence[tuple[str, Summary]]) -> str:
    """An SVG: each paper's bar has the same length, with the number of its claims behind it.

    Args:
        papers: The id and the summary of each.
    """
    ours = any(summary.expectations for _, summary in papers)
    height = TOP + ROW * len(papers) + 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="Verdicts by paper">',
        f"<style>{_STYLE}</style>",
    ]
    at = 0
    for _, said, colour in PARTS:
        lines.append(f'<rect x="{at}" y="6" width="11" height="11" rx="2" fill="{colour}"/>')
        lines.append(f'<text x="{at + 16}" y="16">{said}</text>')
        at += 34 + 7 * len(said)
    lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{TOP - 10}">claims</text>')
    if ours:
        lines.append(f'<text x="{WIDTH - RIGHT + 60}" y="{TOP - 10}">ours that pass</text>')
    for place, (name, summary) in enumerate(papers):
        lines += _bar(TOP + ROW * place, name, summary)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(y: int, name: str, summary: Summary) -> list[str]:
    room = WIDTH - LEFT - RIGHT
    text = y + BAR - 5
    lines = [f'<text class="id" x="0" y="{text}">{name}</text>']
    done = 0
    for field, said, colour in PARTS:
        count = getattr(summary, field)
        if not count:
            continue
        x, width = LEFT + room * done / summary.claims, room * count / summary.claims
        lines.append(
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 1, 1):.1f}" height="{BAR}" fill="{colour}">'
            f"<title>{name}: {count} {said}</title></rect>"
        )
        # A number where it has room; dark on every colour.
        if width > 9 * len(str(count)):
            style = 'style="fill:#10151c;font-size:12px" text-anchor="middle"'
            lines.append(f'<text x="{x + width / 2:.1f}" y="{text}" {style}>{count}</text>')
        done += count
    lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{text}">{summary.claims}</text>')
    if summary.expectations:
        held = f"{summary.expectations_passed} of {summary.expectations}"
        lines.append(f'<text x="{WIDTH - RIGHT + 60}" y="{text}">{held}</text>')
    return lines
