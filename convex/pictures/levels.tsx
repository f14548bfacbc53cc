import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { formatMoney, formatShortUsd } from "../lib/text/numbers";
import { HOUR, toIso } from "../lib/time";
import type { PricePoint } from "../market/views";
import { toPublicSignal } from "../signals/record";
import { SIGNAL_TOKENS, type Token } from "../signals/rules";
import type { PublicSignal } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { Chart, type Frame, type Point } from "./chart";

/** A signal's levels on the path of the price, on pages and in pictures. */

export type SignalData = {
  signal: PublicSignal;
  /** The measured price at issue. */
  issued: Omit<PricePoint, "at">;
  /** From some time before the signal until an hour after its end, oldest first. */
  path: PricePoint[];
};

/**
 * @param id `BTC-2026-11-20`, in any case.
 * @param before The length of the price's path before the signal, in ms.
 * @throws AppError `not_found`
 */
export async function readSignal(ctx: ActionCtx, id: string, before = HOUR): Promise<SignalData> {
  const [, symbol, day] = /^([A-Z]+)-(\d{4}-\d{2}-\d{2})$/.exec(id.toUpperCase()) ?? [];
  const token = SIGNAL_TOKENS.find((one) => one === symbol);
  const { signals } =
    day === undefined ? { signals: [] } : await ctx.runQuery(internal.signals.history.getDay, { day });
  const row = signals.find((one) => one.token === token);
  if (row === undefined)
    throw new AppError("not_found", `There is no signal ${id}: /record lists all signals`);
  return addPath(ctx, row, before);
}

/** The newest signal of each of the tokens that has one. */
export async function readNewestSignals(ctx: ActionCtx, tokens: Token[]): Promise<SignalData[]> {
  const rows = await ctx.runQuery(internal.signals.history.readLatestSignals, { tokens });
  return Promise.all(rows.map((row) => addPath(ctx, row, HOUR)));
}

async function addPath(ctx: ActionCtx, row: Signal, before: number): Promise<SignalData> {
  const points = await ctx.runQuery(internal.market.samples.getPricePath, {
    token: row.token,
    from: row.generatedAt - before,
    to: (row.closedAt ?? row.expiresAt) + HOUR,
  });
  return {
    signal: toPublicSignal(row),
    issued: { priceUsd: row.price.usd, source: row.price.source },
    path: points.map(({ at, ...point }) => ({ at: toIso(at), ...point })),
  };
}

/** @param window Epoch ms. @param frame Of a picture. */
type Drawn = {
  signal: PublicSignal;
  points: readonly Point[];
  window: { from: number; to: number };
  frame?: Frame;
};

/** A signal's levels from its issue to its end, on the path of the price. */
export function LevelsChart({ signal, points, window, frame }: Drawn) {
  const { id, token, entry, tp1, tp2, sl, generatedAt, expiresAt, closedAt, exitPrice, status } = signal;
  const [from, to] = [Date.parse(generatedAt), Date.parse(closedAt ?? expiresAt)];
  const levels = [
    ["Entry", entry, "entry"],
    ["TP2", tp2, "target"],
    ["TP1", tp1, "target"],
    ["SL", sl, "stop"],
  ] as const;
  const drawnLevels = levels.flatMap(([name, value, kind]) =>
    value === null ? [] : [{ kind, value, from, to, name: `${name} $${formatShortUsd(value)}` }],
  );
  const band = (kind: string, value: number | null) =>
    value === null ? [] : [{ kind, low: Math.min(value, entry), high: Math.max(value, entry), from, to }];
  const inWindow = points.filter(({ at }) => at >= window.from && at <= window.to);
  const last = inWindow.at(-1);
  return (
    <Chart
      id={`levels-${id}`}
      title={`${token} from the signal to its end, in USD`}
      says={`${drawnLevels.map(({ name }) => name).join(", ")}. Last price shown: ${last === undefined ? "none" : formatMoney(last.value)}.`}
      from={window.from}
      to={window.to}
      {...(frame === undefined
        ? {
            size: "levels" as const,
            unit: "$" as const,
            axis: (value: number) => `$${formatShortUsd(value)}`,
          }
        : { frame })}
      bands={[...band("gain far", tp2), ...band("gain", tp1), ...band("risk", sl)]}
      lines={[{ kind: "", points: inWindow }]}
      levels={drawnLevels}
      dots={[
        { kind: "pending", at: from, value: entry },
        ...(closedAt !== undefined && typeof exitPrice === "number"
          ? [{ kind: status.toLowerCase(), at: to, value: exitPrice }]
          : []),
      ]}
    />
  );
}
