// A lesson stands where its supplement stood before: an anchor that the lesson lacks leads there.
// (sphinxext-rediraffe leads from page to page; the pages are the same, and a server never sees an anchor.)
(() => {
  "use strict";
  const lead = () => {
    const id = decodeURIComponent(window.location.hash.slice(1));
    const name = /\/chapters\/(\w+)\.html$/.exec(window.location.pathname)?.[1];
    if (!id || !name || document.getElementById(id)) return;
    const there = `${name}_supplement.html`;
    if (document.querySelector(`a[href$="${there}"]`)) window.location.replace(there + window.location.hash);
  };
  window.addEventListener("hashchange", lead);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", lead);
  else lead();
})();
