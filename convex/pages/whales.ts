import { HOUR, wholeMinute } from "../lib/time";
import { movementsChart } from "./charts/movements";
import type { Page } from "./layout";
import { html } from "./markup";
import { botLink, chips, movementList } from "./parts";
import { WHALES } from "./data";
import type { WhalesData } from "./shapes";

/** Large movements. */

const LISTED = 25;

const WINDOWS = [
  [6, "6 hours"],
  [24, "A day"],
  [72, "3 days"],
  [168, "A week"],
] as const;

export function whalesPage({ hours, count, alerts }: WhalesData, now: number): Page {
  const to = wholeMinute(now);
  // If a time has more movements than are read, its end is shown.
  const oldest = alerts.at(-1)?.detectedAt ?? to;
  const from = count < WHALES ? to - hours * HOUR : oldest;
  const choices = WINDOWS.map(([window, name]) => ({
    href: `/whales?hours=${window}`,
    name,
    isShown: window === hours,
  }));
  const content = html`<h1>Whales</h1>
    <p class="lead">
      Large transfers and exchange flows: read on Base by this service itself, and reported from other chains
      by an AI agent, hour by hour.
    </p>
    ${chips("Time", choices)}
    ${
      alerts.length === 0
        ? html`<p class="note">
            Nothing was seen in this period.
            ${botLink("To get an alert on the next one, ask for it in a chat")}
          </p>`
        : html`<h2 id="sizes">By time and size</h2>
            <div class="card">
              <figure>
                ${movementsChart(alerts, { from, to })}
                <figcaption>
                  <span class="bullish" aria-hidden="true">▲</span> bullish,
                  <span class="bearish" aria-hidden="true">▼</span> bearish,
                  <span class="neutral" aria-hidden="true">●</span> neutral, as measured or as the agent
                  judges. Each line is ten times the one below it.
                </figcaption>
              </figure>
            </div>
            <h2 id="list">The newest</h2>
            <div class="card">${movementList(alerts.slice(0, LISTED), now)}</div>
            ${count > LISTED ? html`<p class="small">The chart shows all ${count} of them, the list the newest ${LISTED}.</p>` : null}`
    }`;
  return {
    title: "Whales",
    description: "Large transfers and exchange flows.",
    path: "/whales",
    data: [`/whales?hours=${hours}`, `/mcp/whale-alerts?hours=${hours}`],
    content,
  };
}
