import { many } from "../lib/text/strings";
import { iso } from "../lib/time";
import { linkedCitations, safeAddress } from "../messenger/words";
import { spanText } from "../messenger/format";
import { sparkline } from "./charts/sparkline";
import type { Page } from "./layout";
import { html, type Html } from "./markup";
import { askBot, chips, sideTag } from "./parts";
import { nameOf } from "../research/writing/brief";
import type { ResearchData } from "./shapes";
import { usd } from "../lib/text/numbers";
import { since, sourceNames } from "./words";

/** The latest research on a token, with measured figures apart from a model's words. */

const OFFERED = ["BTC", "ETH", "SOL"];

export function researchPage(data: ResearchData, now: number): Page {
  const { token, report, snapshot, measured } = data;
  const subject = token === "" ? "the whole market" : token;
  const choices = ["", ...OFFERED].map((one) => ({
    href: one === "" ? "/research" : `/research?token=${one}`,
    name: one === "" ? "Whole market" : one,
    isShown: one === token,
  }));
  const content = html`<h1>Research on ${subject}</h1>
    ${chips("Tokens", choices)}
    <form action="/research" method="get">
      <label
        >Another token<input
          name="token"
          autocomplete="off"
          autocapitalize="characters"
          maxlength="20"
          value="" /></label
      ><button>Show</button>
    </form>
    ${measuredSection(token, measured)} ${latestFirst(data, now)}
    ${
      report === null && snapshot === null
        ? html`<p class="note">
            Nothing has been written on ${subject} yet.
            ${askBot("To have it written now, ask the bot", `/research${token === "" ? "" : ` ${token}`}`)}
          </p>`
        : null
    }`;
  const query = token === "" ? "" : `?token=${encodeURIComponent(token)}`;
  return {
    title: `Research on ${subject}`,
    description: `The latest report on ${subject}.`,
    path: "/research",
    data: [`/research${query}`, ...(token === "" ? [] : [`/mcp/research/report${query}`])],
    content,
  };
}

function measuredSection(token: string, measured: ResearchData["measured"]): Html | null {
  const last = measured.at(-1);
  const course = sparkline("measured-course", token, measured);
  if (last === undefined || course === null) return null;
  return html`<section aria-labelledby="measured">
    <h2 id="measured">Measured</h2>
    <div class="card">
      <p class="figure">
        ${usd(last.priceUsd)}
        <small class="below">USD at the last full hour, by ${sourceNames([last])}</small>
      </p>
      ${course}
      <p class="small">${token}, hour by hour over two days, by ${sourceNames(measured)}.</p>
    </div>
  </section>`;
}

/** The newer of the two comes first. */
function latestFirst({ report, snapshot }: ResearchData, now: number): Html[] {
  const parts: { at: number; shown: Html }[] = [];
  if (report !== null) {
    const kind = report.type === "final" ? "Final report of a shift" : "Interim report of a shift";
    const { generatedAt: at, result } = report;
    parts.push({ at, shown: writing("report", kind, iso(at), result, now) });
  }
  if (snapshot !== null) {
    const { generatedAt } = snapshot;
    const shown = writing("snapshot", "On-demand result", generatedAt, snapshot, now);
    parts.push({ at: Date.parse(generatedAt), shown });
  }
  return parts.toSorted((a, b) => b.at - a.at).map(({ shown }) => shown);
}

type Result = Pick<
  NonNullable<ResearchData["snapshot"]>,
  "fullAnalysis" | "shortSummary" | "marketOutlook" | "impacts" | "sources" | "missing"
>;

function writing(
  id: string,
  kind: string,
  at: string,
  { fullAnalysis, shortSummary, marketOutlook, impacts, sources, missing }: Result,
  now: number,
): Html {
  const paragraphs = fullAnalysis
    .split(/\n{2,}/)
    .map((words) => words.trim())
    .filter((words) => words !== "")
    .map((words) => html`<p>${cited(words, sources)}</p>`);
  const items = impacts.map(
    ({ title, detail, sentiment, confidence }) =>
      html`<li>
        <div class="head">
          <strong>${title}</strong
          ><span class="small">${sideTag(sentiment)} confidence ${Math.round(confidence * 100)} %</span>
        </div>
        <p class="small">${cited(detail, sources)}</p>
      </li>`,
  );
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${kind}</h2>
    <p>${sideTag(marketOutlook)} <strong>${withoutMark(shortSummary)}</strong></p>
    <p class="small">
      A language model wrote this ${since(at, now)}: outlook, causes and forecasts are its view. Code printed
      its figures from the sources beside them.
    </p>
    ${
      missing.length === 0
        ? null
        : html`<p class="small">Not collected: ${missing.map((one) => nameOf(one)).join(", ")}.</p>`
    }
    <div class="grid aside">
      <div class="card report">
        <h3>Analysis</h3>
        ${paragraphs}
      </div>
      <div class="card">
        <h3>Its view of what moves</h3>
        ${
          items.length === 0
            ? html`<p>Nothing in particular.</p>`
            : html`<ul class="list">
                ${items}
              </ul>`
        }
      </div>
    </div>
    ${sourcesOf(id, sources, now)}
  </section>`;
}

/** A text with its citations in small type, each a link to its source. */
function cited(text: string, sources: Result["sources"]): Html[] {
  return linkedCitations(text, sources).map((span) =>
    typeof span === "object" && "href" in span
      ? html`<small class="cite"><a href="${span.href}" rel="noopener nofollow">${span.words}</a></small>`
      : html`${spanText(span)}`,
  );
}

/** The facts with which the figures of a text were compared, by the numbers that it cites. */
function sourcesOf(id: string, sources: Result["sources"], now: number): Html | null {
  if (sources.length === 0) return null;
  const items = sources.map(({ id: number, name, url, observedAt, says }) => {
    return html`<li value="${number}">
      ${says} <span class="small">${sourceLink(name, url)}, ${since(observedAt, now)}</span>
    </li>`;
  });
  return html`<details aria-label="Sources of ${id}">
    <summary>${many(sources.length, "source")}</summary>
    <ol>
      ${items}
    </ol>
  </details>`;
}

/** A source's name, with a link to its page. */
function sourceLink(name: string, url: string | null): Html {
  const href = safeAddress(url);
  return href === null ? html`${name}` : html`<a href="${href}" rel="noopener nofollow">${name}</a>`;
}

/** The summary begins with the mark of its outlook, which the tag beside it says in words. */
function withoutMark(summary: string): string {
  return summary.replace(/^(?:🟢|🔴|🟡)\s*/u, "");
}
