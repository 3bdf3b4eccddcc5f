// Relative times go on while the page is open, in the words that the server uses. What is expected stops at "now":
// whether it came is not known here. A page that has been open for a while says so.
const OLD = 30;
const MINUTE = 60, HOUR = 3600, DAY = 86400, EXACT_HOURS = 10;

function span(seconds) {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  const hours = Math.floor(seconds / HOUR), minutes = Math.floor(seconds / MINUTE) % 60;
  return minutes && hours < EXACT_HOURS ? `${hours} h ${minutes} min` : `${hours} h`;
}

function words(seconds, passed) {
  if (seconds === 0) return passed ? "just now" : "now";
  return seconds > 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
}

function tick() {
  if (document.hidden) return;
  document.querySelectorAll("time[data-ticks]").forEach((element) => {
    let seconds = Math.trunc((Date.parse(element.dateTime) - Date.now()) / 1000);
    const expected = element.closest("[data-expected]");
    if (expected) seconds = Math.max(seconds, 0);
    if (Math.abs(seconds) >= DAY) return;
    const said = "lasts" in element.dataset ? span(Math.abs(seconds)) : words(seconds, !expected && Date.parse(element.dateTime) <= Date.now());
    const text = seconds < 0 && element.dataset.past ? element.dataset.past.replace("{}", said) : said;
    if (element.textContent !== text) element.textContent = text;
  });
  showAge();
}

function showAge() {
  const place = document.querySelector("[data-age]");
  // Counted from the load by the browser's own clock, which may differ from the server's.
  const seconds = Math.floor(performance.now() / 1000);
  // A list that is read again says so in its own place.
  if (!place || document.getElementById("fresh") || seconds <= OLD) return;
  place.hidden = false;
  place.textContent = place.dataset.age.replace("{}", span(seconds));
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
