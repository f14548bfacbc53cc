import { many } from "../lib/text/strings";
import type { PublicAlert } from "../whales/shapes";
import { WHALES } from "./data";
import type { Page } from "./layout";
import { Bot, Chips, Empty, Movements } from "./parts";

/** Large movements, newest first. */

const LISTED = 30;

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
    description: "Large transfers and exchange flows of crypto, newest first.",
    path: "/whales",
    content,
  };
}
