import type { Child } from "hono/jsx";
import { raw } from "hono/html";
import { FUNDING_HOURS, lineOf } from "../alerts/grammar";
import type { DrawnHistory } from "../alerts/observations";
import type { Condition } from "../alerts/tables";
import { bigUsd, percent, shortUsd, signed, typeset } from "../lib/text/numbers";
import { date, dateTime, DAY, MINUTE } from "../lib/time";
import type { PublicSignal } from "../signals/shapes";
import { Chart, type Frame, type Point } from "./chart";
import type { DrawnAlert, DrawnSignal, DrawnWeek } from "./data";
import { money, sourceNames, textOf } from "./parts";
import { Levels } from "./signal";
import { CHART_STYLE, DARK_COLOURS } from "./style";

/**
 * Pictures for the messenger: a card twice as wide as high, because messengers show pictures over a phone's whole width.
 * It has a dark ground of its own, so it looks the same in a dark and in a light chat. No word is smaller than 24 of its
 * 1,000 pixels across, which a phone shows at the size of a caption.
 */

export const WIDTH = 1_000;
export const HEIGHT = 500;
/** The space between a word or a mark and the edge. */
const MARGIN = 36;
/** How many letters fit below a card. */
const FOOT = 66;
/** The part of a card between its head and its foot. */
const BODY = { top: 92, bottom: 442 };
const GAP = 20;
const FONT = 24;

const STYLE = coloured(`
text { font-family: Inter; font-size: ${FONT}px; fill: var(--ink); }
.ground { fill: var(--raised); } .edge { fill: var(--accent); }
.title { font-size: 36px; font-weight: 600; } .figure { font-size: 40px; font-weight: 600; }
.strong { font-size: 28px; font-weight: 600; } .soft { fill: var(--soft); } .right { text-anchor: end; }
.up { fill: var(--up); } .down { fill: var(--down); } .flat { fill: var(--even); }
${CHART_STYLE}
.chart .path { stroke-width: 3px; } .level { stroke-width: 2.5px; } .reach { stroke-width: 5px; }
`);

/** The renderer does not know CSS variables, so their colours take their place. */
function coloured(style: string): string {
  return style.replace(/var\(--([a-z-]+)\)/g, (_, name: string) => DARK_COLOURS[name] ?? "none");
}

type Card = {
  /** A few words. */
  title: string;
  /** What stands opposite the title. */
  aside: string;
  /** Whose figures these are. */
  source: string;
  /** The host where there is more. */
  site: string;
};

/** A card's SVG. */
function svgOf({ title, aside, source, site }: Card, body: Child): string {
  const written = textOf(
    <svg xmlns="http://www.w3.org/2000/svg" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
      <style>{raw(STYLE)}</style>
      <rect class="ground" width={WIDTH} height={HEIGHT} />
      <rect class="edge" width={WIDTH} height="6" />
      {body}
      <Words kind="title" y={62} say={title} />
      <Words kind="soft right" x={WIDTH - MARGIN} y={60} say={aside} />
      <Words kind="soft" y={478} say={source} />
      {source.length + site.length <= FOOT && (
        <Words kind="soft right" x={WIDTH - MARGIN} y={478} say={site} />
      )}
    </svg>,
  );
  return written.replace(/(?<=<text[^>]*)>[^<>]+</g, typeset);
}

function Words({ kind = "", x = MARGIN, y, say }: { kind?: string; x?: number; y: number; say: string }) {
  return (
    <text class={kind} x={x} y={y}>
      {say}
    </text>
  );
}

/** The place of one of several rows between head and foot, beside words of a width, and its gutters. */
function rowOf(
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

const pointsOf = (prices: readonly { at: string; priceUsd: number }[]): Point[] =>
  prices.map(({ at, priceUsd }) => ({ at: Date.parse(at), value: priceUsd }));

const SIDES = { BUY: "up", SELL: "down", HOLD: "flat" } as const;

/** The day's signals: the price of the day before each, and its levels for as long as it is open. */
export function signalsPicture(signals: readonly DrawnSignal[], site: string): string {
  const issued = Math.max(...signals.map(({ signal }) => Date.parse(signal.generatedAt)));
  const prices = signals.flatMap(({ path, before, issued: { source } }) => [...before, ...path, { source }]);
  const card = {
    title: signals.length === 1 ? "Trading signal" : "Trading signals",
    aside: dateTime(issued),
    source: `Prices by ${sourceNames(prices)}`,
    site,
  };
  return svgOf(
    card,
    signals.map(({ signal, path, before }, index) => {
      const frame = rowOf([index, signals.length], 250, { left: 0, right: 190 });
      const window = { from: Date.parse(signal.generatedAt) - DAY, to: Date.parse(signal.expiresAt) };
      const start = path[0] === undefined ? Infinity : Date.parse(path[0].at);
      const earlier = before.filter(({ at }) => Date.parse(at) < start);
      return (
        <>
          <SignalWords signal={signal} top={frame.y} />
          <Levels signal={signal} points={pointsOf([...earlier, ...path])} window={window} frame={frame} />
        </>
      );
    }),
  );
}

function SignalWords({ signal, top }: { signal: PublicSignal; top: number }) {
  const { token, signal: side, entry, confidence, breakEvenPercent } = signal;
  const needed = breakEvenPercent === null ? "no position" : `${breakEvenPercent.toFixed(0)} % needed`;
  return (
    <>
      <Words kind="figure" y={top + 34} say={token} />
      <Way kind={SIDES[side]} x={MARGIN + 104} y={top + 33} />
      <Words kind={`strong ${SIDES[side]}`} x={MARGIN + 136} y={top + 33} say={side} />
      <Words y={top + 76} say={money(entry)} />
      <Words kind="soft" y={top + 110} say={`${confidence} % stated,`} />
      <Words kind="soft" y={top + 140} say={needed} />
    </>
  );
}

/** ▲, ▼ or ■ as a shape, because the font has only letters. */
function Way({ kind, x, y }: { kind: "up" | "down" | "flat"; x: number; y: number }) {
  const shapes = {
    up: `M${x} ${y}h24l-12 -22z`,
    down: `M${x} ${y - 22}h24l-12 22z`,
    flat: `M${x} ${y}h22v-22h-22z`,
  };
  return <path class={kind} d={shapes[kind]} />;
}

/** A week's signals on the path of each token's price: from stop to first target, with the entry. */
export function weekPicture({ week, tokens }: DrawnWeek, site: string): string {
  const card = {
    title: "The week's signals",
    aside: `Week of ${date(Date.parse(week))}, after costs`,
    source: `Prices by ${sourceNames(tokens.flatMap(({ closes }) => closes))}`,
    site,
  };
  return svgOf(
    card,
    tokens.map(({ token, signals, closes }, index) => {
      const frame = rowOf([index, tokens.length], 210, { left: 130, right: 6 });
      const points = pointsOf(closes);
      const times = [
        ...points.map(({ at }) => at),
        ...signals.map(({ generatedAt }) => Date.parse(generatedAt)),
      ];
      return (
        <>
          <WeekWords token={token} signals={signals} top={frame.y} />
          <Chart
            id={`week-${token}`}
            title={token}
            says=""
            from={Math.min(...times)}
            to={Math.max(...times)}
            axis={(value) => `$${shortUsd(value)}`}
            lines={[{ kind: "", points }]}
            reaches={signals.flatMap(({ generatedAt, tp1, sl, status }) =>
              tp1 === null || sl === null
                ? []
                : [
                    {
                      kind: status.toLowerCase(),
                      at: Date.parse(generatedAt),
                      low: Math.min(tp1, sl),
                      high: Math.max(tp1, sl),
                    },
                  ],
            )}
            dots={signals.map(({ generatedAt, entry, status }) => ({
              kind: status.toLowerCase(),
              at: Date.parse(generatedAt),
              value: entry,
            }))}
            frame={frame}
          />
        </>
      );
    }),
  );
}

function WeekWords({
  token,
  signals,
  top,
}: {
  token: string;
  signals: readonly PublicSignal[];
  top: number;
}) {
  const count = (wanted: PublicSignal["status"]) => signals.filter(({ status }) => status === wanted).length;
  const results = signals.flatMap(({ afterCostsPercent: one }) => (typeof one === "number" ? [one] : []));
  const sum = results.reduce((total, one) => total + one, 0);
  const kind = results.length === 0 || sum === 0 ? "flat" : sum > 0 ? "up" : "down";
  return (
    <>
      <Words kind="figure" y={top + 34} say={token} />
      <Words kind={`strong ${kind}`} y={top + 76} say={results.length === 0 ? "no result" : signed(sum)} />
      <Words kind="soft" y={top + 110} say={`${count("WIN")} won, ${count("LOSS")} lost`} />
      <Words kind="soft" y={top + 140} say={`${count("EXPIRED")} expired`} />
    </>
  );
}

const DAYS = 7;

/** A week of the value that an alert watches, its level, and when it would have fired. */
export function alertPicture({ condition, now, path, fired, level }: DrawnAlert, site: string): string {
  const line = lineOf(condition, "$");
  const isEvents = condition.kind === "flow";
  // Rates are stored per hour, and shown for the hours that exchanges quote them for.
  const hours = condition.kind === "funding" ? FUNDING_HOURS : 1;
  const from = now - DAYS * DAY;
  const inUnit = (values: DrawnHistory["path"]): Point[] =>
    values.map(({ at, value }) => ({ at: Math.max(at, from), value: value * hours }));
  const points = inUnit(path);
  const last = points.at(-1);
  const written = writtenFor(condition);
  const card = {
    title: line.charAt(0).toUpperCase() + line.slice(1),
    aside: `7 days until ${dateTime(now)}`,
    source: isEvents ? "Movements measured on Base" : `By ${sourceNames(path)}`,
    site,
  };
  return svgOf(
    card,
    <Chart
      id="alert"
      title={card.title}
      says=""
      from={from}
      to={now + 10 * MINUTE}
      axis={written}
      lines={isEvents ? [] : [{ kind: "", points }]}
      levels={[{ kind: "target", value: level * hours, name: written(level * hours) }]}
      names={
        last === undefined || isEvents ? [] : [{ kind: "", value: last.value, words: written(last.value) }]
      }
      dots={[
        ...(isEvents ? points.map((one) => ({ kind: "", ...one })) : []),
        ...inUnit(fired).map((one) => ({ kind: "up", ...one })),
      ]}
      frame={rowOf([0, 1], 0, { left: 140, right: 150 })}
    />,
  );
}

function writtenFor({ kind }: Condition): (value: number) => string {
  if (kind === "change") return (value) => signed(value);
  if (kind === "funding") return (value) => percent(Number(value.toPrecision(4)));
  return kind === "flow" ? bigUsd : (value) => `$${shortUsd(value)}`;
}
