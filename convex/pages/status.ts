import type { Page } from "./layout";
import { html } from "./markup";
import { moment } from "./words";
import type { StatusData } from "./shapes";

/** What works now, for users. */

const PARTS = [
  ["answers", "Questions, research and alerts in your own words"],
  ["messages", "Messages to your chat"],
  ["wallets", "Wallets, swaps and sends"],
  ["payments", "Paid reports"],
  ["late", "Work that was asked for is done in time"],
] as const;

export function statusPage({ time, troubles }: StatusData): Page {
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
    </div>`;
  return {
    title: "Status",
    description: "What works now.",
    path: "/status",
    data: ["/status"],
    content,
  };
}
