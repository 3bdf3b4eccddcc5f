// A question that came over the page opens as a dialog, and closes when it is answered or left. The focus goes back
// to where it was opened from, or to what took that place.
const dialog = document.getElementById("dialog");
let opener = null;

function placeOf(element) {
  const held = element.closest("[id]:not(#main, #dialog)");
  return held ? held.id : null;
}

document.addEventListener("htmx:before:request", (event) => {
  const ctx = event.detail.ctx;
  if (ctx.target !== dialog || dialog.open) return;
  opener = { element: ctx.sourceElement, place: placeOf(ctx.sourceElement) };
});

function focusBack() {
  if (!opener) return;
  // The browser gave it back already, or the person has moved on meanwhile.
  const held = document.activeElement;
  if (held && held !== document.body && !dialog.contains(held)) {
    opener = null;
    return;
  }
  const place = opener.place && document.getElementById(opener.place);
  const next = opener.element.isConnected ? opener.element : place && (place.querySelector("[data-focus]") || place);
  if (next) next.focus({ preventScroll: true });
  opener = null;
}

if (dialog) {
  document.addEventListener("htmx:after:swap", () => {
    const filled = dialog.childElementCount > 0;
    if (filled && !dialog.open) dialog.showModal();
    if (!filled && dialog.open) dialog.close();
    if (!filled) return;
    const faulty = dialog.querySelector("[aria-invalid]") || dialog.querySelector("[autofocus]");
    if (faulty && !dialog.contains(document.activeElement)) faulty.focus();
    else if (dialog.querySelector("[aria-invalid]")) faulty.focus();
  });
  // What is shown once is not lost to a key; however it is left, the page behind it is no longer true.
  dialog.addEventListener("cancel", (event) => {
    if (dialog.querySelector("[data-told]")) event.preventDefault();
  });
  dialog.addEventListener("close", () => {
    const done = dialog.querySelector("[data-told] [data-done][href]");
    if (done) window.location.assign(done.href);
    dialog.replaceChildren();
    focusBack();
  });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-close=dialog]");
  if (!link || !dialog || !dialog.contains(link)) return;
  event.preventDefault();
  dialog.close();
});

// A secret to copy is selected at once, so that one key copies it.
document.addEventListener("focusin", (event) => {
  if (event.target.matches("[data-select]")) event.target.select();
});
