// A toast can be closed by its button or by Escape. Good news leaves by itself, unless it is being read or can still be
// taken back. The focus is never left on what went: it goes back to where it was before.
const READ_WITHIN = 8000;
const toastsPlace = document.getElementById("toasts");
let focusedBefore = null;

document.addEventListener("focusin", (event) => {
  if (!toastsPlace.contains(event.target)) focusedBefore = event.target;
});

function closeToast(toast) {
  const held = toast.contains(document.activeElement);
  toast.remove();
  if (!held) return;
  const next = focusedBefore && focusedBefore.isConnected ? focusedBefore : document.getElementById("main");
  next.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-close=toast]");
  if (button) closeToast(button.closest("[data-toast]"));
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelectorAll("[data-toast]").forEach(closeToast);
});

function letGo(toast) {
  setTimeout(() => {
    if (toast.matches(":hover, :focus-within, :has(form.offer[data-until])")) letGo(toast);
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
new MutationObserver(watch).observe(toastsPlace, { childList: true });
