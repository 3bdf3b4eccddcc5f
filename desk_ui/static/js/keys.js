// Keys stand on what they press (`data-key`), so that an area only says there which it has: one key, or two after one
// another. In a list, j and k move between the rows, x ticks one, with Shift all from the one ticked before, and Enter
// opens it, since its link has the focus. While rows are ticked, b leads to what can be done, and Escape clears them.
const SECOND_WITHIN = 1500;
const WRITING = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])";
let firstKey = null;

function takesKeys(event) {
  if (document.documentElement.dataset.keys === "off") return false;
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false;
  return !event.target.closest(WRITING) && !document.querySelector("dialog[open]");
}

function pressedBy(keys) {
  const found = [...document.querySelectorAll(`[data-key="${CSS.escape(keys)}"]`)];
  return found.find((element) => element.checkVisibility()) || found[0];
}

function press(element) {
  if (!element.matches("input")) return element.click();
  element.focus();
  element.select();
}

function rowsOfList() {
  return [...document.querySelectorAll("main tbody tr[id]")].filter((row) => row.querySelector("[data-focus]"));
}

function moveBy(step) {
  const rows = rowsOfList();
  const at = rows.indexOf(document.activeElement.closest("tr[id]"));
  const next = at < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[at + step];
  if (!next) return;
  next.querySelector("[data-focus]").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function tickRow(shiftKey) {
  const row = document.activeElement.closest("tr[id]");
  const box = row && row.querySelector("[data-tick]");
  if (box) pressTick(box, shiftKey);
}

const OF_LISTS = { j: () => moveBy(1), k: () => moveBy(-1), x: () => tickRow(false), X: () => tickRow(true), b: focusActs };

// Before the menus hear of it, so that one that is open is closed and nothing else.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !takesKeys(event) || document.querySelector("details.menu[open]")) return;
  if (isSelecting()) clearSelection();
}, true);

document.addEventListener("keydown", (event) => {
  if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  const first = firstKey && event.timeStamp - firstKey.at < SECOND_WITHIN ? firstKey.key : null;
  firstKey = null;
  if (!takesKeys(event)) return;
  const element = pressedBy(first ? `${first} ${event.key}` : event.key);
  const move = first ? null : OF_LISTS[event.key];
  if (element && !event.repeat) press(element);
  else if (move) move();
  else if (!first && document.querySelector(`[data-key^="${CSS.escape(event.key)} "]`)) firstKey = { key: event.key, at: event.timeStamp };
  else return;
  event.preventDefault();
});
