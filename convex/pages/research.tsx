import type { ActionCtx } from "../_generated/server";
import { formatCount } from "../lib/text/strings";
import { getStoredListing } from "../market/listing";
import { readStoredMarket } from "../market/views";
import { getSpanText, linkCitations, toSafeUrl } from "../messenger/format";
import { readWritings, type Writing, type Written } from "../research/http";
import type { Page } from "./layout";
import { Chips, Empty, OrBuy, Out, Side, Since } from "./parts";
import { PriceCard } from "./prices";

/** The latest research on a token, with measured figures apart from a model's words. */

const OFFERED = ["BTC", "ETH", "SOL"];

/** @param name A token's symbol or name; omitted for the whole market, whose shift reports are their users' own. */
export async function buildResearchPage(
  ctx: ActionCtx,
  name: string | undefined,
  now: number,
): Promise<Page> {
  const token = name === undefined ? "" : (await getStoredListing(ctx, name)).symbol;
  const [writings, market] = await Promise.all([readWritings(ctx, token), readStoredMarket(ctx)]);
  const subject = token === "" ? "the whole market" : token;
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
      {market.coins.has(token) && (
        <>
          <h2>Measured</h2>
          <PriceCard symbol={token} market={market} now={now} />
        </>
      )}
      {writings.map((one) => (
        <Report {...one} now={now} />
      ))}
      {writings.length === 0 && <Empty>Nothing has been written on {subject} yet.</Empty>}
      <p>
        A new report on {subject} is written when somebody asks: free <a href="/start#bot">in the chat</a> by{" "}
        <code>/research{token === "" ? "" : ` ${token}`}</code> or <a href="/start#curl">by a call</a>
        <OrBuy>bought for 1 USDC, which no limit holds up</OrBuy>.
      </p>
    </>
  );
  return {
    title: `Research on ${subject}`,
    description: `The latest report on ${subject}.`,
    path: "/research",
    query: token === "" ? "" : `?token=${encodeURIComponent(token)}`,
    content,
    ...(writings.length === 0 ? {} : { picture: token === "" ? "report" : `report-${token}` }),
  };
}

/** A report: its text, then its sources. */
function Report({ kind, at, result, now }: Writing & { now: number }) {
  const { fullAnalysis, sources } = result;
  const paragraphs = fullAnalysis
    .split(/\n{2,}/)
    .map((words) => words.trim())
    .filter((words) => words !== "");
  return (
    <section aria-label={kind}>
      <h2>{kind}</h2>
      <OutlookLine of={result} />
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
          <Impacts of={result} />
        </div>
      </div>
      <p class="small">
        A language model wrote this <Since at={at} now={now} />: outlook, causes and forecasts are its view.
        Code printed its figures from the sources.
      </p>
      <Sources sources={sources} now={now} />
    </section>
  );
}

/** The summary begins with the mark of its outlook, which the tag beside it says in words. */
export function OutlookLine({ of }: { of: Pick<Written, "marketOutlook" | "shortSummary"> }) {
  return (
    <p>
      <Side side={of.marketOutlook} /> <strong>{of.shortSummary.replace(/^(?:🟢|🔴|🟡)\s*/u, "")}</strong>
    </p>
  );
}

/** @param first The number of shown impacts; all when left out. */
export function Impacts({ of, first }: { of: Pick<Written, "impacts" | "sources">; first?: number }) {
  if (of.impacts.length === 0) return <p>Nothing in particular.</p>;
  return (
    <ul class="list">
      {of.impacts.slice(0, first).map(({ title, detail, sentiment, confidence }) => (
        <li>
          <div class="head">
            <strong>{title}</strong>
            <span class="small">
              <Side side={sentiment} /> confidence {Math.round(confidence * 100)} %
            </span>
          </div>
          <p class="small">
            <Cited text={detail} sources={of.sources} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** A text whose citations are small numbers, linked to sources with an address. */
function Cited({ text, sources }: { text: string; sources: Written["sources"] }) {
  return (
    <>
      {linkCitations(text, sources).map((span) =>
        typeof span === "object" && "href" in span ? (
          <Mark words={span.words} href={span.href} />
        ) : (
          getSpanText(span)
            .split(/(\[\d[^[\]]*\])/)
            .map((part) => (/^\[\d/.test(part) ? <Mark words={part} /> : part))
        ),
      )}
    </>
  );
}

/** `[13: bids within 1 %]` as a small 13 with the words as its tooltip. */
function Mark({ words, href = null }: { words: string; href?: string | null }) {
  const [, number, what] = /^\[([\d, ]+)(?::(.*))?\]$/.exec(words) ?? ["", words];
  return (
    <sup class="cite" title={what?.trim()}>
      <Out to={href}>{number}</Out>
    </sup>
  );
}

/** The facts that the figures of a text were compared with, by their citation numbers. */
function Sources({ sources, now }: { sources: Written["sources"]; now: number }) {
  if (sources.length === 0) return null;
  return (
    <details>
      <summary>{formatCount(sources.length, "source")}</summary>
      <ol>
        {sources.map(({ id: number, name, url, observedAt, says }) => (
          <li value={number}>
            {says}{" "}
            <span class="small">
              <Out to={toSafeUrl(url)}>{name}</Out>, <Since at={observedAt} now={now} />
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}
