import type { FunctionReturnType } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { formatMoney, formatPoints, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { buildCurves, CurvesChart } from "../pictures/courses";
import { toPublicSignal } from "../signals/record";
import type { SignalStats } from "../signals/shapes";
import type { Page } from "./layout";
import { Code, Empty, Ending, Facts, formatOrNone, OpenBot, Side, Table, type Term } from "./parts";

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
            {curves.trades > 1 ? (
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
    ...(stats.trades > 1 ? { picture: "record" } : {}),
  };
}

function listHeadFigures({ edge, risk, afterCosts, ...stats }: SignalStats): Term[] {
  const { wins, losses, expired, holds, missingDays, trades, winrate } = stats;
  const fall = risk.maxDrawdownPercent;
  const share = formatOrNone(winrate, (value) => `${value.toFixed(0)} % of those decided; `, "");
  const remainder = `${losses} lost, ${expired} expired${holds === 0 ? "" : ` (${holds} without a position)`}`;
  const missing = missingDays > 0 ? `; ${missingDays} not issued` : "";
  const bounds = `${formatPoints(edge.lowPoints)} to ${formatPoints(edge.highPoints)}`;
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
      formatOrNone(
        edge.excessPoints,
        (value) => `${formatPoints(value)} points a day, ${bounds}: see all figures`,
        "",
      ),
    ],
  ];
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
