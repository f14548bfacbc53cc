import type { Reply } from "../lib/http";
import { sourceName } from "../lib/publicSources";
import { pageReply } from "./layout";
import { html, type Html } from "./markup";
import { ending, sideTag, signalFigure, wideTable } from "./parts";
import type { SignalData } from "./shapes";
import { moment, signed, usd } from "./words";

/** One signal. */

export function signalPage(data: SignalData, now: number): Reply<string> {
  const { signal, issued, path } = data;
  const { id, token, confidence, reasoning, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const name = `${token} signal of ${id.slice(token.length + 1)}`;
  const closed =
    closedAt === undefined
      ? null
      : html`<dt>Closed</dt>
          <dd>${moment(closedAt)}${typeof exitPrice === "number" ? ` at ${usd(exitPrice)} USD` : ""}</dd>`;
  const points = path.toReversed().map(
    ({ at, priceUsd, source }) =>
      html`<tr>
        <td>${at.slice(11, 16)}</td>
        <td class="right">${usd(priceUsd)}</td>
        <td>${sourceName(source)}</td>
      </tr>`,
  );
  const head = html`<th scope="col">UTC</th>
    <th scope="col" class="right">USD</th>
    <th scope="col">Source</th>`;
  const content = html`<h1>${name}</h1>
    <p class="lead">${sideTag(signal)} ${ending(signal)}</p>
    <div class="grid aside">
      <div class="grid">
        <div class="card">
          ${signalFigure(data)}${
            points.length === 0
              ? null
              : html`<details>
                  <summary>These prices as a table</summary>
                  ${wideTable("Prices, newest first", head, points)}
                </details>`
          }
        </div>
        <section class="card" aria-labelledby="said">
          <h2 id="said" class="plain">What the model said</h2>
          <p>“${reasoning}”</p>
          <dl>
            <dt>Stated confidence</dt>
            <dd>${confidence} %</dd>
            <dt>Calibrated by earlier outcomes</dt>
            <dd>${signal.calibratedConfidence} %</dd>
            <dt>Model</dt>
            <dd>${issued.model}</dd>
          </dl>
        </section>
      </div>
      <div class="grid">
        <section class="card" aria-labelledby="levels">
          <h2 id="levels" class="plain">Levels</h2>
          <dl>${levels(signal)}</dl>
        </section>
        <section class="card" aria-labelledby="measured">
          <h2 id="measured" class="plain">Measured</h2>
          <dl>
            <dt>Price at issue</dt>
            <dd>${usd(issued.priceUsd)} USD</dd>
            <dt>Source</dt>
            <dd>${sourceName(issued.source)}, ${moment(issued.observedAt)}</dd>
            <dt>Issued</dt>
            <dd>${moment(generatedAt)}</dd>
            <dt>Valid until</dt>
            <dd>${moment(expiresAt)}</dd>
            ${closed}
          </dl>
        </section>
      </div>
    </div>
    <p>Part of <a href="/record">the record</a>, which anybody can check.</p>`;
  return pageReply(
    {
      title: name,
      description: `${signal.signal} at ${usd(signal.entry)} USD, and what became of it.`,
      path: `/signals/${id}`,
      data: [`/signals/${id}`, "/signals/proof"],
      content,
    },
    now,
  );
}

function levels({ entry, tp1, tp2, sl }: SignalData["signal"]): Html {
  const row = (name: string, price: number | null) =>
    price === null
      ? null
      : html`<dt>${name}</dt>
          <dd>${usd(price)} USD <span class="soft">${signed((price / entry - 1) * 100)}</span></dd>`;
  return html`<dt>Entry</dt>
    <dd>${usd(entry)} USD</dd>
    ${row("Target 1", tp1)}${row("Target 2", tp2)}${row("Stop", sl)}${
      tp1 === null
        ? html`<dt>Position</dt>
            <dd>none</dd>`
        : null
    }`;
}
