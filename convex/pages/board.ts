import { SOURCE_NAMES } from "../lib/publicSources";
import { SECOND } from "../lib/time";
import type { ServiceHealth } from "../ops/shapes";
import type { Page } from "./layout";
import { html, type Html } from "./markup";
import { facts, numbers, wideTable } from "./parts";
import { dollars } from "../lib/text/strings";
import { moment, span } from "./words";

/** How the service is doing, for its operator. */

export function boardPage({ status, version, time, reasons, checks }: ServiceHealth): Page {
  const isWell = status === "ok";
  const content = html`<h1>Board</h1>
    <p class="lead">
      <span class="tag ${isWell ? "up" : "down"}">${isWell ? "All is well" : "Needs attention"}</span> at
      ${moment(time)}, version ${version}
    </p>
    ${
      isWell
        ? null
        : html`<ul class="list note warn">
            ${reasons.map((reason) => html`<li>${reason}</li>`)}
          </ul>`
    }
    <h2 id="budget">The day's budget</h2>
    ${budgetSection(checks.budget)}
    <div class="grid two">
      <section aria-labelledby="providers">
        <h2 id="providers">Providers in the last hour</h2>
        <div class="card">${providerTable(checks.providers)}</div>
      </section>
      <section aria-labelledby="waiting">
        <h2 id="waiting">Waiting</h2>
        <div class="card">${waitingPart(checks)}</div>
      </section>
    </div>
    <h2 id="jobs">Jobs</h2>
    <div class="card">
      <p class="small">When each last ran.</p>
      <ul class="list cols">
        ${jobItems(checks.crons)}
      </ul>
    </div>
    <h2 id="keys">Keys</h2>
    <div class="card">
      <p class="small">Which of them the operator has set.</p>
      <ul class="list cols">
        ${keyItems(checks.configured)}
      </ul>
    </div>`;
  return {
    title: "Board",
    description: "How this service is doing, for its operator.",
    path: "/board",
    data: ["/board", "/health"],
    content,
  };
}

type Checks = ServiceHealth["checks"];

const PAYERS: Readonly<Record<string, string>> = {
  service: "the service's own work",
  paid: "paid reports",
  signedIn: "signed-in users",
  anonymous: "everybody else",
  shift: "running shifts",
};
const PROVIDERS: Readonly<Record<string, string>> = {
  ...SOURCE_NAMES,
  llm: "Language model",
  sentiment: "Sentiment",
  agentApi: "Agent",
  swap: "Swaps",
  chain: "Base RPC",
  facilitator: "Payment facilitator",
  messenger: "Messenger",
};

function budgetSection({ resetsAt, limitUsd, spentUsd, providers }: Checks["budget"]): Html {
  const part = limitUsd === 0 ? 1 : Math.min(1, spentUsd / limitUsd);
  const cards = Object.entries(providers).map(([name, { spentUsd: own, by }]) => {
    const whose = facts(
      Object.entries(by).map(([payer, amount]) => [PAYERS[payer] ?? payer, dollars(amount)]),
    );
    return html`<section class="card" aria-labelledby="budget-${name}">
      <h3 id="budget-${name}">${PROVIDERS[name] ?? name}</h3>
      <p class="figure">${dollars(own)}</p>
      <dl class="small">${whose}</dl>
    </section>`;
  });
  return html`<p class="figure">${dollars(spentUsd)} <small class="below">of ${dollars(limitUsd)}</small></p>
    ${bar(part)}
    <div class="grid three">${cards}</div>
    <p class="small">It starts anew at ${moment(resetsAt)}.</p>`;
}

/** @param part 0 to 1; the words beside it say it, too. */
function bar(part: number): Html {
  return html`<svg class="chart bar" aria-hidden="true" focusable="false">
    <rect class="track" width="100%" height="100%" rx="4" />
    <rect class="used ${part > 0.8 ? "much" : ""}" width="${(part * 100).toFixed(1)}%" height="100%" rx="4" />
  </svg>`;
}

function providerTable(providers: Checks["providers"]): Html {
  const rows = Object.entries(providers);
  if (rows.length === 0) return html`<p>None was asked in the last hour.</p>`;
  return wideTable("Calls to outside services", rows, [
    { head: "Provider", kind: "name", cell: ([name]) => PROVIDERS[name] ?? name },
    numbers("Calls", ([, { calls }]) => calls),
    numbers("Failed", ([, { failures }]) => failures),
    numbers(
      "Failure rate",
      ([, { errorRate }]) =>
        html`<span class="${errorRate > 0.5 ? "down" : "flat"}">${(errorRate * 100).toFixed(1)} %</span>`,
    ),
  ]);
}

const LANES: Readonly<Record<string, string>> = {
  service: "The service",
  paid: "Paid",
  signedIn: "Signed in",
  anonymous: "Others",
  messages: "Messages",
};

/** Nothing is counted beyond this. */
const MANY = 100;

function waitingPart({ outbox, pending, lanes }: Checks): Html {
  const places = wideTable("Places for model calls", Object.entries(lanes), [
    { head: "Model calls of", kind: "name", cell: ([name]) => LANES[name] ?? name },
    numbers("Running", ([, { running }]) => running),
    numbers("Waiting", ([, { waiting }]) => orMore(waiting)),
  ]);
  const open = Object.entries(pending).flatMap(([kind, seconds]): [string, string][] =>
    seconds === null ? [] : [[spoken(kind), span(seconds * SECOND)]],
  );
  const oldest =
    outbox.oldestSeconds === null ? "" : `, the oldest for ${span(outbox.oldestSeconds * SECOND)}`;
  return html`<p>
      ${outbox.waiting === 0 ? "No message is waiting to be delivered." : `${outbox.waiting === 1 ? "1 message is" : `${orMore(outbox.waiting)} messages are`} waiting to be delivered${oldest}.`}
    </p>
    ${
      open.length === 0
        ? html`<p>No work is unfinished.</p>`
        : html`<h3>Unfinished, and for how long</h3>
            <dl>${facts(open)}</dl>`
    }
    ${places}`;
}

function orMore(count: number): string {
  return count >= MANY ? `${MANY} or more` : String(count);
}

/** The most recent ones come first, those that have never run come last. */
function jobItems(crons: Checks["crons"]): Html[] {
  return Object.entries(crons)
    .toSorted(([, a], [, b]) => (a ?? Infinity) - (b ?? Infinity))
    .map(([name, seconds]) => {
      const last =
        seconds === null
          ? "never"
          : seconds < 60
            ? `${seconds} seconds ago`
            : `${span(seconds * SECOND)} ago`;
      return html`<li class="head"><span>${name}</span> <span class="soft">${last}</span></li>`;
    });
}

function keyItems(configured: Checks["configured"]): Html[] {
  return Object.entries(configured).map(
    ([name, isSet]) =>
      html`<li class="head">
        <code>${name}</code> <span class="${isSet ? "soft" : "down"}">${isSet ? "set" : "not set"}</span>
      </li>`,
  );
}

/** `shiftCollections` is `shift collections`. */
function spoken(kind: string): string {
  return kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
