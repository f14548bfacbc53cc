import { siteUrl } from "../lib/env";
import { points, signed } from "../lib/text/numbers";
import { many } from "../lib/text/strings";
import { VERDICT_WORDS } from "../signals/record";
import { TOKENS } from "../signals/rules";
import { Chart, isDrawn } from "./chart";
import type { RecordData } from "./data";
import type { Page } from "./layout";
import { Chips, Empty, Facts, orNone, SignalTable } from "./parts";

/** The record of the signals: the result in a sentence, four figures, one curve, the signals, and how to check them. */

export function recordPage(data: RecordData): Page {
  const { token, stats, signals, curves } = data;
  const title = `The record of the ${token === null ? "" : `${token} `}signals`;
  const content = (
    <>
      <h1>{title}</h1>
      {signals.length === 0 ? (
        <Empty>The record begins with the first signals, which come at 08:00 UTC.</Empty>
      ) : (
        <p class="note">{stats.summary}</p>
      )}
      <p class="lead">
        {token === null ? "One BTC and one ETH signal" : `One ${token} signal`} a day, each closed at its
        target, at its stop or after six hours, and none withdrawn. All of them count.{" "}
        <a href="/start">Get the next ones</a>
      </p>
      <Chips
        label="Tokens"
        choices={[null, ...TOKENS].map((one) => ({
          href: one === null ? "/record" : `/record?token=${one}`,
          name: one ?? "BTC and ETH",
          isShown: one === token,
        }))}
      />
      {stats.n > 0 && <Facts kind="facts" of={headline(stats)} />}
      {signals.length > 0 && (
        <div class="grid two">
          <div class="card">
            {isDrawn(curves.signals) ? (
              <Curves curves={curves} />
            ) : (
              <Empty>The curve begins with the second trade that has ended.</Empty>
            )}
          </div>
          <div class="card">
            <SignalTable name="Signals, newest first; results after costs" signals={signals} />
            <p>
              All of them: <a href="/signals/export.csv">as a table</a>,{" "}
              <a href="/signals/export.json">for programs</a>.
            </p>
          </div>
        </div>
      )}
      <details id="verify">
        <summary>Check it yourself</summary>
        <Verification data={data} />
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
    title,
    description: "How every trading signal of this service turned out.",
    path: "/record",
    content,
  };
}

type Stats = RecordData["stats"];

function headline({ edge, risk, afterCosts, ...stats }: Stats) {
  const { wins, losses, expired, holds, missingDays, trades, winrate } = stats;
  const average = afterCosts.expectancyPercent;
  const fall = risk.maxDrawdownPercent;
  const share = orNone(winrate, (value) => `${value.toFixed(0)} % of those decided; `, "");
  const rest = `${losses} lost, ${expired} expired${holds === 0 ? "" : ` (${holds} without a position)`}`;
  return [
    [
      "Average trade",
      <>
        {orNone(average, signed)}
        <small>over {many(trades, "trade")}, after costs</small>
      </>,
    ],
    [
      "Ended",
      <>
        {wins} won
        <small>
          {share}
          {rest}
          {missingDays > 0 && `; ${missingDays} not issued`}
        </small>
      </>,
    ],
    [
      "Worst losing stretch",
      <>
        {orNone(fall, (value) => signed(-value))}
        <small>
          {fall === null ? "it says little before 30 trades" : "from the highest sum to the lowest after it"}
        </small>
      </>,
    ],
    [
      "Against chance",
      <>
        {VERDICT_WORDS[edge.verdict].within}
        {edge.excessPoints !== null && (
          <small>
            {points(edge.excessPoints)} points a day, {points(edge.lowPoints)} to {points(edge.highPoints)}
          </small>
        )}
      </>,
    ],
  ] as const;
}

/** The results added up, against what was bought at the first signal and held. */
function Curves({ curves: { signals, held } }: Pick<RecordData, "curves">) {
  const all = [...signals, ...held];
  const times = all.map(({ at }) => at);
  const [sum, kept] = [signals.at(-1)?.value ?? 0, held.at(-1)?.value ?? 0];
  return (
    <figure>
      <Chart
        id="curve"
        title="Results after costs, added up, against buying and holding, in percent"
        says={`After ${many(signals.length, "trade")}: signals ${signed(sum)}, bought and held ${signed(kept)}.`}
        from={Math.min(...times)}
        to={Math.max(...times)}
        axis={(value) => signed(value, Number.isInteger(value) ? 0 : 1)}
        levels={[{ kind: "zero", value: 0 }]}
        lines={[
          { kind: "held", points: held },
          { kind: "main", points: signals },
        ]}
        names={[
          { kind: sum >= 0 ? "up" : "down", value: sum, words: signed(sum, 1) },
          { kind: "held", value: kept, words: signed(kept, 1) },
        ]}
      />
      <figcaption>
        <strong>{many(signals.length, "trade")} after costs</strong>, added up: the same stake on each, gains
        not reinvested. Dashed: bought at the first signal and held.
      </figcaption>
    </figure>
  );
}

function Figures({ stats: { risk, beforeCosts, afterCosts, reliability, ...stats } }: { stats: Stats }) {
  const ratio = (value: number | null) => orNone(value, (known) => known.toFixed(2));
  return (
    <div class="grid two">
      <div class="card">
        <Facts
          of={[
            ["In all, after costs", signed(afterCosts.totalPnlPercent)],
            ["Before costs", signed(beforeCosts.totalPnlPercent)],
            ["Bought and held instead", orNone(stats.buyAndHoldPercent, signed)],
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

/** How anybody can check the record against its chain of events. */
function Verification({ data: { head, anchor } }: { data: RecordData }) {
  if (head === null) return <Empty>The chain of events begins with the first signal.</Empty>;
  const with_ = anchor === null ? "" : ` --rpc https://mainnet.base.org --anchor ${anchor.address}`;
  return (
    <div class="card">
      <p>
        Every signal is an event when it is issued and another when it is closed, and so is a day without one.
        Each event carries the hash of the one before it, and the messenger's cards publish the last: nothing
        can be changed, moved or left out without changing it. All signals:{" "}
        <a href="/signals/export.csv">as a table</a>, <a href="/signals/export.json">for programs</a>.
      </p>
      <Facts
        of={[
          ["Events", head.sequence],
          ["Last hash", <code>{head.hash}</code>],
          ...(anchor === null
            ? []
            : [["Last anchor on Base", <code>{anchor.txHashes.at(-1)}</code>] as const]),
        ]}
      />
      <p>From a copy of the source, this reads all events and works the record out again:</p>
      <p>
        <code>
          npm run verify-signals -- {siteUrl()}
          {with_}
        </code>
      </p>
    </div>
  );
}
