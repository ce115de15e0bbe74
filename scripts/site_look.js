// Runs in the page that is looked at; returns what is wrong with it, one sentence per fault.
async (least) => {
  const told = [];
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "")
    + (typeof e.className === "string" && e.className ? "." + e.className.trim().split(/\s+/)[0] : "");
  if (window.MathJax && MathJax.startup) {
    await MathJax.startup.promise;
    await MathJax.startup.document.lazyTypesetAll?.(); // far from the screen none is set yet
  }
  await document.fonts.ready;
  const end = (e) => e ? e.getBoundingClientRect().right : 0;
  for (const formula of document.querySelectorAll("span.math"))
    if (end(formula.querySelector("mjx-math")) > end(formula) + 1 && getComputedStyle(formula).overflowX === "hidden")
      told.push(`maths cut off: ${short(formula.textContent)}`);
  for (const formula of document.querySelectorAll("p > span.math"))
    if (/^[,.;:!?)]/.test(formula.nextSibling?.data || ""))
      told.push(`punctuation can leave its formula: ${short(formula.parentElement.textContent)}`);
  const images = [...document.images];
  for (const image of images) {
    image.loading = "eager";
    try { await image.decode(); } catch (e) { /* seen below */ }
    const file = decodeURIComponent(image.src.split("/").pop());
    if (!image.complete || image.naturalWidth === 0) told.push(`image not decoded: ${file}`);
    const alt = (image.getAttribute("alt") || "").trim();
    if (!alt || /[\\/]|\.(svg|png|jpe?g)$/.test(alt)) told.push(`image without alt text: ${file}`);
  }
  const formulas = [...document.querySelectorAll(".math")];
  const raw = formulas.filter((f) => !f.querySelector("mjx-container"));
  for (const f of raw) told.push(`maths not rendered: ${short(f.textContent)}`);
  for (const f of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    told.push(`maths error: ${short(f.textContent)}`);
  const items = window.MathJax && MathJax.startup.document ? [...MathJax.startup.document.math] : [];
  for (const item of items) item.root.walkTree((node) => {
    const red = node.isKind("mtext") && node.attributes.get("mathcolor") === "red";
    if (red || node.isKind("merror")) told.push(`maths error: ${short(item.math)}`);
  });
  for (const e of document.querySelectorAll("summary, button, a[href]")) {
    const said = e.getAttribute("aria-label") || e.textContent || e.title || e.querySelector("img")?.alt || "";
    if (e.checkVisibility() && (!said.trim() || said === "Toggle hidden content")) told.push(`without a name: ${name(e)}`);
  }
  for (const e of document.querySelectorAll(".traceback, .output.stderr, .system-message, .problematic"))
    told.push(`error shown: ${short(e.textContent)}`);
  const skip = "code, pre, script, style, noscript, textarea, mjx-container, .math, .headerlink";
  const tex = /\$[^$\s][^$\n]*\$|\\[a-zA-Z]{2,}|\\[()[\]]|\{(ref|numref|eq|cite|glue|math|prf|doc|download)[:}]|Traceback \(most/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent || parent.closest(skip)) continue;
    words.push([walker.currentNode, parent]);
    if (tex.test(walker.currentNode.data)) told.push(`raw markup: ${short(walker.currentNode.data)}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) {
    const inside = (e) => e && (getComputedStyle(e).overflowX !== "visible" || inside(e.parentElement));
    const wide = [...document.body.querySelectorAll("*")]
      .filter((e) => !inside(e.parentElement))
      .filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1)
      .filter((e) => ![...e.children].some((c) => c.getBoundingClientRect().right > root.clientWidth + 1));
    told.push(`wider than the screen: ${root.scrollWidth} px, ${wide.slice(0, 2).map(name).join(", ")}`);
  }
  // what scrolls sideways is cut until somebody finds out: code and text never, tables on phones alone
  const clipped = (e) => !e || getComputedStyle(e).overflowX !== "visible" ? e : clipped(e.parentElement);
  for (const e of document.querySelectorAll("pre, table, figcaption, .dplit-claim, .output")) {
    const box = e.checkVisibility() && clipped(e);
    if (!box || box === root || box === document.body || box.scrollWidth <= box.clientWidth + 1) continue;
    if (/hidden|clip/.test(getComputedStyle(box).overflowX) || e.tagName === "PRE" || (e.tagName === "TABLE" && innerWidth > 1000))
      told.push(`cut off: ${name(e)} (${box.scrollWidth} of ${box.clientWidth} px), ${short(e.textContent)}`);
  }
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const memory = new Map();
  const parse = (colour) => {
    if (!memory.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      memory.set(colour, [r, g, b, a / 255]);
    }
    return memory.get(colour);
  };
  const light = ([r, g, b]) => {
    const part = [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const over = (top, base) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * base[i]).concat(1);
  const backgroundOf = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    const paper = document.documentElement.dataset.theme === "dark" ? [20, 24, 30, 1] : [255, 255, 255, 1];
    return layers.reverse().reduce((base, top) => over(top, base), paper);
  };
  for (const theme of ["light", "dark"]) {
    root.dataset.theme = theme;
    root.dataset.mode = theme;
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { transition: none !important; animation: none !important; }";
    document.head.append(style);
    const seen = new Set();
    for (const [node, parent] of words) {
      if (seen.has(parent) || !parent.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      seen.add(parent);
      const behind = backgroundOf(parent);
      const { color, fontSize, fontWeight } = getComputedStyle(parent);
      const front = over(parse(color), behind);
      const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
      const [low, high] = [light(front), light(behind)].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < (large ? least.large : least.text)) told.push(`illegible (${theme}): ${short(node.data)} (${name(parent)}, ${ratio.toFixed(1)}:1)`);
    }
    for (const image of document.querySelectorAll("main img, article img")) {
      const inverted = getComputedStyle(image).filter.includes("invert");
      if (light(backgroundOf(image)) < 0.4 && !inverted && /\.svg/.test(image.src))
        told.push(`dark lines on a dark ground (${theme}): ${image.alt.slice(0, 60)}`);
    }
  }
  return [...new Set(told)];
}
