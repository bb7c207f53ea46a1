"use strict";
// The search, the list of versions, and what the keyboard needs.
(() => {
  const { root, version } = document.currentScript.dataset;
  const MOST = 12, AROUND = 70, BEGINS = [" ", "-", "_", ".", "/", "("];
  const input = document.querySelector(".search input"), box = document.getElementById("found");

  const make = (tag, text, parent) => {
    const made = document.createElement(tag);
    made.textContent = text;
    parent?.append(made);
    return made;
  };

  // Each section with all words; those with a word in a heading first.
  const find = (words) => {
    const found = [];
    for (const [address, title, sections] of window.siteIndex)
      for (const [anchor, heading, text] of sections) {
        const places = [heading, title, text].map((each) => ` ${each.toLowerCase()}`);
        if (!words.every((word) => places.some((place) => place.includes(word)))) continue;
        const begins = (place, word) => BEGINS.some((before) => place.includes(before + word));
        const worth = (word) => [9, 2, 3].reduce((sum, most, index) => sum + (begins(places[index], word) ? most : 0), 0);
        found.push({ address, title, anchor, heading, text, worth: words.reduce((sum, word) => sum + worth(word), 0) });
      }
    return found.sort((one, other) => other.worth - one.worth);
  };

  // The text around the first word, with all words marked.
  const excerpt = (text, words) => {
    const at = words.map((word) => text.toLowerCase().indexOf(word)).filter((each) => each >= 0);
    const begin = at.length ? Math.max(0, Math.min(...at) - AROUND) : 0;
    // Whole words alone.
    const part = `${begin ? "" : " "}${text.slice(begin, begin + 2.5 * AROUND)}`.replace(/^\S*\s|\s\S*$/g, "");
    const line = document.createElement("span");
    const pattern = new RegExp(`(${words.map((each) => each.replace(/[^\w\s]/g, "\\$&")).join("|")})`, "i");
    part.split(pattern).forEach((each, index) => make(index % 2 ? "mark" : "span", each, line));
    return line;
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    box.replaceChildren();
    box.hidden = !words.length || !window.siteIndex;
    if (box.hidden) return;
    const found = find(words);
    const count = make("p", found.length > MOST ? `${MOST} of ${found.length} sections` : `${found.length} found`, box);
    count.setAttribute("role", "status");
    for (const one of found.slice(0, MOST)) {
      const link = make("a", "", box);
      link.href = `${root}${one.address}#${one.anchor}`;
      make("b", one.heading === one.title ? one.title : `${one.title}: ${one.heading}`, link);
      link.append(excerpt(one.text, words));
    }
  };

  const close = () => { box.hidden = true; };
  const load = () => {
    if (document.getElementById("index")) return;
    const script = make("script", "", document.head);
    script.id = "index";
    script.onload = show;
    script.src = `${root}search.js`;
  };

  input.hidden = false;
  input.addEventListener("focus", load);
  input.addEventListener("input", show);
  box.addEventListener("click", close);
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) { input.focus(); event.preventDefault(); }
    if (!document.activeElement.closest(".search")) return;
    const stops = [input, ...box.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
    if (event.key === "Escape") { close(); input.focus(); }
    if (event.key === "Enter" && at === 0 && !box.hidden && stops[1]) stops[1].click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !box.hidden && stops[at + step]) { stops[at + step].focus(); event.preventDefault(); }
  });

  // Other versions, where there are any.
  const known = window.siteVersions ?? [], link = document.querySelector(".version");
  if (known.length > 1) {
    const select = document.createElement("select");
    known.forEach((each) => select.append(new Option(each, each, false, each === version)));
    select.setAttribute("aria-label", "Version");
    select.className = "version";
    select.addEventListener("change", () => location.assign(`${root}../${select.value}/index.html`));
    link.replaceWith(select);
  }

  // The navigation shows where it is, and what scrolls can have the focus.
  const current = document.querySelector(".pages [aria-current]"), nav = document.querySelector(".pages");
  if (current) nav.scrollTop = current.offsetTop - nav.clientHeight / 2;
  for (const each of document.querySelectorAll("pre, .table, figure")) if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
})();
