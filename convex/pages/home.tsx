import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatBigUsd } from "../lib/text/numbers";
import { getSourceName } from "../figures/publicSources";
import { DAY, HOUR } from "../lib/time";
import { marketSnapshot, type MarketSnapshot } from "../market/shapes";
import { MARKET_KEY } from "../market/snapshot";
import { readPrices, type PublicPrices } from "../market/views";
import { SIGNAL_TOKENS } from "../signals/rules";
import { Chart, isDrawn, toPoints } from "./chart";
import type { Page } from "./layout";
import {
  CardSection,
  Change,
  Empty,
  Ending,
  Moment,
  formatMoney,
  Movements,
  OpenBot,
  OrBuy,
  Out,
  Side,
  Since,
  joinSourceNames,
  Table,
} from "./parts";
import { SignalFigure, addPath, type SignalData } from "./signal";
import { readWhales } from "./whales";

/**
 * The first page: prices, the latest signals, their record, the last whales, the market. It shows stored data with its age:
 * no visit calls a provider or starts work.
 */

const COINS = 10;
const WHALES = 5;

/** The hours of a price's course, which is as long as its change. */
export const CHART_HOURS = 24;

const NAMES = { BTC: "Bitcoin", ETH: "Ethereum" } as const;

export async function buildHomePage(ctx: ActionCtx, now: number): Promise<Page> {
  const [{ prices }, market, signals, alerts, { record }] = await Promise.all([
    readPrices(ctx, CHART_HOURS),
    readMarket(ctx, now),
    readLatest(ctx),
    readWhales(ctx, now, WHALES),
    ctx.runQuery(internal.signals.history.listSignalPage, { token: null, limit: 1 }),
  ]);
  const content = (
    <>
      <h1>Crypto prices, research and signals, with an open record</h1>
      <p class="lead">
        Every figure names its source, and every signal counts. Ask <a href="/start#bot">in a chat</a>,{" "}
        <a href="/start#ai">from an AI client</a> or <a href="/start#curl">from a program</a>
        <OrBuy>buy one report</OrBuy>: you need no account.
      </p>
      {record.n > 0 && (
        <p class="note">
          {record.summary} <a href="/record">The whole record</a>
        </p>
      )}
      <p>
        <OpenBot>Open the bot</OpenBot>
      </p>
      <h2 id="prices">Prices</h2>
      <div class="grid two">
        {SIGNAL_TOKENS.map((token) => (
          <PriceCard token={token} price={prices[token]} now={now} />
        ))}
      </div>
      <h2 id="signals">Latest signals</h2>
      {signals.length === 0 ? (
        <Empty>
          One signal for BTC and one for ETH come every day at 08:00 UTC, the first at the next one.
        </Empty>
      ) : (
        <div class="grid two">
          {signals.map((one) => (
            <SignalCard data={one} />
          ))}
        </div>
      )}
      <div class={market === null ? "grid" : "grid two"}>
        <section aria-labelledby="whales">
          <h2 id="whales">Latest whales</h2>
          {alerts.length === 0 ? (
            <Empty>
              Large movements stand here when there are some: looked for on Base every five minutes, and on
              other chains every hour.
            </Empty>
          ) : (
            <>
              <div class="card">
                <Movements alerts={alerts} now={now} />
              </div>
              <p>
                <a href="/whales">All whales</a>
              </p>
            </>
          )}
        </section>
        {market !== null && (
          <section aria-labelledby="market">
            <h2 id="market">The market</h2>
            <Market {...market} prices={prices} now={now} />
          </section>
        )}
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

/** The stored market; `null` if it is older than an hour. */
async function readMarket(ctx: ActionCtx, now: number): Promise<MarketSnapshot | null> {
  const stored = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key: MARKET_KEY });
  if (stored === null || now - stored.fetchedAt > HOUR) return null;
  return marketSnapshot.parse(JSON.parse(stored.body));
}

async function readLatest(ctx: ActionCtx): Promise<SignalData[]> {
  const rows = await ctx.runQuery(internal.signals.history.readLatestSignals, { tokens: [...SIGNAL_TOKENS] });
  return Promise.all(rows.map((row) => addPath(ctx, row)));
}

type Prices = PublicPrices["prices"];
type Priced = { token: keyof Prices; price: Prices["BTC"]; now: number };

/** A token's newest price, with its course over a day. */
export function PriceCard({ token, price, now }: Priced) {
  return (
    <CardSection id={token} title={NAMES[token]} aside={<Change value={price?.change24hPercent ?? null} />}>
      {price === null ? (
        <Empty>The first price comes within a minute or two.</Empty>
      ) : (
        <>
          <p class="figure">{formatMoney(price.priceUsd)}</p>
          <Course token={token} price={price} />
          <p class="small">
            {getSourceName(price.source)}, <Since at={price.observedAt} now={now} />. Change and line: since
            this time yesterday; hours in UTC.
          </p>
        </>
      )}
    </CardSection>
  );
}

/** A price's course over the day of its change, whose sign it takes; nothing for fewer than two prices. */
function Course({ token, price }: { token: string; price: NonNullable<Prices["BTC"]> }) {
  const { change24hPercent: change, priceUsd, observedAt, closes } = price;
  const from = Date.parse(observedAt) - DAY;
  const dayAgo = change === null ? [] : [{ at: from, value: priceUsd / (1 + change / 100) }];
  const points = [
    ...dayAgo,
    ...toPoints(closes).filter(({ at }) => at > from && at < Date.parse(observedAt)),
    { at: Date.parse(observedAt), value: priceUsd },
  ];
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || !isDrawn(points)) return null;
  const values = points.map(({ value }) => value);
  const moved = change ?? last.value - first.value;
  const way = moved > 0 ? "up" : moved < 0 ? "down" : "flat";
  return (
    <Chart
      id={`course-${token}`}
      size="spark"
      title={`${token} in USD, hour by hour`}
      says={`From ${formatMoney(first.value)} to ${formatMoney(last.value)}; lowest ${formatMoney(Math.min(...values))}, highest ${formatMoney(Math.max(...values))}.`}
      from={first.at}
      to={last.at}
      levels={[{ kind: "zero", value: first.value }]}
      lines={[{ kind: way, points, isFilled: true }]}
      dots={[{ kind: way, ...last }]}
    />
  );
}

function SignalCard({ data }: { data: SignalData }) {
  const { id, token, signal, confidence, generatedAt, reasoning } = data.signal;
  const ended = (
    <span>
      <Side side={signal} /> <Ending signal={data.signal} />
    </span>
  );
  return (
    <CardSection
      id={id}
      title={<a href={`/signals/${id}`}>{`${token}, ${id.slice(token.length + 1)}`}</a>}
      aside={ended}
    >
      <p class="small">
        Issued <Moment at={generatedAt} />, stated confidence {confidence} %.
      </p>
      <SignalFigure data={data} />
      <details>
        <summary>The model's view</summary>
        <p>“{reasoning}”</p>
      </details>
    </CardSection>
  );
}

function Market({
  fetchedAt,
  top20,
  trending: searched,
  sources,
  prices,
  now,
}: MarketSnapshot & { prices: Prices; now: number }) {
  /** A coin has one price and one change on this page: the live ones, where it is sampled. */
  const live: Readonly<Record<string, Prices["BTC"]>> = prices;
  const names = joinSourceNames(sources.map(({ name }) => ({ source: name })));
  /** CoinGecko's terms require a link beside its data. */
  const isOwed = top20.some(({ source, sizeSource }) => [source, sizeSource].includes("coingecko"));
  const trending = searched.slice(0, 6).map(({ symbol }) => symbol);
  return (
    <>
      <div class="card">
        <Table
          name="The ten largest coins"
          heads={["Coin", "Price", "24 h", "Market cap"]}
          wide={3}
          rows={top20.slice(0, COINS).map(({ name, symbol, price, change24h, marketCap }) => [
            <>
              {symbol} {name !== symbol && <span class="soft">{name}</span>}
            </>,
            formatMoney(live[symbol]?.priceUsd ?? price),
            <Change value={live[symbol]?.change24hPercent ?? change24h} />,
            formatBigUsd(marketCap),
          ])}
        />
      </div>
      <p class="small">
        {names === "" ? "By a language model; no source could be reached to check it" : `Prices by ${names}`},{" "}
        <Since at={fetchedAt} now={now} />.{trending.length > 0 && ` Trending: ${trending.join(", ")}.`}
        {isOwed && (
          <>
            {" "}
            Data provided by <Out to="https://www.coingecko.com">CoinGecko</Out>.
          </>
        )}
      </p>
    </>
  );
}
