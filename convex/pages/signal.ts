import { sourceName } from "../lib/publicSources";
import type { Page } from "./layout";
import { html, type Part } from "./markup";
import { ending, facts, numbers, sideTag, signalFigure, wideTable } from "./parts";
import type { SignalData } from "./shapes";
import { signed, usd } from "../lib/text/numbers";
import { moment, orNone } from "./words";

/** One signal. */

export function signalPage(data: SignalData): Page {
  const { signal, issued, path } = data;
  const { id, token, confidence, reasoning, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const name = `${token} signal of ${id.slice(token.length + 1)}`;
  const points = wideTable("Prices, newest first", path.toReversed(), [
    { head: "UTC", cell: ({ at }) => at.slice(11, 16) },
    numbers("USD", ({ priceUsd }) => usd(priceUsd)),
    { head: "Source", cell: ({ source }) => sourceName(source) },
  ]);
  const terms = facts([
    ["Stated confidence", `${confidence} %`],
    ["Chance of its levels", orNone(signal.chancePercent, (share) => `${share.toFixed(0)} %`)],
    ["Earns its costs from", orNone(signal.breakEvenPercent, (share) => `${share.toFixed(0)} %`)],
    ["Model", issued.model],
  ]);
  const at = typeof exitPrice === "number" ? ` at ${usd(exitPrice)} USD` : "";
  const measured = facts([
    ["Price at issue", `${usd(issued.priceUsd)} USD`],
    ["Source", html`${sourceName(issued.source)}, ${moment(issued.observedAt)}`],
    ["Issued", moment(generatedAt)],
    ["Valid until", moment(expiresAt)],
    ...(closedAt === undefined ? [] : [["Closed", html`${moment(closedAt)}${at}`] as const]),
  ]);
  const content = html`<h1>${name}</h1>
    <p class="lead">${sideTag(signal.signal)} ${ending(signal)}</p>
    <div class="grid aside">
      <div class="grid">
        <div class="card">
          ${signalFigure(data)}${
            path.length === 0
              ? null
              : html`<details>
                  <summary>These prices as a table</summary>
                  ${points}
                </details>`
          }
        </div>
        <section class="card" aria-labelledby="said">
          <h2 id="said" class="plain">The model's view</h2>
          <p>“${reasoning}”</p>
          <dl>${terms}</dl>
        </section>
      </div>
      <div class="grid">
        <section class="card" aria-labelledby="levels">
          <h2 id="levels" class="plain">Levels</h2>
          <dl>${facts(levels(signal))}</dl>
        </section>
        <section class="card" aria-labelledby="measured">
          <h2 id="measured" class="plain">Measured</h2>
          <dl>${measured}</dl>
        </section>
      </div>
    </div>
    <p>Part of <a href="/record">the record</a>, which anybody can check.</p>`;
  return {
    title: name,
    description: `${signal.signal} at ${usd(signal.entry)} USD, and what became of it.`,
    path: `/signals/${id}`,
    data: [`/signals/${id}`, "/signals/proof"],
    content,
  };
}

function levels({ entry, tp1, tp2, sl }: SignalData["signal"]): [string, Part][] {
  const row = (name: string, price: number | null): [string, Part][] =>
    price === null
      ? []
      : [[name, html`${usd(price)} USD <span class="soft">${signed((price / entry - 1) * 100)}</span>`]];
  return [
    ["Entry", `${usd(entry)} USD`],
    ...[...row("Target 1", tp1), ...row("Target 2", tp2), ...row("Stop", sl)],
    ...(tp1 === null ? [["Position", "none"] satisfies [string, Part]] : []),
  ];
}
