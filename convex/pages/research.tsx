import { many } from "../lib/text/strings";
import { iso } from "../lib/time";
import { spanText } from "../messenger/format";
import { linkedCitations, safeAddress } from "../messenger/words";
import type { ResearchData } from "./data";
import { Course } from "./home";
import type { Page } from "./layout";
import { Chips, Empty, money, Side, Since, sourceNames } from "./parts";

/** The latest research on a token, with measured figures apart from a model's words. */

const OFFERED = ["BTC", "ETH", "SOL"];

export function researchPage(data: ResearchData, now: number): Page {
  const { token, report, snapshot, measured } = data;
  const subject = token === "" ? "the whole market" : token;
  const writings = [
    ...(report === null
      ? []
      : [
          {
            id: "report",
            kind: report.type === "final" ? "Final report of a shift" : "Interim report of a shift",
            at: iso(report.generatedAt),
            result: report.result,
          },
        ]),
    ...(snapshot === null
      ? []
      : [
          {
            id: "snapshot",
            kind: "On-demand result",
            at: snapshot.generatedAt,
            result: snapshot,
          },
        ]),
  ].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const content = (
    <>
      <h1>Research on {subject}</h1>
      <Chips
        label="Tokens"
        choices={["", ...OFFERED].map((one) => ({
          href: one === "" ? "/research" : `/research?token=${one}`,
          name: one === "" ? "Whole market" : one,
          isShown: one === token,
        }))}
      />
      <form action="/research" method="get">
        <label>
          Another token
          <input name="token" autocomplete="off" autocapitalize="characters" maxlength={20} value="" />
        </label>
        <button>Show</button>
      </form>
      <Measured token={token} measured={measured} />
      {writings.map((one) => (
        <Writing {...one} now={now} />
      ))}
      {writings.length === 0 && <Empty>Nothing has been written on {subject} yet.</Empty>}
      <p>
        A new report on {subject} is written when somebody asks: <a href="/start#curl">free by a call</a>, or{" "}
        <a href="/start#buy">bought for 1 USDC</a>, which no limit holds up.
      </p>
    </>
  );
  return {
    title: `Research on ${subject}`,
    description: `The latest report on ${subject}.`,
    path: "/research",
    content,
  };
}

function Measured({ token, measured }: Pick<ResearchData, "token" | "measured">) {
  const last = measured.at(-1);
  if (last === undefined) return null;
  const points = measured.map(({ at, priceUsd }) => ({ at: Date.parse(at), value: priceUsd }));
  return (
    <section aria-labelledby="measured">
      <h2 id="measured">Measured</h2>
      <div class="card">
        <p class="figure">
          {money(last.priceUsd)}
          <small class="below">
            at the last full hour; hour by hour over two days, by {sourceNames(measured)}
          </small>
        </p>
        <Course id="measured-course" token={token} points={points} />
      </div>
    </section>
  );
}

type Result = Pick<
  NonNullable<ResearchData["snapshot"]>,
  "fullAnalysis" | "shortSummary" | "marketOutlook" | "impacts" | "sources"
>;

/** The summary begins with the mark of its outlook, which the tag beside it says in words. */
export function withoutMark(summary: string): string {
  return summary.replace(/^(?:🟢|🔴|🟡)\s*/u, "");
}

/** A report; the words first, where they come from behind them. */
function Writing({
  id,
  kind,
  at,
  result: { fullAnalysis, shortSummary, marketOutlook, impacts, sources },
  now,
}: {
  id: string;
  kind: string;
  at: string;
  result: Result;
  now: number;
}) {
  const paragraphs = fullAnalysis
    .split(/\n{2,}/)
    .map((words) => words.trim())
    .filter((words) => words !== "");
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{kind}</h2>
      <p>
        <Side side={marketOutlook} /> <strong>{withoutMark(shortSummary)}</strong>
      </p>
      <div class="grid aside">
        <div class="card report">
          <h3>Analysis</h3>
          {paragraphs.map((words) => (
            <p>
              <Cited text={words} sources={sources} />
            </p>
          ))}
        </div>
        <div class="card">
          <h3>Its view of what moves</h3>
          {impacts.length === 0 ? (
            <p>Nothing in particular.</p>
          ) : (
            <ul class="list">
              {impacts.map(({ title, detail, sentiment, confidence }) => (
                <li>
                  <div class="head">
                    <strong>{title}</strong>
                    <span class="small">
                      <Side side={sentiment} /> confidence {Math.round(confidence * 100)} %
                    </span>
                  </div>
                  <p class="small">
                    <Cited text={detail} sources={sources} />
                  </p>
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
      <p class="small">
        A language model wrote this <Since at={at} now={now} />: outlook, causes and forecasts are its view.
        Code printed its figures from the sources.
      </p>
      <Sources id={id} sources={sources} now={now} />
    </section>
  );
}

/** A text whose citations are small numbers, each a link to its source if that has an address. */
export function Cited({ text, sources }: { text: string; sources: Result["sources"] }) {
  return (
    <>
      {linkedCitations(text, sources).map((span) =>
        typeof span === "object" && "href" in span ? (
          <Mark words={span.words} href={span.href} />
        ) : (
          spanText(span)
            .split(/(\[\d+[^\]]*\])/)
            .map((part) => (/^\[\d/.test(part) ? <Mark words={part} /> : part))
        ),
      )}
    </>
  );
}

/** `[13: bids within 1 %]` as a small 13, whose words stand behind it. */
function Mark({ words, href }: { words: string; href?: string }) {
  const [, number, what] = /^\[([\d, ]+)(?:: *(.*))?\]$/.exec(words) ?? ["", words];
  return (
    <sup class="cite" title={what}>
      {href === undefined ? (
        number
      ) : (
        <a href={href} rel="noopener nofollow">
          {number}
        </a>
      )}
    </sup>
  );
}

/** The facts with which the figures of a text were compared, by the numbers that it cites. */
function Sources({ id, sources, now }: { id: string; sources: Result["sources"]; now: number }) {
  if (sources.length === 0) return null;
  return (
    <details aria-label={`Sources of ${id}`}>
      <summary>{many(sources.length, "source")}</summary>
      <ol>
        {sources.map(({ id: number, name, url, observedAt, says }) => {
          const href = safeAddress(url);
          return (
            <li value={number}>
              {says}{" "}
              <span class="small">
                {href === null ? (
                  name
                ) : (
                  <a href={href} rel="noopener nofollow">
                    {name}
                  </a>
                )}
                , <Since at={observedAt} now={now} />
              </span>
            </li>
          );
        })}
      </ol>
    </details>
  );
}
