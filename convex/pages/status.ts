import { HOUR, iso } from "../lib/time";
import { percent } from "../lib/text/numbers";
import { uptimeChart } from "./charts/uptime";
import type { Page } from "./layout";
import { html, type Html } from "./markup";
import { orNone, moment } from "./words";
import type { StatusData } from "./shapes";

/** What works now and how the last 90 days went, for users. */

const PARTS = [
  ["answers", "Questions, research and alerts in your own words"],
  ["messages", "Messages to your chat"],
  ["wallets", "Wallets, swaps and sends"],
  ["payments", "Paid reports"],
  ["late", "Work that was asked for is done in time"],
] as const;

const HAPPENED: Readonly<Record<StatusData["troubles"][number], string>> = {
  down: "The service did not answer",
  late: "Work was late",
  answers: "Questions and research failed often",
  wallets: "Swaps and sends failed often",
  payments: "Payments failed often",
  messages: "Messages were late or failed often",
};

const SHOWN = 20;

export function statusPage({ time, troubles, uptime }: StatusData): Page {
  const { since, percent: share, days, incidents } = uptime;
  const rows = PARTS.map(([code, words]) => {
    const isWell = !troubles.includes(code);
    return html`<li class="head">
      <span>${words}</span>
      <span class="tag ${isWell ? "up" : "down"}">${isWell ? "works" : "has trouble"}</span>
    </li>`;
  });
  const content = html`<h1>Status</h1>
    <p class="lead">
      <span class="tag ${troubles.length === 0 ? "up" : "down"}"
        >${troubles.length === 0 ? "Everything works" : "Not everything works"}</span
      >
      at ${moment(time)}
    </p>
    <div class="card">
      <ul class="list">
        ${rows}
      </ul>
    </div>
    <h2 id="uptime">The last 90 days</h2>
    ${
      since === null
        ? html`<p>This begins with the first full hour.</p>`
        : html`<div class="card">
            <figure>
              <p class="figure">
                ${orNone(share, (value) => percent(value, 2))}
                <small class="below">of the hours since ${moment(iso(since))} were served</small>
              </p>
              ${uptimeChart(days)}
              <figcaption>
                A column is a day and its first hour is at the top: green is well, yellow had trouble, red was
                not served.
              </figcaption>
            </figure>
          </div>`
    }
    <h2 id="incidents">What went wrong</h2>
    ${
      incidents.length === 0
        ? html`<p>Nothing in these days.</p>`
        : html`<div class="card">
            <ul class="list">
              ${incidents.slice(0, SHOWN).map(incident)}
            </ul>
          </div>`
    }`;
  return {
    title: "Status",
    description: "What works now, and how the last 90 days went.",
    path: "/status",
    data: ["/status"],
    content,
  };
}

function incident({ code, from, to }: StatusData["uptime"]["incidents"][number]): Html {
  const hours = Math.round((to - from) / HOUR);
  return html`<li class="head">
    <span>${HAPPENED[code]} <code>${code}</code></span>
    <span class="small">${moment(iso(from))}, ${hours === 1 ? "within an hour" : `for ${hours} hours`}</span>
  </li>`;
}
