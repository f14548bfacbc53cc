import type { FunctionReturnType } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { formatPoints, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { subtractCosts, type Token } from "../signals/rules";
import type { SignalStats } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { toPublicSignal } from "../signals/record";
import { Chart, isDrawn, type Frame, type Point } from "./chart";
import type { Page } from "./layout";
import {
  Code,
  Empty,
  Ending,
  Facts,
  formatMoney,
  formatOrNone,
  OpenBot,
  Side,
  Table,
  type Term,
} from "./parts";

/** The record of the signals: the result in a sentence, four figures, one curve, the signals, and their verification. */

/** How many signals are listed. */
const LISTED = 10;

export async function buildRecordPage(ctx: ActionCtx): Promise<Page> {
  const [{ record: stats, signals: rows }, all, head] = await Promise.all([
    ctx.runQuery(internal.signals.history.listSignalPage, { token: null, limit: LISTED }),
    ctx.runQuery(internal.signals.history.readAllSignals, {}),
    ctx.runQuery(internal.signals.chain.readPublishedHead, {}),
  ]);
  const signals = rows.map(toPublicSignal);
  const curves = buildCurves(all);
  const content = (
    <>
      <h1>The record of the signals</h1>
      {signals.length === 0 ? (
        <Empty>The record begins with the first signals, which come at 08:00 UTC.</Empty>
      ) : (
        <p class="note">{stats.summary}</p>
      )}
      <p class="lead">
        One BTC and one ETH signal a day, each closed at its target, at its stop or after six hours, and none
        withdrawn. All of them count.
      </p>
      <p>
        <OpenBot start="signals">Get the next ones in the bot</OpenBot>
      </p>
      {stats.n > 0 && <Facts kind="facts" of={listHeadFigures(stats)} />}
      {signals.length > 0 && (
        <div class="grid two">
          <div class="card">
            {isDrawn(curves.signals) ? (
              <figure>
                <CurvesChart curves={curves} />
                <figcaption>
                  Solid: <strong>{formatCount(stats.trades, "trade")} after costs</strong>, added up: the same
                  stake on each, gains not reinvested. Dashed: bought at the first signal and held. Times in
                  UTC.
                </figcaption>
              </figure>
            ) : (
              <Empty>The curve begins with the second trade that has ended.</Empty>
            )}
          </div>
          <div class="card">
            <Table
              name="Signals, newest first; results after costs"
              heads={["Signal", "Side", "End", "Entry"]}
              wide={3}
              rows={signals.map((signal) => [
                <a href={`/signals/${signal.id}`}>{signal.id}</a>,
                <Side side={signal.signal} />,
                <Ending signal={signal} />,
                formatMoney(signal.entry),
              ])}
            />
            <p>
              All of them: <a href="/signals/export.csv">as a table</a>,{" "}
              <a href="/signals/export.json">for programs</a>.
            </p>
          </div>
        </div>
      )}
      <details id="verify">
        <summary>Check it yourself</summary>
        <Verification head={head} />
      </details>
      {stats.n > 0 && (
        <details id="figures">
          <summary>All figures</summary>
          <Figures stats={stats} />
        </details>
      )}
    </>
  );
  return {
    title: "The record of the signals",
    description: "How every trading signal of this service turned out.",
    path: "/record",
    content,
    picture: "record",
  };
}

/** The curves of all signals, for the picture of the record. */
export async function readCurves(ctx: ActionCtx): Promise<TwoCurves> {
  return buildCurves(await ctx.runQuery(internal.signals.history.readAllSignals, {}));
}

/** In percent: the running sum of the results after costs, and the tokens bought at their first signal and held. */
export type TwoCurves = { signals: Point[]; held: Point[] };

function buildCurves(all: readonly Signal[]): TwoCurves {
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
  return { signals: thinPoints(ended), held: thinPoints(held) };
}

/** The most points of a line, since a page is small. */
const DRAWN_POINTS = 400;

function thinPoints(points: readonly Point[]): Point[] {
  const every = Math.ceil(points.length / DRAWN_POINTS);
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

function listHeadFigures({ edge, risk, afterCosts, ...stats }: SignalStats): Term[] {
  const { wins, losses, expired, holds, missingDays, trades, winrate } = stats;
  const fall = risk.maxDrawdownPercent;
  const share = formatOrNone(winrate, (value) => `${value.toFixed(0)} % of those decided; `, "");
  const remainder = `${losses} lost, ${expired} expired${holds === 0 ? "" : ` (${holds} without a position)`}`;
  const missing = missingDays > 0 ? `; ${missingDays} not issued` : "";
  const bounds = `points a day, ${formatPoints(edge.lowPoints)} to ${formatPoints(edge.highPoints)}`;
  return [
    [
      "Average trade",
      formatOrNone(afterCosts.expectancyPercent, formatSignedPercent),
      `over ${formatCount(trades, "trade")}, after costs`,
    ],
    ["Ended", `${wins} won`, share + remainder + missing],
    [
      "Worst losing stretch",
      formatOrNone(fall, (value) => formatSignedPercent(-value)),
      fall === null ? "it says little before 30 trades" : "from the highest sum to the lowest after it",
    ],
    [
      "Against chance",
      edge.verdict,
      formatOrNone(edge.excessPoints, (value) => `${formatPoints(value)} ${bounds}`, ""),
    ],
  ];
}

/** The running sum of the results, against buying and holding. A sum changes only with a trade's end, so it is drawn in steps. */
export function CurvesChart({ curves: { signals, held }, frame }: { curves: TwoCurves; frame?: Frame }) {
  const times = [...signals, ...held].map(({ at }) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [sum, kept] = [signals.at(-1)?.value ?? 0, held.at(-1)?.value ?? 0];
  return (
    <Chart
      id="curve"
      title="Results after costs, added up, against buying and holding, in percent"
      says={`After ${formatCount(signals.length, "trade")}: signals ${formatSignedPercent(sum)}, bought and held ${formatSignedPercent(kept)}.`}
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
      {...(frame === undefined ? {} : { frame })}
    />
  );
}

function Figures({ stats }: { stats: SignalStats }) {
  const { risk, beforeCosts, afterCosts, reliability } = stats;
  const ratio = (value: number | null) => formatOrNone(value, (figure) => figure.toFixed(2));
  return (
    <div class="grid two">
      <div class="card">
        <Facts
          of={[
            ["In all, after costs", formatSignedPercent(afterCosts.totalPnlPercent)],
            ["Before costs", formatSignedPercent(beforeCosts.totalPnlPercent)],
            ["Bought and held instead", formatOrNone(stats.buyAndHoldPercent, formatSignedPercent)],
            ["Gains to losses, after costs", ratio(afterCosts.profitFactor)],
            ["Sharpe ratio of a trade", ratio(risk.sharpe)],
            ["Sortino ratio of a trade", ratio(risk.sortino)],
            ["Trades whose path has gaps", stats.gaps],
          ]}
        />
      </div>
      <div class="card">
        <p>
          Against chance: where between stop (0) and first target (100) a trade ended, minus what a price
          without direction would have reached. The bounds hold however often anybody looks.
        </p>
        {reliability.says !== null && <p>{reliability.says}</p>}
      </div>
    </div>
  );
}

/** The public check of the record against its chain of events. */
function Verification({
  head,
}: {
  head: FunctionReturnType<typeof internal.signals.chain.readPublishedHead>;
}) {
  if (head === null) return <Empty>The chain of events begins with the first signal.</Empty>;
  const { anchor } = head;
  const flags = anchor === null ? "" : ` --rpc https://mainnet.base.org --anchor ${anchor.address}`;
  return (
    <div class="card">
      <p>
        Every signal is an event when it is issued and another when it is closed, and so is a day without one.
        Each event carries the hash of the one before it, and the messenger's cards publish the last: nothing
        can be changed, moved or left out without changing it. There are {formatCount(head.sequence, "event")}
        , and the last hash is <code>{head.hash}</code>
        {anchor !== null && (
          <>
            , anchored on Base in <code>{anchor.txHashes.at(-1)}</code>
          </>
        )}
        .
      </p>
      <p>From a copy of the source, this reads all events and works the record out again:</p>
      <Code label="Check the record" text={`npm run verify-signals -- ${getSiteUrl()}${flags}`} />
    </div>
  );
}
