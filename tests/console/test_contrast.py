"""Every text can be read on what it stands on, and every shape told from it: WCAG's ratios of the tokens."""

import re
from pathlib import Path

import click
import pytest

import desk_ui

CSS = Path(desk_ui.__file__).parent / "static" / "css"
TEXT, SHAPE = 4.5, 3.0
GROUNDS = ("paper", "surface", "sunken", "accent-soft", "warn-soft", "bad-soft")
# Which text stands on which ground. Whatever a sheet uses must be here.
PAIRS = {
    "ink": GROUNDS,
    "ink-2": GROUNDS,
    "ink-3": ("paper", "surface", "sunken"),
    "accent": GROUNDS,
    "good": ("paper", "surface", "sunken", "accent-soft"),
    "warn": ("paper", "surface", "sunken", "accent-soft", "warn-soft"),
    "bad": ("paper", "surface", "sunken", "accent-soft", "warn-soft", "bad-soft"),
    "idle": ("paper", "surface", "sunken", "accent-soft", "bad-soft"),
    "accent-ink": ("accent",),
    "paper": ("ink",),
}
# What is told by a line or a filled shape, on the grounds where it stands.
SHAPES = {
    "line-strong": ("paper", "surface"),
    "accent": ("paper", "surface", "sunken", "accent-soft"),
    "bad": ("surface",),
    "warn": ("surface", "warn-soft"),
    "ink": ("paper", "surface"),
}
# Hairlines and shades part what is told apart by words and room as well, so that they need no ratio.
DECORATION = {"line", "shade"}
# Each is a state of a screen, by the sheets that give it its colours.
SCREENS = {
    "light": (0, ("tokens",)),
    "dark": (1, ("tokens",)),
    "light, more contrast": (0, ("tokens", "contrast")),
    "dark, more contrast": (1, ("tokens", "contrast")),
}
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
OF_TEXT = re.compile(r"(?:^|[;\s])color:\s*var\(--([\w-]+)\)")
OF_GROUND = re.compile(r"(?:^|[;\s])background(?:-color)?:\s*var\(--([\w-]+)\)")
OF_LINE = re.compile(
    r"(?:^|[;\s])(?:border(?!-radius)|outline|fill|stroke|box-shadow)[\w-]*:\s*[^;]*?var\(--([\w-]+)\)"
)


def colours(screen):
    place, sheets = SCREENS[screen]
    found = {}
    for sheet in sheets:
        for name, *both in re.findall(
            r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (CSS / f"{sheet}.css").read_text()
        ):
            found[name] = both[place]
    return found


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rules():
    """Each rule of the sheets: its sheet, its selector and what it says."""
    for sheet in sorted(CSS.glob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        for selector, body in RULE.findall(text):
            yield sheet.stem, selector.strip(), body


@pytest.mark.parametrize("screen", SCREENS)
def test_each_pair_of_tokens_has_the_contrast_that_it_needs(screen):
    known = colours(screen)
    lines, low = [], []
    wanted = [(TEXT if screen in ("light", "dark") else 7.0, "text", PAIRS), (SHAPE, "shape", SHAPES)]
    for least, kind, pairs in wanted:
        for name, grounds in pairs.items():
            for ground in grounds:
                ratio = contrast(known[name], known[ground])
                lines.append(f"{kind:6} {name:12} on {ground:12} {ratio:6.2f}  (at least {least})")
                low += [lines[-1]] if ratio < least else []
    click.echo(f"\n{screen}\n" + "\n".join(lines))
    assert low == []


def test_each_token_that_a_sheet_uses_has_a_pair():
    texts, grounds = set(PAIRS), {ground for each in PAIRS.values() for ground in each}
    unknown = []
    for sheet, selector, body in rules():
        text, ground = OF_TEXT.findall(body), OF_GROUND.findall(body)
        unknown += [(sheet, selector, "text", name) for name in text if name not in texts]
        unknown += [(sheet, selector, "ground", name) for name in ground if name not in grounds]
        if text and ground and ground[-1] not in PAIRS.get(text[-1], ()):
            unknown.append((sheet, selector, "pair", f"{text[-1]} on {ground[-1]}"))
        shapes = set(SHAPES) | DECORATION
        unknown += [(sheet, selector, "shape", name) for name in OF_LINE.findall(body) if name not in shapes]
    assert unknown == []


def test_bars_of_a_chart_are_told_from_their_ground():
    """They are mixed of two tokens, as the sheet of the sweeps says."""
    text = (CSS / "sweeps.css").read_text()
    for name, share in re.findall(
        r"\.bars (\S+) \{ fill: color-mix\(in oklab, var\(--accent\) (\d+)%, var\(--surface\)\)", text
    ):
        for screen in ("light", "dark"):
            known = colours(screen)
            mixed = mix(known["accent"], known["surface"], int(share) / 100)
            assert contrast(mixed, known["surface"]) >= SHAPE, (name, screen)


def mix(one, other, share):
    """As `color-mix(in oklab, one share, other)`."""
    between = [a * share + b * (1 - share) for a, b in zip(oklab(one), oklab(other), strict=True)]
    lightness, a, b = between
    cone = (
        (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
        (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
        (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3,
    )
    light = [
        sum(factor * part for factor, part in zip(row, cone, strict=True))
        for row in (
            (4.0767416621, -3.3077115913, 0.2309699292),
            (-1.2684380046, 2.6097574011, -0.3413193965),
            (-0.0041960863, -0.7034186147, 1.7076147010),
        )
    ]
    coded = [12.92 * p if p <= 0.0031308 else 1.055 * p ** (1 / 2.4) - 0.055 for p in light]
    return "#" + "".join(f"{round(255 * min(1, max(0, part))):02x}" for part in coded)


def oklab(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    cone = [
        (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3),
        (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3),
        (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3),
    ]
    return [
        sum(factor * part for factor, part in zip(row, cone, strict=True))
        for row in (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        )
    ]
