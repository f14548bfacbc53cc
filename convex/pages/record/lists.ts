import type { Page } from "../layout";
import { html, type Html } from "../markup";
import { signalTable } from "../parts";
import type { Shown } from "./sections";

/** All signals of a record, a list at a time. */

/** The way to the signals behind those that are listed. */
export function older(path: string, { older: before }: Shown, asked = ""): Html | null {
  if (before === null) return null;
  return html`<p><a href="${`${path}?${asked}before=${before}`}">Older signals</a></p>`;
}

/** Nothing but the signals of an earlier time. */
export function olderPage(title: string, path: string, data: Shown, asked = ""): Page {
  const { signals, before } = data;
  const back = asked === "" ? path : `${path}?${asked.slice(0, -1)}`;
  const content = html`<h1>Older signals</h1>
    <p class="lead"><a href="${back}">${title}</a>, results after costs</p>
    ${signals.length === 0 ? html`<p>There are none.</p>` : html`<div class="card">${signalTable("Signals, newest first", signals)}</div>`}
    ${older(path, data, asked)}`;
  return {
    title: `Older signals: ${title}`,
    description: "Earlier signals of this service, each with its end.",
    path,
    data: [`${path}?${asked}before=${before ?? ""}`],
    content,
  };
}
