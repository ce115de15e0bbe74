// Explorable figures: the sliders stand where the picture was, which stays for print and for readers
// without scripts. The drawing library lies beside this file and is loaded only where it is needed.
(() => {
  "use strict";
  const library = new URL("vega.js", document.currentScript.src).href;

  const load = () => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = library;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${library} is missing`));
    document.head.append(script);
  });
  const draw = async (source) => {
    const name = source.dataset.explore;
    const picture = document.getElementById(name)?.querySelector("img");
    if (!picture) return;
    const spec = JSON.parse(source.textContent);
    const place = document.createElement("div");
    place.id = `${name}-live`;
    place.className = "dplit-live";
    const chart = place.appendChild(document.createElement("div"));
    const sliders = place.appendChild(document.createElement("div"));
    picture.before(place);
    // one panel fits the line on a narrow screen: labels keep their size, the axes get shorter
    for (const panel of [spec, ...(spec.vconcat ?? [])])
      if (typeof panel.width === "number") panel.width = Math.min(panel.width, chart.clientWidth - 70);
    await window.vegaEmbed(chart, spec, { actions: false, bind: sliders, renderer: "svg" });
    picture.classList.add("dplit-picture");
  };
  const start = async () => {
    const sources = [...document.querySelectorAll("script[data-explore]")];
    if (sources.length === 0) return;
    await load();
    await Promise.all(sources.map(draw));
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
