/**
 * The pages' only script, which adds to what is readable without it: moments in the reader's own zone, the figures under the
 * pointer in a chart, and, every five minutes while somebody looks, the newest prices of the same page. Every page has all of it.
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
