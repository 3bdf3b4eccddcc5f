// What a refresh found is put into the page without moving anything: rows that changed are replaced where they stand,
// with the focus on the same control; those that left are greyed; new ones are only counted.
const ROWS = "[data-v][id]";

function parsed(html) {
  const found = document.createElement("template");
  found.innerHTML = html;
  return found.content;
}

function isSelected(row) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(row, true);
}

function sameControl(row, held) {
  const same = held.id && row.querySelector(`#${CSS.escape(held.id)}`);
  if (same) return same;
  const alike = [...row.querySelectorAll(held.localName)].find((one) => one.textContent === held.textContent && one.name === held.name);
  return alike || row.querySelector("[data-focus]");
}

// What became of it: put in, waits while somebody marks its text, or left as it was, since it would push others away.
function replaceRow(old, next) {
  if (isSelected(old)) return "waits";
  const held = old.contains(document.activeElement) ? document.activeElement : null;
  const height = old.getBoundingClientRect().height;
  old.replaceWith(next);
  let taken = next;
  // What a page is for may take what room it needs.
  const grown = "grows" in next.dataset ? 0 : next.getBoundingClientRect().height - height;
  if (grown > 0.5) {
    next.replaceWith(old);
    taken = old;
  } else if (grown < -0.5) {
    next.style[next.localName === "tr" && getComputedStyle(next).display === "table-row" ? "height" : "minHeight"] = `${height}px`;
  }
  if (held) {
    const control = taken === old ? held : sameControl(taken, held);
    if (control) control.focus({ preventScroll: true });
  }
  if (taken === old) return "grew";
  htmx.process(next);
  return "put";
}

function byId(found) {
  return new Map([...found.querySelectorAll(ROWS)].map((row) => [row.id, row]));
}

// The rows among `here` that stand otherwise in `there`: how many were put in, have to wait, or grew.
function putIn(here, there) {
  const done = { put: 0, waits: 0, grew: 0 };
  for (const row of here) {
    const next = there.get(row.id);
    if (next && next.dataset.v !== row.dataset.v) done[replaceRow(row, next)] += 1;
  }
  return done;
}

// What stands beside the rows, but for the text of a list without any, which comes and goes with them.
const beside = (rows) => rows.filter((row) => row.localName !== "tr" && row.id !== "nothing");

// Whether something beside the rows came or went, which can't be put in without moving them.
function differsBeside(here, there) {
  const ids = (rows) => beside(rows).map((row) => row.id).sort().join();
  return ids(here) !== ids([...there.values()]);
}

// What is said no more leaves its room empty, unless somebody is in it.
function hideOver(here, there) {
  for (const one of beside(here)) {
    const over = !there.has(one.id) && !one.contains(document.activeElement) && !isSelected(one);
    one.classList.toggle("over", over);
  }
}

// The choices of the filters are put in beneath what is chosen; whether one has to wait, since somebody is in it.
function putChoicesIn(found) {
  let waits = false;
  for (const old of document.querySelectorAll("select[data-choices]")) {
    const next = found.querySelector(`select[data-choices][name="${old.name}"]`);
    if (!next || next.innerHTML === old.innerHTML) continue;
    if (old === document.activeElement) waits = true;
    else {
      const chosen = old.value, width = old.getBoundingClientRect().width;
      // As wide as it was, so that nothing beside it moves.
      if (width) old.style.inlineSize = `${width}px`;
      old.replaceChildren(...next.childNodes);
      old.value = chosen;
      if (old.selectedIndex < 0) old.selectedIndex = 0;
    }
  }
  return waits;
}

// How many of those found belong among the rows of the page. What only moved up from the next page is not new.
function countNew(here, there, more) {
  const shown = new Set(here.map((row) => row.id));
  const order = [...there.values()].filter((row) => row.localName === "tr").map((row) => row.id);
  const last = order.findLastIndex((id) => shown.has(id));
  return order.filter((id, place) => !shown.has(id) && (!more || last < 0 || place < last)).length;
}

function grey(row, words) {
  row.classList.add("gone");
  row.querySelectorAll(".acts > *, .tick > *").forEach((one) => one.remove());
  const aside = row.querySelector(".sub");
  if (aside) aside.textContent = words;
}
