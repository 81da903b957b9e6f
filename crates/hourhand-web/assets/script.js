// What the pages do without: the reader's own times, counting clocks, and parts that are replaced when something changes.
"use strict";
(() => {
  const page = document.body.dataset;
  // The server's clock decides; this machine's may be wrong.
  let ahead = page.now ? Date.now() - Date.parse(page.now) : 0;
  const now = () => Date.now() - ahead;

  const two = (number) => String(number).padStart(2, "0");
  const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;

  /// In whole numbers of the largest unit, as the server says it.
  const roughly = (ms) => {
    const seconds = Math.floor(ms / 1000);
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} days`;
  };
  const exactly = (ms) => {
    const seconds = Math.max(0, Math.floor(ms / 1000));
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  };
  const set = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  /// Instants in the reader's own zone, with UTC beside.
  const localise = (root) => {
    for (const time of root.querySelectorAll("time.when")) {
      const at = new Date(time.dateTime);
      if (at.getTimezoneOffset() === 0) continue;
      const utc = document.createElement("span");
      const iso = at.toISOString();
      utc.className = "utc";
      utc.textContent = `${iso.slice(0, 10) === day(at) ? "" : iso.slice(5, 10) + " "}${iso.slice(11, 16)} UTC`;
      time.classList.add("local");
      time.replaceChildren(`${day(at)} ${clock(at)}:${two(at.getSeconds())} `, utc);
    }
    for (const tick of root.querySelectorAll("text[data-at]")) {
      const at = new Date(tick.dataset.at);
      if (at.getTimezoneOffset() !== 0 && tick.textContent.includes(":")) set(tick, clock(at));
    }
  };
  const count = () => {
    for (const time of document.querySelectorAll("time.distance")) {
      const away = Date.parse(time.dateTime) - now();
      set(time, away < 0 ? `${roughly(-away)} ago` : `in ${roughly(away)}`);
    }
    for (const time of document.querySelectorAll("time.since")) set(time, exactly(now() - Date.parse(time.dateTime)));
  };
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (new Date().getTimezoneOffset() !== 0) {
    document.getElementById("zone").textContent = `Times are in ${zone}, with UTC beside.`;
  }
  /// Where a picture is wider than the screen, the newest is seen first.
  for (const wide of document.querySelectorAll(".scroll")) wide.scrollLeft = wide.scrollWidth;
  localise(document);
  count();
  setInterval(count, 1000);

  if (!page.events || !window.EventSource) return;
  const live = document.getElementById("live");
  const stale = document.getElementById("stale");
  let underWay = false;
  let again = false;

  /// Whoever is reading, typing or choosing in a part keeps it.
  const isInUse = (part) =>
    part.querySelector("details[open]") !== null || (part.contains(document.activeElement) && part.querySelector("form") !== null);

  const replace = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (other === null || isInUse(part)) continue;
      // What is being followed follows itself, until there is an end of it.
      if (part.querySelector("pre[data-output]") !== null && other.querySelector("pre[data-output]") !== null) continue;
      localise(other);
      if (part.innerHTML === other.innerHTML) continue;
      const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      part.replaceChildren(...document.adoptNode(other).childNodes);
      if (focused !== null) part.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
    }
    ahead = Date.now() - Date.parse(fresh.body.dataset.now);
    count();
  };

  const refresh = async () => {
    if (underWay) {
      again = true;
      return;
    }
    underWay = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.ok) {
        stale.hidden = true;
        replace(fresh);
      } else {
        const why = fresh.querySelector("main h1")?.textContent ?? `the server says ${answer.status}`;
        stale.textContent = `${why}. What is shown may be out of date.`;
        stale.hidden = false;
      }
    } catch {
      stale.textContent = "The dashboard does not answer. What is shown may be out of date.";
      stale.hidden = false;
    }
    underWay = false;
    if (again) {
      again = false;
      refresh();
    }
  };

  /// What a run that goes on in this very process has written since: asked for once a second, of the process alone.
  const follow = async () => {
    const output = document.querySelector("pre[data-output]");
    if (output === null || document.hidden) return;
    try {
      const known = output.dataset.tag;
      const answer = await fetch(output.dataset.output, { cache: "no-store", headers: known ? { "if-none-match": known } : {} });
      if (answer.status !== 200) return;
      const text = await answer.text();
      // Whoever has scrolled up reads; whoever is at the end stays there.
      const isAtEnd = known === undefined || output.scrollHeight - output.scrollTop - output.clientHeight < 40;
      output.dataset.tag = answer.headers.get("etag") ?? "";
      set(output, text);
      if (isAtEnd) output.scrollTop = output.scrollHeight;
      const nothing = output.parentElement.querySelector("[data-nothing]");
      if (nothing !== null) nothing.hidden = text !== "";
    } catch {
      // The stream of changes says so when the dashboard does not answer.
    }
  };
  setInterval(follow, 1000);

  const say = (isOn) => {
    live.hidden = false;
    live.classList.toggle("on", isOn);
    set(live, isOn ? "live" : "connecting");
  };
  const events = new EventSource(`${page.events}?seen=${encodeURIComponent(page.seen ?? "")}`);
  let silence;
  events.addEventListener("open", () => {
    clearTimeout(silence);
    say(true);
  });
  events.addEventListener("error", () => {
    // A stream ends now and then, and is opened anew within a second: no reason to flicker.
    clearTimeout(silence);
    silence = setTimeout(() => say(false), 3000);
  });
  events.addEventListener("change", (event) => {
    const { jobs } = JSON.parse(event.data);
    if (page.still !== undefined) return;
    if (page.job === undefined || jobs.length === 0 || jobs.includes(page.job)) refresh();
  });
  addEventListener("pagehide", () => events.close());
})();
