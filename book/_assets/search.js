// Hits of the search: a claim is named and leads to its own anchor, and what is shown of a page is
// text, without code, the words on folds, or formulas that nobody has typeset.
(() => {
  "use strict";
  const LENGTH = 240;
  const start = () => {
    if (typeof Search === "undefined") return; // on every other page
    const read = (html) => {
      const main = new DOMParser().parseFromString(html, "text/html").querySelector("[role=main]");
      for (const part of main?.querySelectorAll(".headerlink, script, style, pre, summary") ?? []) part.remove();
      for (const formula of main?.querySelectorAll(".math") ?? []) formula.replaceWith("…");
      return main;
    };
    const words = (part) => part.textContent.replace(/\s+/g, " ").trim();
    // entries of the index stand behind the anchor of their claim, or begin the block that it names
    const claimed = (entry) => {
      let place = entry;
      while (place.id.startsWith("index-")) place = place.previousElementSibling ?? place.parentElement;
      return place;
    };
    Search.makeSearchSummary = (html, keywords, anchor) => {
      const main = read(html);
      if (!main) return null;
      const summary = document.createElement("p");
      summary.className = "context";
      const entry = anchor ? main.querySelector(`[id="${CSS.escape(anchor.slice(1))}"]`) : null;
      const claim = entry?.id.startsWith("index-") ? claimed(entry) : entry;
      const title = claim && main.querySelector(`.dplit-claim[data-claim="${claim.id}" i] .dplit-title`);
      if (title) queueMicrotask(() => { // the list gets the summary first
        const link = summary.parentElement.querySelector("a");
        link.append(` > ${words(title)}`);
        link.hash = claim.id;
      });
      const block = claim?.matches("span") ? claim.parentElement : claim;
      const text = words(block ?? main);
      const lower = text.toLowerCase();
      const at = block ? 0 : [...keywords].map((word) => lower.indexOf(word.toLowerCase())).findLast((k) => k >= 0) ?? 0;
      const from = Math.max(at - LENGTH / 2, 0);
      summary.textContent = (from ? "…" : "") + text.slice(from, from + LENGTH).trim() + (from + LENGTH < text.length ? "…" : "");
      return summary;
    };
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
