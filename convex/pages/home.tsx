import type { Child } from "hono/jsx";
import { bigUsd } from "../lib/text/numbers";
import { iso } from "../lib/time";
import { sourceName } from "../lib/publicSources";
import type { MarketFigures } from "../market/tables";
import type { ShownPrices } from "../market/views";
import { Chart, isDrawn } from "./chart";
import type { HomeData, Market as Stored, Read, SignalData } from "./data";
import type { Page } from "./layout";
import {
  ago,
  Change,
  Empty,
  Ending,
  Moment,
  money,
  Movements,
  Side,
  Since,
  sourceNames,
  Table,
} from "./parts";
import { SignalFigure } from "./signal";

/** The first page: prices, the latest signals, how all of them did, the last whales, the market. */

const LISTED = 10;

const WAYS = [
  ["curl", "From a program", "Market, research, signals and whales, without an account.", "The first call"],
  ["ai", "From an AI client", "19 tools: prices, research, signals, a wallet.", "The block to paste"],
  ["buy", "One report", "1 USDC buys one on any token, with every source.", "How to buy one"],
] as const;

export function homePage({ prices, market, signals, whales, record }: HomeData, now: number): Page {
  const content = (
    <>
      <h1>Crypto prices, research and signals, with an open record</h1>
      <p class="lead">
        Every figure names its source, and every signal counts. Ask from a program, from an AI client or in a
        chat: <a href="/start">start here</a>, without an account.
      </p>
      <h2 id="prices">Prices</h2>
      <WhenRead part={prices}>
        {({ prices: known }) => (
          <div class="grid two">
            <PriceCard token="BTC" name="Bitcoin" price={known.BTC} now={now} />
            <PriceCard token="ETH" name="Ethereum" price={known.ETH} now={now} />
          </div>
        )}
      </WhenRead>
      <h2 id="signals">Latest signals</h2>
      <WhenRead part={signals}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              One signal for BTC and one for ETH come every day at 08:00 UTC, the first at the next one.
            </Empty>
          ) : (
            <div class="grid two">
              {all.map((one) => (
                <SignalCard data={one} />
              ))}
            </div>
          )
        }
      </WhenRead>
      <WhenRead part={record}>
        {(summary) =>
          summary !== null && (
            <p class="note">
              {summary} <a href="/record">The whole record</a>
            </p>
          )
        }
      </WhenRead>
      <div class={market === null ? "grid" : "grid two"}>
        <section aria-labelledby="whales">
          <h2 id="whales">Latest whales</h2>
          <WhenRead part={whales}>
            {(alerts) =>
              alerts.length === 0 ? (
                <Empty>
                  Large movements stand here when there are some: looked for on Base every two minutes, and on
                  other chains every hour.
                </Empty>
              ) : (
                <>
                  <div class="card">
                    <Movements alerts={alerts} now={now} />
                  </div>
                  <p>
                    <a href="/whales">All of the last day</a>
                  </p>
                </>
              )
            }
          </WhenRead>
        </section>
        {market !== null && (
          <section aria-labelledby="market">
            <h2 id="market">The market</h2>
            <WhenRead part={market}>
              {(stored) => <Market stored={stored} prices={prices} now={now} />}
            </WhenRead>
          </section>
        )}
      </div>
      <h2 id="begin">Use it</h2>
      <div class="grid three">
        {WAYS.map(([href, title, words, link]) => (
          <div class="card">
            <h3>{title}</h3>
            <p>{words}</p>
            <a href={`/start#${href}`}>{link}</a>
          </div>
        ))}
      </div>
    </>
  );
  return {
    title: "Today's prices and signals",
    description: "Crypto prices, research and trading signals with an open record.",
    path: "/",
    content,
  };
}

/** A part of the page, or that it could not be read. */
function WhenRead<Value>({ part, children }: { part: Read<Value>; children: (value: Value) => Child }) {
  return part === "failed" ? (
    <Empty>This part could not be read just now.</Empty>
  ) : (
    <>{children(part.value)}</>
  );
}

type TokenPrice = ShownPrices["prices"]["BTC"];

function PriceCard({
  token,
  name,
  price,
  now,
}: {
  token: string;
  name: string;
  price: TokenPrice;
  now: number;
}) {
  if (price === null) {
    return (
      <section class="card" aria-labelledby={token}>
        <h3 id={token}>{name}</h3>
        <Empty>The first price comes within five minutes.</Empty>
      </section>
    );
  }
  const { priceUsd, source, observedAt, change24hPercent, closes } = price;
  const points = [...closes, { at: observedAt, priceUsd }].map((one) => ({
    at: Date.parse(one.at),
    value: one.priceUsd,
  }));
  return (
    <section class="card" aria-labelledby={token}>
      <div class="head">
        <h3 id={token}>{name}</h3>
        <Change value={change24hPercent} />
      </div>
      <p class="figure">{money(priceUsd)}</p>
      <Course id={`course-${token}`} token={token} points={points} />
      <p class="small">
        {sourceName(source)}, <Since at={observedAt} now={now} />.
        {isDrawn(points) && " The line: its hours, of a day at most."}
      </p>
    </section>
  );
}

/** A price's course without values; nothing for fewer than two prices. */
export function Course({
  id,
  token,
  points,
}: {
  id: string;
  token: string;
  points: readonly { at: number; value: number }[];
}) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || !isDrawn(points)) return null;
  const prices = points.map(({ value }) => value);
  const way = last.value > first.value ? "up" : last.value < first.value ? "down" : "flat";
  return (
    <Chart
      id={id}
      size="spark"
      title={`${token} in USD, hour by hour`}
      says={`From ${money(first.value)} to ${money(last.value)}; lowest ${money(Math.min(...prices))}, highest ${money(Math.max(...prices))}.`}
      from={first.at}
      to={last.at}
      lines={[{ kind: way, points, isFilled: true }]}
      dots={[{ kind: way, ...last }]}
    />
  );
}

function SignalCard({ data }: { data: SignalData }) {
  const { signal } = data;
  const { id, token, confidence, generatedAt, reasoning } = signal;
  return (
    <section class="card" aria-labelledby={id}>
      <div class="head">
        <h3 id={id}>
          <a href={`/signals/${id}`}>
            {token}, {id.slice(token.length + 1)}
          </a>
        </h3>
        <span>
          <Side side={signal.signal} /> <Ending signal={signal} />
        </span>
      </div>
      <p class="small">
        Issued <Moment at={generatedAt} />, stated confidence {confidence} %.
      </p>
      <SignalFigure data={data} />
      <details>
        <summary>The model's view</summary>
        <p>“{reasoning}”</p>
      </details>
    </section>
  );
}

/** The sources that have to be named with a link beside the table, by their terms. */
function Credit({ figures: { top20 } }: { figures: MarketFigures }) {
  const isListed = top20.some(({ source, sizeSource }) => [source, sizeSource].includes("coingecko"));
  return isListed ? (
    <>
      {" "}
      Data provided by{" "}
      <a href="https://www.coingecko.com" rel="noopener nofollow">
        CoinGecko
      </a>
      .
    </>
  ) : null;
}

function Market({
  stored: { fetchedAt, figures, sources },
  prices,
  now,
}: {
  stored: Stored;
  prices: HomeData["prices"];
  now: number;
}) {
  /** A coin has one change on this page: that of its measured hours, if there are any. */
  const known: Readonly<Record<string, TokenPrice>> = prices === "failed" ? {} : prices.value.prices;
  const names = sourceNames(sources.map(({ name }) => ({ source: name })));
  const trending = figures.trending.slice(0, 6).map(({ symbol }) => symbol);
  return (
    <>
      <div class="card">
        <Table
          name="The ten largest coins"
          rows={figures.top20.slice(0, LISTED)}
          columns={[
            {
              head: "Coin",
              kind: "name",
              cell: ({ name, symbol }) => (
                <>
                  {symbol} {name !== symbol && <span class="soft">{name}</span>}
                </>
              ),
            },
            { head: "Price", kind: "right", cell: ({ price }) => money(price) },
            {
              head: "24 h",
              kind: "right",
              cell: ({ symbol, change24h }) => (
                <Change value={known[symbol]?.change24hPercent ?? change24h} />
              ),
            },
            { head: "Market cap", kind: "right extra", cell: ({ marketCap }) => bigUsd(marketCap) },
          ]}
        />
      </div>
      <p class="small">
        {names === "" ? "By a language model; no source could be reached to check it" : `Prices by ${names}`},{" "}
        <time datetime={iso(fetchedAt)}>{ago(fetchedAt, now)}</time>.
        {trending.length > 0 && ` Trending: ${trending.join(", ")}.`}
        <Credit figures={figures} />
      </p>
    </>
  );
}
