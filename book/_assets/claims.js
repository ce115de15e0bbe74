// Filters of the index of claims. Without scripts the whole table is shown and the form stays hidden.
(() => {
  "use strict";
  const start = () => {
    const form = document.querySelector("form[data-filters]");
    if (!form) return;
    const menus = [...form.querySelectorAll("select[data-filter]")];
    const rows = [...document.querySelectorAll("tr.dplit-row")];
    const words = form.querySelector("input[data-words]");
    const count = form.querySelector("[data-count]");
    // what is chosen stands in the address, so that it can be sent to others
    const remember = () => {
      const query = new URLSearchParams();
      for (const menu of menus) if (menu.value) query.set(menu.dataset.filter, menu.value);
      if (words.value) query.set("words", words.value);
      const chosen = query.toString();
      const place = window.location.pathname + (chosen && `?${chosen}`) + window.location.hash;
      try { window.history.replaceState(null, "", place); } catch { /* a page from a file may not */ }
    };
    const apply = () => {
      const wanted = menus.filter((menu) => menu.value !== "");
      const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const asked = wanted.length > 0 || sought.length > 0;
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !wanted.every((menu) => row.dataset[menu.dataset.filter] === menu.value)
          || !sought.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      }
      for (const paper of document.querySelectorAll(".dplit-paper")) {
        paper.hidden = !paper.querySelector("tr.dplit-row:not([hidden])");
        for (const fold of paper.querySelectorAll("details")) {
          fold.hidden = !fold.querySelector("tr.dplit-row:not([hidden])");
          fold.open = asked && !fold.hidden;
        }
        const open = paper.querySelector(":scope > .dplit-scroll");
        if (open) open.hidden = !open.querySelector("tr.dplit-row:not([hidden])");
      }
      count.textContent = `${shown} of ${rows.length} claims`;
    };
    // a link such as claims.html?verdict=erratum opens the table filtered; a link to a row shows it
    const query = new URLSearchParams(window.location.search);
    for (const menu of menus) {
      const value = query.get(menu.dataset.filter);
      if (value && [...menu.options].some((option) => option.value === value)) menu.value = value;
      menu.addEventListener("change", () => { apply(); remember(); });
    }
    words.value = query.get("words") ?? "";
    words.addEventListener("input", () => { apply(); remember(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
    const row = document.getElementById(window.location.hash.slice(1));
    const fold = row?.closest("details");
    if (fold) { fold.open = true; row.scrollIntoView(); }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
