// After a swap the focus stays where it was: on the same control, or else on what took its place. It is noted
// before the request, since a control that is off while its request runs loses it.
document.addEventListener("htmx:config:request", (event) => {
  const ctx = event.detail.ctx;
  const held = document.activeElement;
  const inside = held && ctx.target instanceof Element && ctx.target.contains(held);
  ctx.focusWas = inside ? { id: held.id, place: ctx.target.id } : null;
});

document.addEventListener("htmx:after:swap", (event) => {
  const was = event.detail.ctx.focusWas;
  const now = document.activeElement;
  if (!was || (now && now !== document.body && now.isConnected && !now.disabled)) return;
  const same = was.id && document.getElementById(was.id);
  const place = was.place && document.getElementById(was.place);
  const next = same || (place && place.querySelector("[data-focus]"));
  if (next) next.focus({ preventScroll: true });
});

// Who opened a row and comes back, by the browser's way or by a link, finds the focus on it.
const OPENED = "desk:opened";

document.addEventListener("click", (event) => {
  const link = event.target.closest("tr[id] a[data-focus]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  sessionStorage.setItem(OPENED, JSON.stringify({ row: link.closest("tr").id, page: link.pathname }));
});

addEventListener("pageshow", () => {
  const opened = JSON.parse(sessionStorage.getItem(OPENED));
  if (!opened || location.pathname.startsWith(opened.page)) return;
  sessionStorage.removeItem(OPENED);
  const link = document.getElementById(opened.row)?.querySelector("[data-focus]");
  if (link && document.activeElement === document.body) link.focus();
});
