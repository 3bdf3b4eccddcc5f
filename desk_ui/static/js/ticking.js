// Relative times go on while the page is open, in the words that the server uses.
const MINUTE = 60, HOUR = 3600, DAY = 86400;

function span(seconds) {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return `${Math.floor(seconds / HOUR)} h`;
}

function words(seconds) {
  if (seconds === 0) return "now";
  return seconds > 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
}

function tick() {
  if (document.hidden) return;
  document.querySelectorAll("time[data-ticks]").forEach((element) => {
    const seconds = Math.trunc((Date.parse(element.dateTime) - Date.now()) / 1000);
    if (Math.abs(seconds) >= DAY) return;
    const text = words(seconds);
    if (element.textContent !== text) element.textContent = text;
  });
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
