// Refreshes the parts of a page that are marked `data-live`. Pages work without this script.
"use strict";

const pauseMilliseconds = 2000;
let isDue = false;
let isBusy = false;

async function refresh() {
  if (isBusy || document.hidden) {
    isDue = true;
    return;
  }
  isBusy = true;
  isDue = false;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok && !answer.redirected) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.querySelectorAll("[data-live]").forEach((part) => replace(part, fresh.getElementById(part.id)));
    }
  } catch {
    // The service is unreachable; the browser reconnects to the event stream by itself.
  }
  setTimeout(() => {
    isBusy = false;
    if (isDue) refresh();
  }, pauseMilliseconds);
}

function replace(part, fresh) {
  if (!fresh || part.innerHTML === fresh.innerHTML) return;
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const mark = focused && (focused.id ? `#${CSS.escape(focused.id)}` : focused.getAttribute("href"));
  const isAtEnd = part.scrollTop + part.clientHeight >= part.scrollHeight - 8;
  part.replaceChildren(...fresh.childNodes);
  if (isAtEnd) part.scrollTop = part.scrollHeight;
  if (!mark) return;
  const again = mark.startsWith("#") ? part.querySelector(mark) : part.querySelector(`[href="${CSS.escape(mark)}"]`);
  again?.focus({ preventScroll: true });
}

const address = document.body.dataset.events;
if (address) {
  const events = new EventSource(address);
  // `open` comes after the first connection and after each further one. What happened between the making of the page
  // and that connection is in no event.
  for (const kind of ["open", "task", "progress", "release", "lost"]) events.addEventListener(kind, refresh);
  document.addEventListener("visibilitychange", () => isDue && refresh());
  // Browsers limit the connections to a host, so a page that is left closes its own.
  addEventListener("pagehide", () => events.close());
  document.querySelectorAll("pre[data-live]").forEach((part) => (part.scrollTop = part.scrollHeight));
}
