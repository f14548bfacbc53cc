import { DECISIVE } from "../../signals/statistics/inference";
import { TOKENS } from "../../signals/trade/rules";
import type { Page } from "../layout";
import { html, type Html } from "../markup";
import { chips, signalTable } from "../parts";
import type { OwnRecordData, RecordData } from "../shapes";
import { moment } from "../words";
import { labSection } from "./lab";
import { sections, sentence, type Shown } from "./sections";
import { verifySection } from "./verification";

/** The pages of records. */

export function recordPage(data: RecordData): Page {
  const { token } = data;
  const query = token === null ? "" : `token=${token}&`;
  const title = `The record of the ${token === null ? "" : `${token} `}signals`;
  const choices = [null, ...TOKENS].map((one) => ({
    href: one === null ? "/record" : `/record?token=${one}`,
    name: one ?? "BTC and ETH",
    isShown: one === token,
  }));
  const content = html`<h1>${title}</h1>
    ${sentence(data)}
    <p class="lead">
      ${token === null ? "One BTC and one ETH signal" : `One ${token} signal`} a day, each closed at its
      target, at its stop or after six hours, and none withdrawn. What follows counts all of them.
    </p>
    ${chips("Tokens", choices)}
    ${sections(data, "No signal has been issued yet: the first come at 08:00 UTC.", DECISIVE)}
    ${older("/record", data, query)} ${labSection(data.lab)}
    <h2 id="verify">Check it yourself</h2>
    ${verifySection(data)}`;
  if (data.before !== null) return olderPage(title, "/record", data, query);
  return {
    title,
    description: "How every trading signal of this service turned out.",
    path: "/record",
    data: ["/record", "/mcp/signals/history", "/signals/proof", "/signals/shadow"],
    content,
  };
}

/** The same for a person's own arm. */
export function ownRecordPage(data: OwnRecordData): Page {
  const { arm, name, number, of, since, endedAt, left, listed, needed } = data.arm;
  const title = `The record of ${name ?? arm}`;
  const ended =
    endedAt === null ? "" : left ? " Its owner has left; the record stays." : " Its owner has ended it.";
  const content = html`<h1>${title}</h1>
    ${sentence(data)}
    <p class="lead">
      A user of this service proposes these signals, at most one a token and day, before the fact. The service
      measures their entry and their end, and none is withdrawn. What follows counts all of them since
      ${moment(since)}.${ended}
    </p>
    <p class="note">
      ${of === 1 ? "Its owner has had no other." : `It is number ${number} of the ${of} records that its owner has had: one of several seems good sooner than one alone, so its evidence has to reach ${needed}.`}
      ${listed ? "" : " It is not listed: fewer than 30 of its signals have ended."}
    </p>
    ${sections(data, "Nothing has been proposed yet.", needed)} ${older(`/record/${arm}`, data)}
    <h2 id="verify">Check it yourself</h2>
    ${verifySection(data, data.heldBy)}`;
  if (data.before !== null) return olderPage(title, `/record/${arm}`, data);
  return {
    title,
    description: "How the signals of a user of this service turned out.",
    path: `/record/${arm}`,
    data: [`/record/${arm}`, "/records/proof", "/signals/proof"],
    content,
  };
}

/** The link to the signals after the listed ones. */
function older(path: string, { older: before }: Shown, query = ""): Html | null {
  if (before === null) return null;
  return html`<p><a href="${`${path}?${query}before=${before}`}">Older signals</a></p>`;
}

/** Only the signals of an earlier time. */
function olderPage(title: string, path: string, data: Shown, query = ""): Page {
  const { signals, before } = data;
  const back = query === "" ? path : `${path}?${query.slice(0, -1)}`;
  const content = html`<h1>Older signals</h1>
    <p class="lead"><a href="${back}">${title}</a>, results after costs</p>
    ${signals.length === 0 ? html`<p>There are none.</p>` : html`<div class="card">${signalTable("Signals, newest first", signals)}</div>`}
    ${older(path, data, query)}`;
  return {
    title: `Older signals: ${title}`,
    description: "Earlier signals of this service, each with its end.",
    path,
    data: [`${path}?${query}before=${before ?? ""}`],
    content,
  };
}
