// Formulas are set when the screen comes near them. Their fonts are fetched before, so that lines
// break once. Until it is set a formula is called by its TeX, and where formulas are few the far ones
// follow at leisure, for those who read by ear or by searching. Without scripts: nothing.
(() => {
  "use strict";
  const FEW = 400;
  const here = document.currentScript.src;
  const FONTS = { "MJXTEX": "Main-Regular", "MJXTEX-I": "Math-Italic", "MJXTEX-A": "AMS-Regular", "MJXTEX-C": "Calligraphic-Regular",
    "MJXTEX-S1": "Size1-Regular", "MJXTEX-S2": "Size2-Regular", "MJXZERO": "Zero" };
  const fetchFonts = () => {
    for (const [family, file] of Object.entries(FONTS)) {
      const place = new URL(`mathjax/output/chtml/fonts/woff-v2/MathJax_${file}.woff`, here);
      new FontFace(family, `url("${place}")`).load().then((face) => document.fonts.add(face), () => {});
    }
  };
  const nameFar = () => {
    for (const item of MathJax.startup.document.math) {
      if (!item.lazyMarker?.isConnected) continue;
      item.typesetRoot.setAttribute("role", "img"); // a formula that is set takes the place of this
      item.typesetRoot.setAttribute("aria-label", item.math.trim());
    }
  };
  const start = () => {
    const formulas = document.querySelectorAll(".bd-article span.math");
    if (!document.querySelector(".math")) return;
    fetchFonts();
    window.addEventListener("load", async () => {
      await window.MathJax?.startup?.promise;
      if (!window.MathJax?.startup?.document) return;
      nameFar();
      if (formulas.length > FEW) return;
      const later = window.requestIdleCallback ?? setTimeout;
      later(() => MathJax.startup.document.lazyTypesetAll?.());
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
