// Rows are ticked one by one, a stretch of them with Shift, or all of the page; or all that match are meant. While
// something is selected, what can be done with it stands in the place of the filters, and stays in view.
const selecting = document.getElementById("bulk");
const MOST_AT_ONCE = "10,000";
let lastTicked = null, allMeant = false;

const ticks = () => [...document.querySelectorAll("[data-tick]")];
const filled = (text, number) => text.replace("{}", number);

// As the tab counts them: a number, one that is capped, or nothing while it is not counted.
function matching() {
  const counted = document.querySelector(".tabs [aria-current] .c");
  const text = counted ? counted.textContent.trim() : "";
  return { text: text.replace("+", ""), capped: text.endsWith("+"), known: /^[0-9]/.test(text) };
}

function isWhole(number) {
  const { text, known } = matching();
  return known && Number(text.replace(/\D/g, "")) <= number;
}

function inAll(words) {
  const { text, capped, known } = matching();
  if (!known) return words.uncounted;
  return capped ? filled(words.first ?? words.capped, MOST_AT_ONCE) : filled(words.all ?? words.counted, text);
}

function onButton(words, number) {
  if (!allMeant) return number === 1 ? words.one : filled(words.many, number);
  const { text, capped, known } = matching();
  if (!known) return words.uncounted;
  return text === "1" ? words.one : filled(words.many, capped ? MOST_AT_ONCE : text);
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showSelection() {
  if (!selecting) return;
  const all = ticks(), number = all.filter((tick) => tick.checked).length;
  if (allMeant && number < all.length) allMeant = false;
  if (!number) allMeant = false;
  const picked = selecting.querySelector("[data-picked]"), said = picked.querySelector("[data-number]");
  selecting.elements.all.value = allMeant ? "1" : "";
  picked.hidden = !number;
  selecting.parentElement.classList.toggle("selecting", number > 0);
  write(said, allMeant ? inAll(said.dataset) : number === 1 ? said.dataset.one : filled(said.dataset.many, number));
  const within = picked.querySelector("[data-within]"), take = picked.querySelector("[data-take=all]");
  within.hidden = !allMeant;
  write(take, inAll(take.dataset));
  take.hidden = allMeant || isWhole(number);
  picked.querySelectorAll("[name=do]").forEach((button) => write(button, onButton(button.dataset, number)));
  write(selecting.querySelector("[data-told]"), allMeant ? `${said.textContent}: ${within.textContent}` : number ? said.textContent : "");
  const head = document.querySelector("[data-tick-all]");
  if (!head) return;
  head.hidden = !all.length;
  head.checked = number > 0 && number === all.length;
  head.indeterminate = number > 0 && number < all.length;
}

function tickAll(checked) {
  ticks().forEach((tick) => (tick.checked = checked));
  lastTicked = null;
}

// As if its box had been pressed: by a key on its row, or beside it in its cell.
function pressTick(tick, shiftKey) {
  tick.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey }));
}

document.addEventListener("click", (event) => {
  const tick = event.target.closest("[data-tick]"), beside = event.target.matches("td.tick") && event.target.querySelector("[data-tick]");
  if (beside) {
    beside.focus({ preventScroll: true });
    return pressTick(beside, event.shiftKey);
  }
  if (tick && event.shiftKey && lastTicked?.isConnected) {
    const all = ticks(), [from, to] = [all.indexOf(lastTicked), all.indexOf(tick)].sort((a, b) => a - b);
    all.slice(from, to + 1).forEach((one) => (one.checked = tick.checked));
  }
  if (tick) lastTicked = tick;
  const take = event.target.closest("[data-take]");
  if (!take) return;
  takeAll(take.dataset.take === "all");
});

function takeAll(all) {
  const last = lastTicked?.isConnected && lastTicked;
  tickAll(all);
  allMeant = all;
  showSelection();
  // What was pressed is gone now; the row at which one was may be far from the head of the list.
  const next = all ? selecting.querySelector("[name=do]") : last || document.querySelector("[data-tick-all]");
  if (next) next.focus({ preventScroll: true });
}

// For keys: to the first that can be done, and back to nothing selected, with the focus kept in the rows.
function isSelecting() {
  return selecting !== null && !selecting.querySelector("[data-picked]").hidden;
}

function focusActs() {
  if (isSelecting()) selecting.querySelector("[name=do]").focus();
}

function clearSelection() {
  if (selecting.contains(document.activeElement)) return takeAll(false);
  tickAll(false);
  showSelection();
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-tick-all]")) tickAll(event.target.checked);
  if (event.target.matches("[data-tick], [data-tick-all]")) showSelection();
});

// Rows that a refresh or an act put in, and the tabs' counts, which come after the page.
for (const name of ["desk:rows", "htmx:after:swap"]) document.addEventListener(name, showSelection);
window.addEventListener("pageshow", showSelection);
showSelection();
