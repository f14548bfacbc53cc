import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { CHART_STYLE, DARK, LIGHT } from "../pictures/colours";

/** The assets that every HTML page shares: icon, style, script and headers. */

export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 12l4-5 3 3 5-7' fill='none' stroke='%230a6a5f' stroke-width='2'/%3E%3C/svg%3E";

/** Colours as CSS variables: `--ink: #1f2430; …`. */
function formatVariables(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(" ");
}

/** The style of the pages, which are laid out for a glance. Phones come first; larger screens start at 48 rem. */
export const STYLE = `
:root {
  color-scheme: light dark;
  ${formatVariables(LIGHT)}
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root { ${formatVariables(DARK)} }
}
* { box-sizing: border-box; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; padding: 0.5rem 1rem; background: var(--raised); }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.55 var(--sans); }
.wide { max-width: 76rem; margin: 0 auto; padding-left: 1.25rem; padding-right: 1.25rem; }
.top { border-bottom: 1px solid var(--line); background: var(--raised); }
.top .wide { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; padding-top: 0.6rem; padding-bottom: 0.2rem; }
.brand { flex: 1 1 0; } nav { order: 1; flex-basis: 100%; }
.brand { display: inline-flex; align-items: center; gap: 0.55rem; color: var(--ink); font-weight: 650; text-decoration: none; line-height: 1.3; }
.mark { width: 1.25rem; height: 1.25rem; flex: none; fill: none; stroke: var(--accent); stroke-width: 2; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; margin: 0.15rem -0.38rem 0; padding: 0; }
nav a { display: block; padding: 0.5rem 0.38rem; color: var(--soft); text-decoration: none; font-size: 0.9rem; }
nav a:hover { color: var(--accent); }
.start, .open a { display: inline-block; padding: 0.35rem 0.9rem; border-radius: 8px; background: var(--accent); color: var(--paper); font-weight: 650; text-decoration: none; }
.open a { margin: 0.2rem 0 0.5rem; } .start:hover, .open a:hover, .start[aria-current] { text-decoration: underline; }
nav a[aria-current] { color: var(--ink); font-weight: 650; box-shadow: inset 0 -2px 0 var(--accent); }
main { padding-top: 2rem; padding-bottom: 3rem; }
h1, h2, h3 { line-height: 1.2; margin: 0; text-wrap: balance; }
h1 { font-size: clamp(1.75rem, 5vw, 2.5rem); letter-spacing: -0.02em; }
h2 { font-size: 1.3rem; letter-spacing: -0.01em; margin: 2.75rem 0 0.9rem; }
h3 { font-size: 1rem; font-weight: 650; }
h4 { font-size: 0.85rem; font-weight: 650; margin: 0.9rem 0 0.25rem; }
p { margin: 0.6rem 0; max-width: 68ch; }
.lead { font-size: 1.1rem; color: var(--soft); margin: 0.6rem 0 1.25rem; }
.small { font-size: 0.875rem; color: var(--soft); }
.soft { color: var(--soft); }
.report p { white-space: pre-line; } .cite { font-size: 0.7em; line-height: 0; color: var(--soft); } .cite a { text-decoration: none; padding: 0 0.1em; }
.empty { color: var(--soft); border: 1px dashed var(--shade); border-radius: 12px; padding: 1rem 1.1rem; margin: 1rem 0; max-width: none; }
pre { margin: 0.7rem 0; padding: 0.7rem 0.9rem; background: var(--code); border-radius: 8px; overflow-x: auto; line-height: 1.45; } pre code { overflow-wrap: normal; }
code { font-family: var(--mono); font-size: 0.86em; overflow-wrap: anywhere; }
.scan { display: none; } .scan svg { display: block; width: 9rem; border-radius: 8px; } .scan figcaption { text-align: center; }
.tip { position: fixed; z-index: 3; transform: translate(-50%, -100%); margin: 0; padding: 0.2rem 0.5rem; border-radius: 6px; background: var(--ink); color: var(--paper); font-size: 0.8rem; white-space: nowrap; pointer-events: none; } .tip:empty { display: none; }
.grid { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem; min-width: 0; }
.card > :first-child { margin-top: 0; } .card > :last-child { margin-bottom: 0; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0.25rem 1rem; }
.figure { font-size: 1.9rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1.25; font-variant-numeric: tabular-nums; margin: 0.25rem 0 0; }
.change { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.up, .bullish, .win { color: var(--up); } .down, .bearish, .loss { color: var(--down); }
.flat, .neutral, .expired, .pending { color: var(--even); }
.tag { display: inline-block; font-size: 0.8rem; font-weight: 650; line-height: 1; padding: 0.35rem 0.55rem; border-radius: 6px; background: var(--code); }
.tag.up, .tag.win { background: var(--up-soft); } .tag.down, .tag.loss { background: var(--down-soft); }
.note { border-left: 3px solid var(--accent); padding: 0.1rem 0 0.1rem 0.9rem; margin: 1rem 0; }
dl { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.3rem; margin: 0.9rem 0 0; }
dl > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.25rem; min-width: 0; }
dt { color: var(--soft); } .card h2 { font-size: 1rem; margin: 0; letter-spacing: 0; }
dd { margin: 0 0 0 auto; text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; text-wrap: balance; }
dl.facts { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; margin: 1.2rem 0; }
.facts > div { display: block; } .facts dt { font-size: 0.85rem; } .facts dd { margin: 0; text-align: left; font-size: 1.1rem; font-weight: 650; letter-spacing: -0.01em; }
dd small { color: var(--soft); margin-left: 0.5rem; } .noted { gap: 0.6rem; } .noted > div { flex-wrap: nowrap; } .noted dt { flex-shrink: 4; } .noted dd small { display: block; margin: 0; } .facts dd small { margin: 0; display: block; font-size: 0.8rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
.list { list-style: none; margin: 0; padding: 0; }
.list > li { padding: 0.8rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.list > li:first-child { border-top: 0; padding-top: 0; } .list > li:last-child { padding-bottom: 0; }
.card > :is(h3, .head) + .list { margin-top: 0.7rem; }
.scroll { overflow-x: auto; scrollbar-width: thin; } .scroll td, .scroll a, .scroll .id { white-space: nowrap; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: 0.875rem; padding-bottom: 0.5rem; }
th { text-align: left; font-weight: 600; font-size: 0.8rem; color: var(--soft); padding: 0 1rem 0.4rem 0; vertical-align: bottom; }
td, tbody th { padding: 0.5rem 1rem 0.5rem 0; border-top: 1px solid var(--line); vertical-align: top; }
tbody th { color: var(--ink); font-size: inherit; } tbody th .soft { font-weight: 400; }
.scroll td, .scroll th + th { text-align: right; } td:last-child, th:last-child { padding-right: 0; }
details { margin-top: 0.8rem; } summary { cursor: pointer; color: var(--soft); font-size: 0.9rem; }
.fold { border-top: 1px solid var(--line); margin: 0; padding: 0.6rem 0; } .fold > table { margin: 0.9rem 0; } .fold td { overflow-wrap: anywhere; } .fold small { display: block; color: var(--soft); } .fold pre { max-height: 26rem; }
details[open] > summary { margin-bottom: 0.6rem; }
form { display: flex; flex-wrap: wrap; align-items: end; gap: 0.6rem; margin: 1.25rem 0; }
label { font-size: 0.9rem; color: var(--soft); }
input { display: block; margin-top: 0.25rem; font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--soft); border-radius: 8px; padding: 0.45rem 0.7rem; width: 10rem; }
button { font: inherit; font-weight: 600; color: var(--paper); background: var(--accent); border: 1px solid var(--accent); border-radius: 8px; padding: 0.45rem 1rem; cursor: pointer; } button.stop { background: var(--need); border-color: var(--need); }
.chips { display: flex; flex-wrap: wrap; gap: 0.5rem; list-style: none; margin: 0.9rem 0; padding: 0; }
.chips a { display: block; padding: 0.35rem 0.75rem; border: 1px solid var(--line); border-radius: 99px; background: var(--raised); text-decoration: none; font-size: 0.92rem; }
.chips a[aria-current] { border-color: var(--accent); font-weight: 650; }
.report p { margin: 0.9rem 0; } .report { overflow-wrap: anywhere; }
figure { margin: 0; } figure + figure { margin-top: 1.4rem; } figure.card + .card { margin-top: 1rem; } p.head { max-width: none; } figcaption { font-size: 0.875rem; color: var(--soft); margin-top: 0.5rem; }
.chart { display: block; width: 100%; height: 15rem; padding: 0.6rem 0.4rem 1.6rem; overflow: visible; font: 400 12px var(--sans); font-variant-numeric: tabular-nums; }
.chart.valued { padding-left: 3.6rem; } .chart.labelled { padding-right: 6.9rem; } .chart.valued.labelled { padding-right: 4.3rem; }
.chart.valued.levels { padding-left: 0.6rem; padding-right: 6.9rem; } .levels .value { display: none; }
.chart.spark { height: 6rem; padding: 0.5rem 0.4rem 1.6rem; margin: 0.5rem 0; }
${CHART_STYLE}footer { padding-bottom: 3rem; color: var(--soft); font-size: 0.875rem; }
footer p { max-width: none; border-top: 1px solid var(--line); padding-top: 1.25rem; margin: 0; }
@media (max-width: 26rem) { .extra { display: none; } dl:not(.facts) small { display: block; margin: 0; } table { font-size: 0.82rem; } th, td, tbody th { padding-right: 0.4rem; } .tag { padding: 0.3rem 0.4rem; font-size: 0.72rem; } }
@media (min-width: 48rem) {
  .hero { display: flex; justify-content: space-between; align-items: start; gap: 2rem; } .scan { display: block; }
  .two { grid-template-columns: repeat(2, minmax(0, 1fr)); align-items: start; } .two .list .head { display: grid; }
  .aside { grid-template-columns: minmax(0, 1.7fr) minmax(0, 1fr); align-items: start; }
  dl.facts { grid-template-columns: repeat(4, minmax(0, 1fr)); } .facts dd { font-size: 1.3rem; }
  .top .wide { gap: 0 1.2rem; padding-top: 0.35rem; padding-bottom: 0.35rem; } nav { order: 0; flex-basis: auto; }
  nav ul { margin-top: 0; } nav a { padding: 0.5rem 0.6rem; font-size: 0.95rem; }
  main { padding-top: 3rem; }
  .chart { height: 18rem; } .chart.valued.levels { padding-left: 4rem; } .levels .value { display: inline; }
}
@media print { nav, form { display: none; } .card { break-inside: avoid; } }
`;

/**
 * The only script, the same on every page; all pages are readable without it. It shows times in the reader's zone and the
 * figures under the pointer in a chart, and fetches the page's live parts again every five minutes while it is visible.
 */
export const SCRIPT = `(() => {
const all = (query) => document.querySelectorAll(query);
const zone = new Date().toLocaleTimeString("en-GB", { timeZoneName: "short" }).split(" ").pop();
const format = (at) => new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) + " " + zone;
const tip = document.createElement("p");
tip.className = "tip";
tip.ariaHidden = true;
document.body.append(tip);
const addTip = (chart) => {
  const { range, unit } = chart.dataset;
  const [from, to, low, high] = range.split(" ").map(Number);
  const places = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(high - low))));
  chart.onpointerleave = () => (tip.textContent = "");
  chart.onpointermove = ({ clientX, clientY }) => {
    const { a, e } = chart.querySelector(".plot").getScreenCTM();
    const words = [];
    let shown;
    for (const path of chart.querySelectorAll(".path")) {
      const points = path.getAttribute("d").slice(1).split("L").map((point) => point.split(",").map(Number));
      const [at, y] = points.findLast((point) => point[0] <= (clientX - e) / a) ?? points[0];
      const value = (high - (y / 1000) * (high - low)).toLocaleString("en-US", { maximumFractionDigits: places });
      words.unshift((unit === "$" ? unit + value : value + unit) + (path.matches(".held") ? " held" : ""));
      shown = from + (at / 1000) * (to - from);
    }
    tip.textContent = format(shown) + ": " + words.join(", ");
    tip.style.left = Math.min(Math.max(clientX, 110), innerWidth - 110) + "px";
    tip.style.top = clientY - 14 + "px";
  };
};
const addAll = () => {
  all("[data-range]").forEach(addTip);
  all("time:not([title])").forEach((time) => {
    time.title = time.textContent;
    time.textContent = format(time.dateTime);
  });
};
addAll();
if (all("[data-live]").length) setInterval(async () => {
  const answer = document.hidden ? null : await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  all("[data-live]").forEach((part) => part.replaceWith(page.getElementById(part.id) ?? part));
  addAll();
}, 300000);
})();`.replace(/\n +/g, "\n");

const hashOf = (text: string) => `'sha256-${btoa(String.fromCharCode(...sha256(utf8ToBytes(text))))}'`;

/** The pages load nothing from elsewhere. Only this exact script runs, and it can connect to this service alone. */
export const HEADERS = {
  "Cache-Control": "public, max-age=60",
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
};
