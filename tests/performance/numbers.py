"""Figures as pages show them."""


def number(value):
    """Two or three digits; whole numbers as they are."""
    if isinstance(value, int) or value >= 20:
        return f"{value:,.0f}"
    if value >= 1 or value == 0:
        return f"{value:.1f}"
    return f"{value:.2g}"


def ratio(value):
    """1.9, 0.84, or 1/66 for what is less than a tenth."""
    if value < 0.1:
        return f"1/{number(1 / value)}"
    return f"{value:.2f}" if value < 1 else number(value)


def table(head, rows):
    """Lines of Markdown, all cells being text."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line).replace(" --- ", "---") + "|" for line in lines)
