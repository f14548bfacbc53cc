import type { Child } from "hono/jsx";
import type { JSX } from "hono/jsx/jsx-runtime";
import { raw } from "hono/html";
import { encode } from "uqr";
import { typeset } from "../lib/text/numbers";
import type { Frame } from "./chart";
import { CHART_STYLE, DARK } from "./colours";

/**
 * Pictures for the messenger: a card twice as wide as high, because messengers show pictures over a phone's whole width.
 * It has a dark ground of its own, so it looks the same in a dark and in a light chat. No word is smaller than 24 of its
 * 1,000 pixels across, which a phone shows at the size of a caption.
 */

export const WIDTH = 1_000;
export const HEIGHT = 500;
/** The space between a word or a mark and the edge. */
export const MARGIN = 36;
/** The most characters below a card. */
const FOOT = 66;
/** The part of a card between its head and its foot. */
export const BODY = { top: 92, bottom: 442 };
const GAP = 20;
const FONT = 24;

const STYLE = inlineColours(`
text { font-family: Inter; font-size: ${FONT}px; fill: var(--ink); }
.ground { fill: var(--raised); } .edge { fill: var(--accent); }
.title { font-size: 36px; font-weight: 600; } .figure { font-size: 40px; font-weight: 600; }
.large { font-size: 72px; font-weight: 600; } .strong { font-size: 28px; font-weight: 600; } .soft { fill: var(--soft); } .right { text-anchor: end; }
.up { fill: var(--up); } .down { fill: var(--down); } .flat { fill: var(--even); }
${CHART_STYLE}
.chart .path { stroke-width: 3px; } .level { stroke-width: 2.5px; }
`);

/** The renderer does not know CSS variables, so their colours take their place. */
function inlineColours(style: string): string {
  const colours: Readonly<Record<string, string>> = DARK;
  return style.replace(/var\(--([a-z-]+)\)/g, (_, name: string) => colours[name] ?? "none");
}

/** The texts of a card: `aside` opposite the title, below it the source of its figures and the site. */
type Card = { title: string; aside: string; source: string; site: string };

/** A card's SVG. */
export function renderSvg({ title, aside, source, site }: Card, body: Child): string {
  const written = renderText(
    <svg xmlns="http://www.w3.org/2000/svg" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
      <style>{raw(STYLE)}</style>
      <rect class="ground" width={WIDTH} height={HEIGHT} />
      <rect class="edge" width={WIDTH} height="6" />
      {body}
      <TextLines kind="title" y={62} text={title} />
      <TextLines kind="soft right" x={WIDTH - MARGIN} y={60} text={aside} />
      <TextLines kind="soft" y={478} text={source} />
      {source.length + site.length <= FOOT && (
        <TextLines kind="soft right" x={WIDTH - MARGIN} y={478} text={site} />
      )}
    </svg>,
  );
  return written.replace(/(<text[^<>]*)(>[^<>]+<)/g, (_, tag: string, words: string) => tag + typeset(words));
}

export function TextLines({
  kind = "",
  x = MARGIN,
  y,
  text,
}: {
  kind?: string;
  x?: number;
  y: number;
  text: string;
}) {
  return (
    <text class={kind} x={x} y={y}>
      {text}
    </text>
  );
}

/** The place of one of several rows between head and foot. @param aside The width of the words beside it. */
export function placeRow(
  [index, count]: readonly [number, number],
  aside: number,
  gutters: Pick<Frame, "left" | "right">,
): Frame {
  const height = (BODY.bottom - BODY.top - GAP * (count - 1)) / count;
  const width = WIDTH - 2 * MARGIN - aside;
  return {
    x: MARGIN + aside,
    y: BODY.top + index * (height + GAP),
    width,
    height,
    below: 42,
    size: FONT,
    ...gutters,
  };
}

/** ▲, ▼ and ■ as shapes, which the font lacks. */
const SHAPES = { up: "M0 0h24l-12 -22z", down: "M0 -22h24l-12 22z", flat: "M0 0h22v-22h-22z" };
export type Way = keyof typeof SHAPES;

export const getWay = (change: number): Way => (change > 0 ? "up" : change < 0 ? "down" : "flat");

export function Mark({ kind, x, y }: { kind: Way; x: number; y: number }) {
  return <path class={kind} d={SHAPES[kind]} transform={`translate(${x} ${y})`} />;
}

/** The markup of a component. No component here is asynchronous. */
export function renderText(written: JSX.Element): string {
  if (written instanceof Promise) throw new Error("A component is asynchronous");
  return written.toString();
}

/** A QR code of a text, black on white with its quiet zone: a reader needs both. */
export function QrCode({ text, ...place }: { text: string } & JSX.IntrinsicElements["svg"]) {
  const { data, size } = encode(text, { ecc: "M", border: 4 });
  const rows = data.map((row, y) => {
    const line = row.map((isDark) => (isDark ? "1" : "0")).join("");
    return Array.from(
      line.matchAll(/1+/g),
      ({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`,
    ).join("");
  });
  return (
    <svg viewBox={`0 0 ${size} ${size}`} {...place}>
      <rect width={size} height={size} fill="#fff" />
      <path d={rows.join("")} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
