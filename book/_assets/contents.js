// The contents beside a page mark the section that is being read. The theme marks one only while its
// heading passes by, so that a jump into the middle of a section would leave it unmarked.
(() => {
  "use strict";
  const LINE = 100; // pixels below the top of the window: what starts above is being read
  const start = () => {
    const entries = [...document.querySelectorAll("#pst-page-toc-nav .toc-entry")];
    const links = entries.map((entry) => entry.querySelector("a"));
    const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    if (links.length === 0) return;
    const mark = () => {
      const root = document.documentElement;
      // the last sections may be too short to reach the top: there the theme marks what was clicked
      if (window.scrollY > 0 && window.scrollY + window.innerHeight >= root.scrollHeight - 2) return;
      const read = links[places.findLastIndex((place) => place?.getBoundingClientRect().top <= LINE)];
      for (const link of links) {
        link.classList.toggle("active", link === read);
        if (link === read) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      for (const entry of entries) entry.classList.toggle("active", entry.contains(read ?? null));
    };
    let waiting = false;
    // after the frame, so that the theme has had its say
    const soon = () => {
      if (waiting) return;
      waiting = true;
      window.requestAnimationFrame(() => window.setTimeout(() => { waiting = false; mark(); }));
    };
    for (const event of ["scroll", "resize", "load", "hashchange"]) window.addEventListener(event, soon);
    soon();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
