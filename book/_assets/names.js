// Names for what the theme leaves without one, or names otherwise than it reads: for screen readers.
(() => {
  "use strict";
  const start = () => {
    for (const fold of document.querySelectorAll(".bd-sidebar-primary summary")) {
      const above = fold.closest("li")?.querySelector("a");
      fold.setAttribute("aria-label", `Pages below ${above?.textContent.trim() ?? "this one"}`);
    }
    // its words, "Search" and the keys, are its name
    for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
    // the icons have titles, which are not what the button says
    const quiet = (button) => {
      for (const icon of button.querySelectorAll("svg:not([aria-hidden])")) {
        icon.querySelector("title")?.remove();
        icon.removeAttribute("aria-labelledby");
        icon.setAttribute("aria-hidden", "true");
      }
    };
    for (const button of document.querySelectorAll(".theme-switch-button")) {
      quiet(button);
      new MutationObserver(() => quiet(button)).observe(button, { childList: true, subtree: true });
    }
    // what is moved in its box, on narrow screens, is moved by keys too
    const reach = () => {
      for (const box of document.querySelectorAll(".dplit-wide, .dplit-scroll, .pst-scrollable-table-container, div.math")) {
        if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).display !== "inline") box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
    };
    reach();
    window.addEventListener("resize", reach);
    const home = document.querySelector(".sidebar-primary-items__start .navbar-brand")?.parentElement;
    home?.setAttribute("role", "navigation");
    home?.setAttribute("aria-label", "Front page");
  };
  if (document.readyState === "complete") start();
  else window.addEventListener("load", start);
})();
