import { bigUsd } from "../lib/text/numbers";
import { many } from "../lib/text/strings";
import type { PublicAlert } from "../whales/shapes";
import { Chart, isDrawn } from "./chart";
import { WHALES } from "./data";
import type { Page } from "./layout";
import { Bot, Chips, Empty, Movements } from "./parts";

/** Large movements, by time and size. */

const LISTED = 25;

const WINDOWS = [
  [6, "6 hours"],
  [24, "A day"],
  [72, "3 days"],
  [168, "A week"],
] as const;

export function whalesPage(alerts: readonly PublicAlert[], hours: number, now: number): Page {
  const count = alerts.length;
  const content = (
    <>
      <h1>Whales</h1>
      <p class="lead">
        Large transfers and exchange flows: read on Base by this service itself, and reported from other
        chains by an agent. <a href="/start">Get them as they happen</a>
      </p>
      <Chips
        label="Time"
        choices={WINDOWS.map(([window, name]) => ({
          href: `/whales?hours=${window}`,
          name,
          isShown: window === hours,
        }))}
      />
      {count === 0 ? (
        <Empty>
          Nothing was seen in this time. Base is looked at every two minutes, the other chains every hour.{" "}
          <Bot />
        </Empty>
      ) : (
        <>
          {isDrawn(alerts) && <Sizes alerts={alerts} now={now} />}
          <h2 id="list">The newest</h2>
          <div class="card">
            <Movements alerts={alerts.slice(0, LISTED)} now={now} />
          </div>
          {count > LISTED && (
            <p class="small">
              The newest {LISTED} of{" "}
              {count < WHALES ? many(count, "movement") : `more than ${WHALES} movements`}.
            </p>
          )}
        </>
      )}
    </>
  );
  return {
    title: "Whales",
    description: "Large transfers and exchange flows of crypto, by time and size.",
    path: "/whales",
    content,
  };
}

const SIGNS = { bullish: "▲", bearish: "▼", neutral: "●" } as const;

/** From the oldest that is listed to now: a time without movements is no news. */
function Sizes({ alerts, now }: { alerts: readonly PublicAlert[]; now: number }) {
  const count = (wanted: PublicAlert["direction"]) =>
    alerts.filter(({ direction }) => direction === wanted).length;
  const most = Math.max(...alerts.map(({ amount }) => amount));
  return (
    <div class="card">
      <figure>
        <Chart
          id="sizes"
          size="low"
          title="Large movements by time and size in USD"
          says={`${count("bullish")} bullish, ${count("bearish")} bearish, ${count("neutral")} neutral; the largest ${bigUsd(most)}.`}
          from={Math.min(...alerts.map(({ detectedAt }) => detectedAt))}
          to={now}
          isLog
          axis={(value) => bigUsd(value).replace(/\.0+/, "")}
          dots={alerts.map(({ amount, direction, detectedAt }) => ({
            kind: direction,
            at: detectedAt,
            value: amount,
            sign: SIGNS[direction],
          }))}
        />
        <figcaption>
          <span class="bullish">▲</span> bullish, <span class="bearish">▼</span> bearish,{" "}
          <span class="neutral">●</span> neutral. Each line is ten times the one below it.
        </figcaption>
      </figure>
    </div>
  );
}
