import { formatMoney, formatShortUsd, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { DAY } from "../lib/time";
import type { PublicPrices } from "../market/views";
import { subtractCosts, type Token } from "../signals/rules";
import type { Signal } from "../signals/tables";
import type { Worth } from "../wallets/past/looks";
import { getWay } from "./card";
import { Chart, isDrawn, toPoints, type Frame, type Point } from "./chart";

/** Charts of one course over time, on pages and in pictures: a price's day, a wallet's worth, and the record's curves. */

/** A token's price, as `market/views` reads it. */
export type TokenPrice = NonNullable<PublicPrices["prices"]["BTC"]>;

type Drawn = { token: string; price: TokenPrice; frame?: Frame };

/** A price's course over the day of its change, whose sign it takes; nothing for fewer than two prices. */
export function CourseChart({ token, price, frame }: Drawn) {
  const { change24hPercent: change, priceUsd, observedAt, closes } = price;
  const from = Date.parse(observedAt) - DAY;
  const dayAgo = change === null ? [] : [{ at: from, value: priceUsd / (1 + change / 100) }];
  const points = [
    ...dayAgo,
    ...toPoints(closes).filter(({ at }) => at > from && at < Date.parse(observedAt)),
    { at: Date.parse(observedAt), value: priceUsd },
  ];
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || !isDrawn(points)) return null;
  const values = points.map(({ value }) => value);
  const moved = change ?? last.value - first.value;
  const way = getWay(moved);
  return (
    <Chart
      id={`course-${token}`}
      size="spark"
      title={`${token} in USD, hour by hour`}
      says={`From ${formatMoney(first.value)} to ${formatMoney(last.value)}; lowest ${formatMoney(Math.min(...values))}, highest ${formatMoney(Math.max(...values))}.`}
      from={first.at}
      to={last.at}
      levels={[{ kind: "zero", value: first.value }]}
      lines={[{ kind: way, points, isFilled: true }]}
      dots={[{ kind: way, ...last }]}
      unit="$"
      frame={frame}
    />
  );
}

/** A wallet's worth over time beside what was paid in less what was taken out (dashed), on a page or in a picture. */
export function WorthChart({ worths, frame }: { worths: readonly Worth[]; frame?: Frame }) {
  const [first, last] = [worths[0], worths.at(-1)];
  if (first === undefined || last === undefined) return null;
  const pointsOf = (of: "value" | "paidIn") => worths.map((one) => ({ at: one.at, value: one[of] }));
  const [from, to] = [first.at, last.at];
  const axis = (value: number) => `$${formatShortUsd(value)}`;
  return (
    <Chart
      id="worth"
      title="Worth of the wallet over time"
      says={`${formatMoney(last.value)} now; paid in less taken out ${formatMoney(last.paidIn)}.`}
      from={from}
      to={to}
      axis={axis}
      levels={[
        {
          kind: last.value < last.paidIn ? "down" : "up",
          value: last.value,
          name: axis(last.value),
          from: to,
        },
        { kind: "held", value: last.paidIn, name: axis(last.paidIn), from: to },
      ]}
      lines={[
        { kind: "held", points: pointsOf("paidIn"), isStepped: true },
        { kind: "main", points: pointsOf("value") },
      ]}
      frame={frame}
    />
  );
}

/**
 * In percent: the running sum of the results after costs, from nothing at the first signal, and the tokens bought at their
 * first signal and held. `trades`: how many results there are.
 */
export type TwoCurves = { signals: Point[]; held: Point[]; trades: number };

export function buildCurves(all: readonly Signal[]): TwoCurves {
  const bought = new Map<Token, number>();
  const worth = new Map<Token, number>();
  // Closed signals only, like the sentence above: the entry of an open signal has no result yet.
  const held = all
    .flatMap(({ token, entry, generatedAt, closedAt, exitPrice }) =>
      closedAt === undefined
        ? []
        : [
            { token, price: entry, at: generatedAt },
            ...(exitPrice == null ? [] : [{ token, price: exitPrice, at: closedAt }]),
          ],
    )
    .toSorted((a, b) => a.at - b.at)
    .map(({ token, price, at }) => {
      const first = bought.get(token) ?? price;
      bought.set(token, first);
      worth.set(token, 100 * (price / first - 1));
      const changes = [...worth.values()];
      return { at, value: changes.reduce((sum, one) => sum + one, 0) / changes.length };
    });
  let value = 0;
  const ended = all
    .toSorted((a, b) => (a.closedAt ?? 0) - (b.closedAt ?? 0))
    .flatMap(({ closedAt, pnlPercent, costBps }) => {
      if (closedAt === undefined || typeof pnlPercent !== "number") return [];
      value += subtractCosts(pnlPercent, costBps);
      return [{ at: closedAt, value }];
    });
  const begun = ended.length === 0 ? [] : held.slice(0, 1).map(({ at }) => ({ at, value: 0 }));
  return { signals: thinPoints([...begun, ...ended]), held: thinPoints(held), trades: ended.length };
}

/** The most points of a line, since a page is small. */
const DRAWN_POINTS = 400;

function thinPoints(points: readonly Point[]): Point[] {
  const every = Math.ceil(points.length / DRAWN_POINTS);
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

/** The running sum of the results, against buying and holding. A sum changes only with a trade's end, so it is drawn in steps. */
export function CurvesChart({
  curves: { signals, held, trades },
  frame,
}: {
  curves: TwoCurves;
  frame?: Frame;
}) {
  const times = [...signals, ...held].map(({ at }) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [sum, kept] = [signals.at(-1)?.value ?? 0, held.at(-1)?.value ?? 0];
  return (
    <Chart
      id="curve"
      title="Results after costs, added up, against buying and holding, in percent"
      says={`After ${formatCount(trades, "trade")}: signals ${formatSignedPercent(sum)}, bought and held ${formatSignedPercent(kept)}.`}
      from={from}
      to={to}
      axis={(value) => formatSignedPercent(value, Number.isInteger(value) ? 0 : 1)}
      levels={[
        { kind: "zero", value: 0 },
        { kind: sum >= 0 ? "up" : "down", value: sum, name: formatSignedPercent(sum), from: to },
        { kind: "held", value: kept, name: formatSignedPercent(kept), from: to },
      ]}
      lines={[
        { kind: "held", points: held },
        { kind: "main", points: signals, isStepped: true },
      ]}
      unit=" %"
      frame={frame}
    />
  );
}
