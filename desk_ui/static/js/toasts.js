// A toast can be closed by its button or by Escape. Good news leaves by itself, unless it is being read.
const READ_WITHIN = 8000;

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-close=toast]");
  if (button) button.closest("[data-toast]").remove();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelectorAll("[data-toast]").forEach((toast) => toast.remove());
});

function letGo(toast) {
  setTimeout(() => {
    if (toast.matches(":hover, :focus-within")) letGo(toast);
    else toast.remove();
  }, READ_WITHIN);
}

function watch() {
  document.querySelectorAll("[data-toast].good:not([data-watched])").forEach((toast) => {
    toast.dataset.watched = "";
    letGo(toast);
  });
}

watch();
new MutationObserver(watch).observe(document.getElementById("toasts"), { childList: true });
