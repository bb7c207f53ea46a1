"""docs/performance.svg: the table "beside" of a run as bars, on a logarithmic scale."""
import html
import math

from performance.numbers import number
from performance.run import DONE

# Of Okabe and Ito, whom colour-blind people tell apart.
COLOURS = ("#999999", "#0072B2", "#56B4E9", "#E69F00", "#CC79A7", "#D55E00", "#009E73")
LEFT, WIDTH, BAR, GAP, TOP = 190, 520, 12, 14, 78
ALL_WIDTH = 780


def rows_of(run):
    """{row: values of all ways}"""
    ways, rows = run.all_ways(), {}
    for pods in run.nodes:
        for command in ("ADD", DONE):
            rows[f"{command}, {pods} pods"] = [run.call(way, command, pods) for way in ways]
    for command in ("ADD", "DEL"):
        rows[f"32 {command}s at once, {run.few} pods"] = [run.burst(way, command, 32) for way in ways]
    return rows


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y}"{more}>{html.escape(words)}</text>'


def bars(names, rows, decades):
    y = TOP
    for row, values in rows.items():
        yield text(LEFT - 10, y + len(names) * BAR / 2 + 4, row, ' text-anchor="end"')
        for name, value, colour in zip(names, values, COLOURS):
            across = round(WIDTH * math.log10(max(value, 1)) / decades)
            yield f'<rect x="{LEFT}" y="{y}" width="{across}" height="{BAR - 2}" fill="{colour}"><title>{html.escape(name)}</title></rect>'
            yield text(LEFT + across + 4, y + 9, number(value), ' font-size="9"')
            y += BAR
        y += GAP


def head(names, height):
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ALL_WIDTH} {height}" font-family="sans-serif" font-size="12">'
    yield f'<rect width="{ALL_WIDTH}" height="{height}" fill="white"/>'
    yield text(10, 20, "Milliseconds, logarithmic")
    x, y = 10, 32
    for name, colour in zip(names, COLOURS):
        width = 28 + round(5.6 * len(name))
        if x + width > ALL_WIDTH:
            x, y = 10, y + 14
        yield f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>' + text(x + 14, y + 9, name, ' font-size="10"')
        x += width


def picture(run):
    names, rows = list(run.all_ways().values()), rows_of(run)
    height = TOP + len(rows) * (len(names) * BAR + GAP) + 10
    decades = math.ceil(math.log10(max(value for values in rows.values() for value in values)))
    lines = list(head(names, height))
    for decade in range(decades + 1):
        place = LEFT + WIDTH * decade / decades
        lines += [f'<line x1="{place:g}" x2="{place:g}" y1="{TOP - 4}" y2="{height - 10}" stroke="#dddddd"/>',
                  text(f"{place:g}", TOP - 8, f"{10 ** decade:,}", ' font-size="9" text-anchor="middle" fill="#777777"')]
    return "\n".join([*lines, *bars(names, rows, decades), "</svg>"]) + "\n"
