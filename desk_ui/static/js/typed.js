// What is typed into a form while it is being drawn anew is not lost: it is put into the new form, where that has the
// same input.
function typedIn(form) {
  const inputs = [...form.elements].filter((one) => one.name && !["hidden", "submit", "button"].includes(one.type));
  return new Map(inputs.map((one) => [one.name, one.type === "checkbox" ? one.checked : one.value]));
}

document.addEventListener("htmx:config:request", (event) => {
  const ctx = event.detail.ctx;
  const form = ctx.target instanceof Element ? ctx.target : document.querySelector(ctx.target);
  if (form && form.matches("[data-keeps]")) ctx.typed = typedIn(form);
});

document.addEventListener("htmx:before:swap", (event) => {
  const ctx = event.detail.ctx;
  const form = document.querySelector("[data-keeps]");
  if (!ctx.typed || !form) return;
  ctx.typedSince = [...typedIn(form)].filter(([name, value]) => ctx.typed.has(name) && ctx.typed.get(name) !== value);
});

document.addEventListener("htmx:after:swap", (event) => {
  const form = document.querySelector("[data-keeps]");
  for (const [name, value] of (form && event.detail.ctx.typedSince) || []) {
    const same = form.elements.namedItem(name);
    if (same && same.type === "checkbox") same.checked = value;
    else if (same && same.tagName !== "FIELDSET") same.value = value;
  }
});
