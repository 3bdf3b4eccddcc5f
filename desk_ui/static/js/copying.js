// A secret that is shown once can be copied by a button, where the browser lets a page do so.
function offer() {
  if (!navigator.clipboard) return;
  document.querySelectorAll("[data-copy][hidden]").forEach((button) => (button.hidden = false));
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = button.dataset.done;
  } catch {
    field.focus();
    field.select();
  }
});

offer();
document.addEventListener("htmx:after:swap", offer);
