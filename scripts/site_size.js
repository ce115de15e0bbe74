// Runs in a chapter's page, all folds as they are on arrival; returns how much of it is open.
async () => {
  if (window.MathJax && MathJax.startup) {
    await MathJax.startup.promise;
    await MathJax.startup.document.lazyTypesetAll?.(); // far from the screen none is set yet
  }
  await document.fonts.ready;
  const article = document.querySelector("article");
  const open = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const skip = "pre, script, style, mjx-container, .headerlink, .dplit-claim, .cell_input";
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent.closest(skip) || !open(parent)) continue;
    words += (walker.currentNode.data.match(/\p{L}[\p{L}\p{N}'’-]*/gu) || []).length;
  }
  const figure = [...article.querySelectorAll("figure")].find(open);
  return {
    screens: document.documentElement.scrollHeight / innerHeight,
    cells: [...article.querySelectorAll("div.cell_input")].filter(open).length,
    words,
    figure: figure ? (figure.getBoundingClientRect().top + scrollY) / innerHeight : Infinity,
  };
}
