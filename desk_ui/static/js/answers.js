// Only what the desk itself answered is swapped in; what stands between may answer too, or nobody at all. After an
// act, or where a row turned out to have moved, the counts are read again.
function acts(ctx) {
  return Boolean(ctx && ctx.request && ctx.request.method !== "GET");
}

function say(id) {
  document.getElementById("toasts").replaceChildren(document.getElementById(id).content.cloneNode(true));
}

document.addEventListener("htmx:before:response", (event) => {
  const ctx = event.detail.ctx;
  if (ctx.response.headers.get("X-Desk")) return;
  event.preventDefault();
  if (acts(ctx)) say("unreadable");
});

document.addEventListener("htmx:error", (event) => {
  const ctx = event.detail.ctx;
  if (acts(ctx)) say(ctx.response ? "unreadable" : "unreachable");
});

document.addEventListener("htmx:after:request", (event) => {
  const ctx = event.detail.ctx;
  if (!acts(ctx) || ctx.sourceElement?.matches("[data-asks]") || ![200, 409].includes(ctx.response.status)) return;
  for (const id of ["tabs", "needs"]) {
    const place = document.getElementById(id);
    if (place) place.dispatchEvent(new CustomEvent("acted"));
  }
});

// While something is asked, its place says so to who listens; to who looks, its button is paler, and nothing moves.
document.addEventListener("htmx:before:request", (event) => {
  event.detail.ctx?.sourceElement?.setAttribute("aria-busy", "true");
});

document.addEventListener("htmx:finally:request", (event) => {
  event.detail.ctx?.sourceElement?.removeAttribute("aria-busy");
});
