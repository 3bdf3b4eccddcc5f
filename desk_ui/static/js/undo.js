// What can be taken back for a while counts down, and says that it is too late once it is. Where its answer stands in
// for a row, the focus goes there.
const OFFERS = "form.offer";

function countDown() {
  document.querySelectorAll(OFFERS).forEach((form) => {
    if (form.dataset.left) {
      // By the browser's own clock, which may differ from the server's.
      form.dataset.until = performance.now() + 1000 * Number(form.dataset.left);
      delete form.dataset.left;
    }
    if (!form.dataset.until) return;
    const left = Math.ceil((Number(form.dataset.until) - performance.now()) / 1000);
    if (left > 0) form.querySelector("[data-counts]").textContent = ` (${left} s)`;
    else endOffer(form);
  });
}

function endOffer(form) {
  delete form.dataset.until;
  const button = form.querySelector("button");
  if (form.closest("[data-toast]") && document.activeElement !== button) {
    form.remove();
    return;
  }
  button.type = "button";
  button.title = form.dataset.over;
  button.firstChild.textContent = form.dataset.late;
  button.classList.add("off");
  button.setAttribute("aria-disabled", "true");
  form.querySelector("[data-counts]").textContent = "";
}

document.addEventListener("htmx:config:request", (event) => {
  const ctx = event.detail.ctx;
  const form = ctx.sourceElement && ctx.sourceElement.closest(OFFERS);
  if (!form) return;
  const row = form.dataset.place && document.querySelector(form.dataset.place);
  ctx.standsIn = row ? { among: row.parentElement, at: [...row.parentElement.children].indexOf(row) } : {};
});

document.addEventListener("htmx:after:swap", (event) => {
  countDown();
  const was = event.detail.ctx.standsIn;
  if (!was || (document.activeElement && document.activeElement !== document.body)) return;
  const now = was.among && was.among.children[was.at];
  const next = (now && now.querySelector("[data-focus]")) || document.getElementById("main");
  next.focus({ preventScroll: true });
});

countDown();
setInterval(countDown, 250);
document.addEventListener("visibilitychange", countDown);
