// After a swap the focus stays where it was: on the same control, or else on what took its place.
document.addEventListener("htmx:before:swap", (event) => {
  const held = document.activeElement;
  const target = event.detail.ctx.target;
  const inside = held && held !== document.body && target instanceof Element && target.contains(held);
  event.detail.ctx.focusWas = inside ? { id: held.id, place: target.id } : null;
});

document.addEventListener("htmx:after:swap", (event) => {
  const was = event.detail.ctx.focusWas;
  if (!was || (document.activeElement && document.activeElement !== document.body)) return;
  const same = was.id && document.getElementById(was.id);
  const place = was.place && document.getElementById(was.place);
  const next = same || (place && place.querySelector("[data-focus]"));
  if (next) next.focus({ preventScroll: true });
});
