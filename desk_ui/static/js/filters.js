// A filter form sends only what was filled in, so that the address stays short enough to read and share.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-drop-blank]")) return;
  for (const field of event.target.elements) {
    if (field.name && !field.value) field.disabled = true;
  }
});

// Coming back by the browser's own button finds the fields usable again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-drop-blank] [disabled]").forEach((field) => (field.disabled = false));
});
