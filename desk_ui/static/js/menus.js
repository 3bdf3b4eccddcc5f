// A menu closes when one clicks elsewhere, moves the focus away, or presses Escape.
const MENUS = "details.menu[open]";

function closeOthers(within) {
  document.querySelectorAll(MENUS).forEach((menu) => {
    if (!menu.contains(within)) menu.open = false;
  });
}

document.addEventListener("click", (event) => closeOthers(event.target));
document.addEventListener("focusin", (event) => closeOthers(event.target));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector(MENUS);
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
