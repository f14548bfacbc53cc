import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { subtractCosts, type Token } from "../signals/rules";
import type { Signal } from "../signals/tables";
import { Chart, type Frame, type Point } from "./chart";

/** The record's curves, on its page and in pictures. */

/** The curves of all signals. */
export async function readCurves(ctx: ActionCtx): Promise<TwoCurves> {
  return buildCurves(await ctx.runQuery(internal.signals.history.readAllSignals, {}));
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
      {...(frame === undefined ? {} : { frame })}
    />
  );
}
