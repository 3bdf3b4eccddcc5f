// A page is read again while it is open: a list puts in what changed, the page of one thing says that it moved. It
// rests while somebody looks away, selects, or has a menu or a question open; after a failure it comes less often.
const RUN_TAKES = 2_000, OFTEN = 10_000, SELDOM = 120_000, GIVE_UP = 20_000;
const bar = document.getElementById("fresh");
const watched = () => document.querySelector("[data-watch]");
const state = { due: 0, failures: 0, at: performance.now(), runs: false, acts: 0, acted: 0, told: 0, awaited: 0, moved: false, held: false, over: false };
const fresh = { sign: bar?.dataset.sign, held: null, other: false, strays: "", etag: null };
let said = null, zone = "UTC";

function every() {
  const chosen = bar ? bar.querySelector("select").value : document.querySelector("[data-moved]")?.dataset.every;
  return Number(chosen || 0) * 1000;
}

function show(text, link) {
  const place = bar?.querySelector("[data-says]");
  if (!place || place.textContent === text) return;
  place.textContent = text;
  if (link) place.append(" ", Object.assign(document.createElement("a"), link));
}

function pauses() {
  if (document.hidden) return "";
  if (document.querySelector("[data-tick]:checked")) return said.tick;
  if (state.acts || state.held) return "";
  if (document.querySelector("dialog[open]")) return said.dialog;
  return document.querySelector("details.menu[open]") ? said.menu : null;
}

function ask(url, sign) {
  const headers = { "HX-Request": "true", "HX-Current-URL": location.href };
  if (sign) headers["If-None-Match"] = `W/"${sign}"`;
  return fetch(url, { headers, cache: "no-store", signal: AbortSignal.timeout(GIVE_UP) });
}

function finish(text, link) {
  state.over = true;
  show(text, link);
}

// Whether the answer can be used; who was signed out, or may look no more, is told so.
function isUsable(answer) {
  if (answer.status === 401) finish(said.signedOut, { href: answer.headers.get("HX-Redirect") || location.href, textContent: said.signIn });
  else if (answer.status === 403 || answer.status === 404) finish(said.refused, { href: location.href, textContent: said.reload });
  else if (!answer.headers.get("X-Desk") || ![200, 304].includes(answer.status)) throw new Error(answer.status);
  return !state.over;
}

function note(answer) {
  const date = new Date(answer.headers.get("Date") || Date.now());
  const clock = date.toLocaleTimeString("en-GB", { timeZone: zone });
  Object.assign(state, { failures: 0, at: performance.now(), read: clock });
  // The page of one was only asked whether it moved.
  const foot = bar && document.querySelector("[data-read]");
  if (foot) foot.textContent = foot.textContent.replace(/\d\d:\d\d/, clock.slice(0, 5));
}

// When the next run comes. A row that waited for one that is over is told only once it is known not to be taken.
function expect(answer) {
  const next = answer.headers.get("X-Next-Run");
  if (next) document.querySelectorAll("time[data-next-run], .bar .next time").forEach((one) => (one.dateTime = next));
  state.behind = (answer.headers.get("X-Around") || state.around) !== state.around;
}

// A run that the page awaits is over soon after its moment: what it did is read then, whatever was chosen.
function awaitRun() {
  const shown = document.querySelector("tr:not(.gone) time[data-next-run], [data-watch] time[data-next-run]");
  const at = shown && Date.parse(shown.dateTime);
  // One that is late may be shown as due now for a while, which is no reason to ask without a pause.
  if (!at || at < state.awaited + OFTEN || Date.now() < at) return;
  state.awaited = at;
  state.due = Math.min(state.due, performance.now() + RUN_TAKES);
}

function titled() {
  return document.querySelector("h1")?.textContent;
}

function counted(words, number) {
  return words[number === 1 ? 0 : 1].replace("{}", number >= 50 ? "50+" : number);
}

// `other` is what changed and can't be put in without moving what stands here.
function announce(changed, added, other) {
  const link = bar.querySelector("[data-new]");
  link.hidden = !added && !other;
  if (!link.hidden) link.textContent = added ? counted(said.new, added) : said.other;
  const quiet = "quiet" in bar.dataset, title = titled();
  const words = changed && !quiet ? [counted(said.changed, changed)] : quiet && title !== state.title ? [title] : [];
  state.title = title;
  if (added && added !== state.told) words.push(counted(said.new, added));
  state.told = added;
  if (words.length) bar.querySelector("[data-live]").textContent = `${words.join(", ")}.`;
}

// Rows that the list no longer holds: what became of them. Asked each time, since the list itself may stay the same.
async function look(strays) {
  const none = { put: 0, waits: 0, grew: 0 };
  if (!strays.length || !bar.dataset.rows) return none;
  const url = new URL(bar.dataset.rows, location.href);
  strays.forEach((row) => url.searchParams.append("id", row.id.replace(/^[a-z]+-/, "")));
  const answer = await ask(url, url.href === fresh.strays ? fresh.etag : null);
  if (!isUsable(answer) || answer.status === 304) return none;
  const there = byId(parsed(await answer.text()));
  if (pauses() !== null) return none;
  const done = putIn(strays, there);
  const gone = strays.filter((row) => row.isConnected && !there.has(row.id));
  gone.forEach((row) => grey(row, said.gone));
  done.put += gone.length;
  if (!done.waits) Object.assign(fresh, { strays: url.href, etag: signOf(answer) });
  return done;
}

function signOf(answer) {
  return (answer.headers.get("ETag") || "").replace(/^W\/|"/g, "");
}

function outside() {
  const rows = fresh.held ? [...document.querySelectorAll(`tr${ROWS}:not(.gone)`)] : [];
  return rows.filter((row) => !fresh.held.has(row.id)).slice(0, 50);
}

async function readList() {
  const acted = state.acted;
  const answer = await ask(bar.dataset.from, fresh.sign);
  if (!isUsable(answer)) return;
  let changed = 0, added = state.told;
  if (answer.status === 200) {
    const found = parsed(await answer.text()), page = found.querySelector("#fresh");
    if (!page) throw new Error("no list");
    if (page.dataset.page !== bar.dataset.page) return finish(said.newer, { href: location.href, textContent: said.reload });
    // What was read before an act, or while somebody began to select, is older than the page by now.
    if (acted !== state.acted || pauses() !== null) return again();
    const here = [...document.querySelectorAll(`#main ${ROWS}`)], there = byId(found);
    added = countNew(here, there, "more" in bar.dataset);
    const besides = differsBeside(here, there), done = putIn(here, there);
    hideOver(here, there);
    done.waits += putChoicesIn(found);
    changed = done.put;
    fresh.held = new Set(there.keys());
    fresh.sign = done.waits ? null : signOf(answer);
    fresh.other = besides || done.grew > 0;
    // All that match are those that did not change since the list was read: now, if all of it stands here.
    const seen = document.querySelector("[data-seen]"), newer = found.querySelector("[data-seen]");
    if (seen && newer && !done.waits && !added && !fresh.other) seen.value = newer.value;
  }
  note(answer);
  const left = await look(outside());
  if (!state.over && pauses() === null) expect(answer);
  changed += left.put;
  if (changed) document.dispatchEvent(new CustomEvent("desk:rows"));
  if (changed || added !== state.told) state.moved = true;
  announce(changed, added, fresh.other || left.grew > 0);
}

async function readOne() {
  const panel = watched(), place = document.querySelector("[data-moved]");
  const answer = await ask(location.href, panel.dataset.sign);
  if (answer.status === 401 || !isUsable(answer)) return (state.over = true);
  note(answer);
  const next = answer.status === 200 && parsed(await answer.text()).querySelector("[data-watch]");
  if (!next || !panel.isConnected || next.dataset.sign === panel.dataset.sign) return expect(answer);
  panel.dataset.sign = next.dataset.sign;
  // What it says of a run is over with the run.
  panel.querySelectorAll("time[data-next-run]").forEach((one) => one.removeAttribute("data-next-run"));
  expect(answer);
  // What changed beside it, nobody knows when, and it takes the place of nothing that it became itself.
  if (!next.dataset.at && place.querySelector("time")) return;
  const link = Object.assign(document.createElement("a"), { href: location.href, textContent: said.show });
  place.replaceChildren(said.moved.replace("{}", next.dataset.became), " ", link);
  if (!next.dataset.at) return;
  const when = Object.assign(document.createElement("time"), { dateTime: next.dataset.at });
  when.dataset.ticks = "";
  // The time stands last, so that it moves nothing when it goes on.
  place.append(" ", when);
  tick();
}

function again() {
  state.due = performance.now() + 1000;
}

async function round() {
  state.runs = true;
  state.due = performance.now() + every();
  try {
    await (bar ? readList() : readOne());
  } catch {
    state.failures += 1;
    state.due = performance.now() + Math.min(every() * 2 ** Math.min(state.failures - 1, 6), SELDOM);
  } finally {
    state.runs = false;
    beat();
  }
}

// The counts of the tabs follow what changed, and what stands around the page what it was told of that, but no oftener
// than is of use.
function follow() {
  const now = performance.now();
  if (!(state.moved || state.behind) || now - (state.followed ?? -OFTEN) < OFTEN) return;
  const places = { tabs: state.moved, needs: state.behind };
  Object.assign(state, { moved: false, behind: false, followed: now });
  for (const id in places) if (places[id]) document.getElementById(id)?.dispatchEvent(new CustomEvent("acted"));
}

function beat() {
  if (state.over || !said) return;
  // Due at 0 is asked for now, whatever was chosen.
  const paused = pauses(), off = !every() && state.due !== 0;
  if (paused) show(paused.replace("{}", state.read));
  else if (state.failures) show(said.failed.replace("{}", span(Math.floor((performance.now() - state.at) / 1000))));
  else if (paused === null) show((off ? said.off : said.read).replace("{}", state.read));
  if (paused !== null || state.runs) return;
  if (!off) awaitRun();
  follow();
  if (!off && performance.now() >= state.due) round();
}

function now() {
  state.due = 0;
  beat();
}

if (bar || watched()) {
  const place = bar || document.querySelector("[data-moved]");
  said = JSON.parse(place.dataset.said);
  zone = place.dataset.zone || zone;
  Object.assign(state, { read: place.dataset.at, title: titled() });
  state.due = performance.now() + every();
  setInterval(beat, 1000);
  document.addEventListener("visibilitychange", () => document.hidden || now());
  document.addEventListener("desk:refresh", now);
  // Said at once, not with the next beat.
  document.addEventListener("change", (event) => event.target.matches("[data-tick], [data-tick-all]") && beat());
  // A press that is not over must find the row that it began on.
  addEventListener("pointerdown", () => (state.held = true));
  ["pointerup", "pointercancel", "blur"].forEach((name) => addEventListener(name, () => setTimeout(() => (state.held = false))));
  document.addEventListener("htmx:before:request", (event) => acts(event.detail.ctx) && (state.acts += 1));
  document.addEventListener("htmx:after:request", (event) => {
    const ctx = event.detail.ctx;
    if (ctx?.sourceElement?.id === "needs") state.around = ctx.response?.headers.get("X-Around");
  });
  document.addEventListener("htmx:finally:request", (event) => {
    if (!acts(event.detail.ctx)) return;
    state.acts = Math.max(0, state.acts - 1);
    state.acted += 1;
  });
  bar?.querySelector(".every").removeAttribute("hidden");
  bar?.addEventListener("change", () => (state.due = performance.now() + every()));
  beat();
}
