import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { getSourceName } from "../figures/publicSources";
import { formatShortUsd, formatSignedPercent } from "../lib/text/numbers";
import { HOUR, toIso } from "../lib/time";
import type { PricePoint } from "../market/views";
import { SIGNAL_TOKENS } from "../signals/rules";
import type { PublicSignal } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { toPublicSignal } from "../signals/record";
import { Chart, isDrawn, toPoints, type Frame, type Point } from "./chart";
import type { Page } from "./layout";
import {
  CardSection,
  Empty,
  Ending,
  Facts,
  Moment,
  formatMoney,
  formatOrNone,
  OpenBot,
  Pager,
  Side,
  joinSourceNames,
  type Term,
} from "./parts";

/** One signal: its page, and the chart of its levels on the path of the price, which the first page and pictures show, too. */

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

export async function addPath(ctx: ActionCtx, row: Signal, before = HOUR): Promise<SignalData> {
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

export async function buildSignalPage(ctx: ActionCtx, requestedId: string): Promise<Page> {
  const data = await readSignal(ctx, requestedId);
  const { signal, issued } = data;
  const { earlier, later } = await ctx.runQuery(internal.signals.history.findNeighbours, {
    token: signal.token,
    generatedAt: Date.parse(signal.generatedAt),
  });
  const { id, token, confidence, reasoning, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const name = `${token} signal of ${id.slice(token.length + 1)}`;
  const content = (
    <>
      <h1>{name}</h1>
      <p class="lead">
        <Side side={signal.signal} /> <Ending signal={signal} />
      </p>
      <div class="grid aside">
        <div class="grid">
          <div class="card">
            <SignalFigure data={data} />
          </div>
          <CardSection id="said" title="The model's view" isPart>
            <p>“{reasoning}”</p>
            <Facts
              of={[
                ["Stated confidence", `${confidence} %`],
                ["Chance of its levels", formatShare(signal.chancePercent)],
                ["Earns its costs from", formatShare(signal.breakEvenPercent)],
                ["Model", signal.model],
              ]}
            />
          </CardSection>
        </div>
        <CardSection id="levels" title="Levels" isPart>
          <Facts
            of={[
              ["Entry", formatMoney(signal.entry)],
              ...listTargets(signal),
              ...(signal.tp1 === null ? [["Position", "none"] as const] : []),
              ["Price at issue", `${formatMoney(issued.priceUsd)}, ${getSourceName(issued.source)}`],
              ["Issued", <Moment at={generatedAt} />],
              ["Valid until", <Moment at={expiresAt} />],
              ...(closedAt === undefined ? [] : [["Closed", <Moment at={closedAt} />] as const]),
              ...(typeof exitPrice === "number" ? [["Exit", formatMoney(exitPrice)] as const] : []),
            ]}
          />
        </CardSection>
      </div>
      <p>
        Part of <a href="/record">the record</a>, which anybody can check.{" "}
        <OpenBot start="signals">Open in the bot</OpenBot>
      </p>
      <Pager back={toNeighbour(earlier)} on={toNeighbour(later)} />
    </>
  );
  return {
    title: name,
    description: `${signal.signal} at ${formatMoney(signal.entry)}, and what became of it.`,
    path: `/signals/${id}`,
    content,
    picture: id,
  };
}

const toNeighbour = (id: string | null) => (id === null ? null : { href: `/signals/${id}`, name: id });

const formatShare = (percent: number | null) =>
  formatOrNone(percent, (share) => `${share.toFixed(0)} %`, "none");

function listTargets({ entry, tp1, tp2, sl }: PublicSignal): Term[] {
  const levels = [
    ["Target 1", tp1],
    ["Target 2", tp2],
    ["Stop", sl],
  ] as const;
  return levels.flatMap(([name, price]) =>
    price === null
      ? []
      : [[name, formatMoney(price), formatSignedPercent((price / entry - 1) * 100)] as const],
  );
}

/** The chart of one signal from half an hour before its issue to its end, with the sources of its prices. */
export function SignalFigure({ data: { signal, issued, path } }: { data: SignalData }) {
  const { generatedAt, expiresAt, closedAt } = signal;
  const points = buildCourse(signal, path);
  const window = {
    from: Date.parse(generatedAt) - HOUR / 2,
    to: closedAt === undefined ? Date.parse(expiresAt) : Date.parse(closedAt) + HOUR / 2,
  };
  return (
    <figure>
      {isDrawn(points) ? (
        <LevelsChart signal={signal} points={points} window={window} />
      ) : (
        <Empty>Its chart begins with the next price, within five minutes.</Empty>
      )}
      <figcaption>
        Prices by {joinSourceNames([...path, issued])}; hours in UTC.{" "}
        {signal.tp1 === null
          ? "Without a position there is nothing to reach."
          : "Shaded: from the entry to the targets, and to the stop, while it was open."}
      </figcaption>
    </figure>
  );
}

/** The path with the record's own prices at the issue and at the end, oldest first. */
function buildCourse(
  { generatedAt, entry, closedAt, exitPrice }: PublicSignal,
  path: readonly PricePoint[],
): Point[] {
  const ended = closedAt !== undefined && typeof exitPrice === "number";
  return [
    ...toPoints(path),
    { at: Date.parse(generatedAt), value: entry },
    ...(ended ? [{ at: Date.parse(closedAt), value: exitPrice }] : []),
  ].toSorted((a, b) => a.at - b.at);
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
        ? { size: "levels" as const, axis: (value: number) => `$${formatShortUsd(value)}` }
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
