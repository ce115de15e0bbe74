// A typeset formula is a box, and browsers break lines on both sides of a box, even before a comma.
// Formula, punctuation and what else is glued to it are kept on one line. Without scripts: nothing.
// Formulas are set when the screen comes near them; where they are few the others follow at leisure,
// for those who read by ear or by searching. Until then a formula is called by its TeX.
(() => {
  "use strict";
  const OPENING = /[([{‘“]{1,2}$/;
  const CLOSING = /^(?:[,.;:!?)\]}’”%]{1,3}|-\p{L}{1,12}[,.;:)]?|\p{L}{1,3}(?=[\s,.;:)]|$))/u;

  const keep = (formula) => {
    const before = formula.previousSibling;
    const after = formula.nextSibling;
    const opening = before?.nodeType === Node.TEXT_NODE ? before.data.match(OPENING)?.[0] : undefined;
    const closing = after?.nodeType === Node.TEXT_NODE ? after.data.match(CLOSING)?.[0] : undefined;
    const number = after?.nodeType === Node.ELEMENT_NODE && after.matches(".pasted-inline, .pasted-text");
    if (!opening && !closing && !number) return;
    const line = document.createElement("span");
    line.className = "dplit-nobreak";
    formula.before(line);
    if (opening) {
      before.data = before.data.slice(0, -opening.length);
      line.append(opening);
    }
    line.append(formula);
    if (closing) {
      after.data = after.data.slice(closing.length);
      line.append(closing);
    }
    if (number) line.append(after);
  };
  const FEW = 400;
  const start = () => {
    const formulas = document.querySelectorAll(".bd-article span.math");
    formulas.forEach(keep);
    window.addEventListener("load", async () => {
      await window.MathJax?.startup?.promise;
      for (const item of window.MathJax?.startup?.document?.math ?? []) {
        if (!item.lazyMarker?.isConnected) continue;
        item.typesetRoot.setAttribute("role", "img"); // a formula that is set takes the place of this
        item.typesetRoot.setAttribute("aria-label", item.math.trim());
      }
      if (!formulas.length || formulas.length > FEW) return;
      const later = window.requestIdleCallback ?? setTimeout;
      later(() => MathJax.startup.document.lazyTypesetAll?.());
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
