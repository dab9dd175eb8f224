"""Checks of a page for people who use the keyboard alone, or who see little contrast."""

from __future__ import annotations

from typing import Any

_CONTRASTS = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((x, k) => a * x + (1 - a) * under[k]);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, behind(element.parentElement));
  };
  const light = (color) => {
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((x) => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3);
    const text = texts.map((node) => node.data).join("").trim();
    const style = getComputedStyle(element);
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest(":disabled, .disabled, [aria-disabled=true], canvas, script, style")) continue;
    const under = behind(element);
    const [one, other] = [light(over(parse(style.color), under)), light(under)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
})()"""
_CONTROLS = """(() => {
  const found = "button, input, select, textarea, a[href], summary, [tabindex]:not([tabindex='-1'])";
  const seen = (each) => each.checkVisibility({ visibilityProperty: true }) && each.getClientRects().length
    && !each.closest(":disabled, [aria-disabled=true], .q-uploader__input");
  window.controls = [...document.querySelectorAll(found)].filter((each) => seen(each) && each.tabIndex >= 0
    && !(each.type === "radio" && !each.checked));
  window.reached = new Set();
  return window.controls.length;
})()"""
_NAME = """(each) => (each.ariaLabel || [...(each.labels ?? [])].map((label) => label.innerText).join(" ")
  || each.innerText || each.title || each.closest("label")?.innerText || "").trim()"""
_VISIT = "window.reached.add(document.activeElement)"
_LEFT = (
    "window.controls.filter((each) => each.isConnected && !window.reached.has(each)).map((each) => "
    f"({_NAME})(each) || each.outerHTML.slice(0, 120))"
)
_NAMELESS = f"window.controls.filter((each) => !({_NAME})(each)).map((each) => each.outerHTML.slice(0, 160))"


def faint_texts(page: Any) -> list[str]:
    """Visible texts whose contrast is below that of WCAG 2.1, level AA."""
    found: list[str] = page.evaluate(_CONTRASTS)
    return found


def beyond_keyboard(page: Any) -> list[str]:
    """Controls that the tabulator key does not reach."""
    count = page.evaluate(_CONTROLS)
    for _ in range(count + 40):
        page.keyboard.press("Tab")
        page.evaluate(_VISIT)
    left: list[str] = page.evaluate(_LEFT)
    return left


def nameless_controls(page: Any) -> list[str]:
    """Controls that assistive technology cannot name."""
    page.evaluate(_CONTROLS)
    found: list[str] = page.evaluate(_NAMELESS)
    return found
