import { SPAN, type Canvas } from "../pages/charts/frame";
import { html, typesetWords, type Html, type Part } from "../pages/markup";
import { CHART_STYLE, DARK_COLOURS } from "../pages/style";

/**
 * The frame of every picture: a card twice as wide as high, because messengers show pictures over a phone's whole width.
 * It has a dark ground of its own, so it looks the same in a dark and in a light chat. No word is smaller than 24 of its
 * 1,000 pixels across, which a phone shows at the size of a caption.
 */

export const WIDTH = 1_000;
export const HEIGHT = 500;
/** The space between a word or a mark and the edge. */
export const MARGIN = 36;
/** How many letters fit below a card. */
const FOOT = 66;
/** The part of a card between its head and its foot. */
export const BODY = { top: 92, bottom: 442 };

const STYLE = coloured(`
text { font-family: Inter; font-size: 24px; fill: var(--ink); }
.ground { fill: var(--raised); } .edge { fill: var(--accent); }
.title { font-size: 36px; font-weight: 600; } .figure { font-size: 40px; font-weight: 600; }
.strong { font-size: 28px; font-weight: 600; } .soft { fill: var(--soft); } .right { text-anchor: end; }
.up { fill: var(--up); } .down { fill: var(--down); } .flat { fill: var(--even); }
.bar { fill: var(--accent); } .rail { fill: var(--line); }
${CHART_STYLE}
.path { stroke-width: 3px; } .path.beside { stroke: var(--even); stroke-width: 2.5px; } .level { stroke-width: 2.5px; }
.named.beside { fill: var(--soft); } .reach { stroke-width: 5px; } .chart text { stroke-width: 6px; }
`);

/** The renderer does not know CSS variables, so their colours take their place. */
function coloured(style: string): string {
  return style.replace(/var\(--([a-z-]+)\)/g, (_, name: string) => DARK_COLOURS[name] ?? "none");
}

/**
 * A card's SVG.
 * @param title A few words. @param aside What stands opposite the title.
 * @param source Whose figures these are, and from when. @param site The host where there is more.
 */
export function pictureOf(
  { title, aside, source, site }: { title: string; aside: string; source: string; site: string },
  body: Part,
): string {
  const ground = html`<rect class="ground" width="${WIDTH}" height="${HEIGHT}" /><rect
      class="edge"
      width="${WIDTH}"
      height="6"
    />`;
  const words = html`<text class="title" x="${MARGIN}" y="62">${title}</text
    ><text class="soft right" x="${WIDTH - MARGIN}" y="60">${aside}</text
    ><text class="soft" x="${MARGIN}" y="478">${source}</text>${
      source.length + site.length > FOOT
        ? null
        : html`<text class="soft right" x="${WIDTH - MARGIN}" y="478">${site}</text>`
    }`;
  const { text } = html`<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${WIDTH}"
    height="${HEIGHT}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
  >
    ${ground}${body}${words}
  </svg>`;
  return typesetWords(text).replace("<rect", `<style>${STYLE}</style><rect`);
}

/** Draws rows below one another between head and foot; each is told where it begins and how high it is. */
export function rows<Item>(
  items: readonly Item[],
  draw: (item: Item, row: { top: number; height: number }) => Html,
): Html[] {
  const GAP = 20;
  const height = (BODY.bottom - BODY.top - GAP * (items.length - 1)) / items.length;
  return items.map((item, index) => draw(item, { top: BODY.top + index * (height + GAP), height }));
}

type Fitted = Pick<Canvas, "values" | "begin" | "names" | "marks"> &
  Record<"above" | "below" | "apart", number>;

/** A row's canvas beside its words. @param aside The width of the words, in pixels like `above`, `below` and `apart`. */
export function canvasBeside(
  aside: number,
  { top: y, height }: { top: number; height: number },
  { above, below, apart, ...rest }: Fitted,
): Canvas {
  const inPlot = (pixels: number) => (pixels / height) * SPAN;
  return {
    place: { x: MARGIN + aside, y, width: WIDTH - 2 * MARGIN - aside, height },
    ...{ top: inPlot(above), bottom: inPlot(height - below), apart: inPlot(apart) },
    ...rest,
  };
}

/** ▲, ▼ or ■ as a shape, because the font has only letters. @param size The width in pixels. */
export function way(
  kind: "up" | "down" | "flat",
  { x, y, size }: { x: number; y: number; size: number },
): Html {
  const [half, high] = [size / 2, size * 0.9];
  const shapes = {
    up: `M${x} ${y}h${size}l${-half} ${-high}z`,
    down: `M${x} ${y - high}h${size}l${-half} ${high}z`,
    flat: `M${x} ${y}h${high}v${-high}h${-high}z`,
  };
  return html`<path class="${kind}" d="${shapes[kind]}" />`;
}
