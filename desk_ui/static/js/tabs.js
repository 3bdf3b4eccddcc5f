// Where the tabs or the areas don't fit, the one that is shown stands in view.
document.querySelectorAll(".tabs [aria-current], .areas [aria-current]").forEach((current) => {
  const row = current.closest(".tabs, .areas");
  row.scrollLeft = current.offsetLeft - row.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
});
