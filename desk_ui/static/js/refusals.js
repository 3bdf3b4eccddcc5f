// A button that is off says why when it is pressed: on a phone there is nothing to hover.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.off[title]");
  if (!button) return;
  const toast = document.getElementById("unreadable").content.cloneNode(true);
  toast.querySelector("p").textContent = button.title;
  document.getElementById("toasts").replaceChildren(toast);
});
