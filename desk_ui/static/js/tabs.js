// Where the tabs don't fit, the one that is shown stands in view.
const current = document.querySelector(".tabs [aria-current]");
if (current) {
  const tabs = current.parentElement;
  tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}
