// Filters of the index of claims. Without scripts the whole table is shown and the form stays hidden.
(() => {
  "use strict";
  const start = () => {
    const form = document.querySelector("form[data-filters]");
    if (!form) return;
    const menus = [...form.querySelectorAll("select[data-filter]")];
    const rows = [...document.querySelectorAll("tr.dplit-row")];
    const count = form.querySelector("[data-count]");
    const apply = () => {
      const wanted = menus.filter((menu) => menu.value !== "");
      let shown = 0;
      for (const row of rows) {
        row.hidden = !wanted.every((menu) => row.dataset[menu.dataset.filter] === menu.value);
        if (!row.hidden) shown += 1;
      }
      count.textContent = `${shown} of ${rows.length} claims`;
    };
    // a link such as claims.html?verdict=erratum opens the table filtered; a link to a row shows it
    const query = new URLSearchParams(window.location.search);
    for (const menu of menus) {
      const value = query.get(menu.dataset.filter);
      if (value && [...menu.options].some((option) => option.value === value)) menu.value = value;
      menu.addEventListener("change", apply);
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
