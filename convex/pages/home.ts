import { sourceName } from "../lib/publicSources";
import { iso } from "../lib/time";
import type { MarketFigures } from "../market/tables";
import { about } from "../ops/reference/about";
import { sparkline } from "./charts/sparkline";
import type { Page } from "./layout";
import { html, type Html } from "./markup";
import { askBot, botLink, ending, movementList, numbers, sideTag, signalFigure, wideTable } from "./parts";
import type { HomeData, Read } from "./data";
import type { SignalData } from "./shapes";
import { bigUsd, usd } from "../lib/text/numbers";
import { ago, change, moment, since, sourceNames } from "./words";

/** The first page: prices, today's signals, the last whales, the last stored market. */

const LISTED = 10;

export function homePage({ prices, market, signals, whales }: HomeData, now: number): Page {
  const content = html`<h1>${about.info.title}</h1>
    <p class="lead">
      Crypto prices, research, and trading signals with an open record. Each figure names its source.
      ${botLink("Prices and alerts in a chat")}
    </p>
    <h2 id="prices">Prices</h2>
    ${whenRead(prices, ({ prices: known }) => {
      const cards = (["BTC", "ETH"] as const).map((token) =>
        priceCard(token, known[token], listedCoin(market, token), now),
      );
      return html`<div class="grid two">${cards}</div>`;
    })}
    <h2 id="signals">Latest signals</h2>
    ${whenRead(signals, (all) =>
      all.length === 0
        ? html`<p>No signal has been issued yet. One for BTC and one for ETH come every day at 08:00 UTC.</p>`
        : html`<div class="grid two">${all.map((one) => signalCard(one))}</div>
            <p>How every signal turned out: <a href="/record">the record</a>.</p>`,
    )}
    <div class="grid two">
      <section aria-labelledby="whales">
        <h2 id="whales">Latest whales</h2>
        ${whenRead(whales, ({ alerts }) =>
          alerts.length === 0
            ? html`<p>No large movement in the last day.</p>`
            : html`<div class="card">${movementList(alerts, now)}</div>
                <p><a href="/whales">All of the last day</a>: measured on Base or reported by an agent.</p>`,
        )}
      </section>
      <section aria-labelledby="market">
        <h2 id="market">The market</h2>
        ${whenRead(market, (stored) =>
          stored === null
            ? html`<p>
                ${askBot("Nobody has asked for the market yet. To have it shown here, ask the bot", "/ask How is the market?")}
              </p>`
            : marketTable(stored, prices, now),
        )}
      </section>
    </div>`;
  return {
    title: about.info.title,
    description: about.info.summary,
    path: "/",
    data: ["/mcp/prices", "/mcp/market", "/mcp/signals/latest", "/mcp/whale-alerts?hours=24"],
    content,
  };
}

function whenRead<Value>(part: Read<Value>, shown: (value: Value) => Html): Html {
  if (part === "failed") return html`<p class="note warn">This part could not be read just now.</p>`;
  return shown(part.value);
}

type TokenPrice = Extract<HomeData["prices"], object>["value"]["prices"]["BTC"];

type Listed = MarketFigures["top20"][number];

/** The change in the market's list, for coins that were not measured. */
function listedCoin(market: HomeData["market"], symbol: string): Listed | null {
  const rows = market === "failed" ? undefined : market.value?.figures.top20;
  return rows?.find((row) => row.symbol === symbol) ?? null;
}

function priceCard(token: "BTC" | "ETH", price: TokenPrice, listed: Listed | null, now: number): Html {
  const name = token === "BTC" ? "Bitcoin" : "Ethereum";
  if (price === null) {
    return html`<section class="card" aria-labelledby="${token}">
      <h3 id="${token}">${name}</h3>
      ${
        listed === null
          ? html`<p>No price has been taken yet.</p>`
          : html`<p class="figure">${usd(listed.price)} <small>USD</small></p>
              <p class="small">From the list of the market below. Its own chart begins soon.</p>`
      }
    </section>`;
  }
  const { priceUsd, source, observedAt, change24hPercent, closes } = price;
  const course = sparkline(`course-${token}`, token, [...closes, { at: observedAt, priceUsd, source }]);
  return html`<section class="card" aria-labelledby="${token}">
    <div class="head">
      <h3 id="${token}">${name}</h3>
      ${change(change24hPercent ?? listed?.change24h ?? null)}
    </div>
    <p class="figure">${usd(priceUsd)} <small>USD</small></p>
    ${course ?? html`<p class="small">Its chart begins with the next full hour.</p>`}
    <p class="small">
      ${sourceName(source)}, ${since(observedAt, now)}. ${course === null ? "" : "Hourly over the last day."}
    </p>
  </section>`;
}

function signalCard(data: SignalData): Html {
  const { signal } = data;
  const { id, token, confidence, generatedAt, reasoning } = signal;
  return html`<section class="card" aria-labelledby="${id}">
    <div class="head">
      <h3 id="${id}"><a href="/signals/${id}">${token}, ${id.slice(token.length + 1)}</a></h3>
      <span>${sideTag(signal.signal)} ${ending(signal)}</span>
    </div>
    <p class="small">Issued ${moment(generatedAt)}, stated confidence ${confidence} %.</p>
    ${signalFigure(data)}
    <details>
      <summary>The model's view</summary>
      <p>“${reasoning}”</p>
    </details>
  </section>`;
}

/** The sources that have to be named with a link beside the table, by their terms. */
function credit({ top20 }: MarketFigures): Html | null {
  const isListed = top20.some(({ source, sizeSource }) => [source, sizeSource].includes("coingecko"));
  return isListed
    ? html`Data provided by <a href="https://www.coingecko.com" rel="noopener nofollow">CoinGecko</a>.`
    : null;
}

function marketTable(
  { fetchedAt, figures, sources }: NonNullable<Extract<HomeData["market"], object>["value"]>,
  prices: HomeData["prices"],
  now: number,
): Html {
  /** A coin has one change on this page: that of its measured hours, if there are any. */
  const changeOf = (symbol: string, listed: number | null) => {
    const known: Readonly<Record<string, TokenPrice>> = prices === "failed" ? {} : prices.value.prices;
    return known[symbol]?.change24hPercent ?? listed;
  };
  const coins = wideTable("The ten largest coins", figures.top20.slice(0, LISTED), [
    {
      head: "Coin",
      kind: "name",
      cell: ({ name, symbol }) =>
        html`${symbol}${name === symbol ? null : html` <span class="soft">${name}</span>`}`,
    },
    numbers("USD", ({ price }) => usd(price)),
    numbers("24 h", ({ symbol, change24h }) => change(changeOf(symbol, change24h))),
    numbers("Market cap", ({ marketCap }) => bigUsd(marketCap)),
  ]);
  const names = sourceNames(sources.map(({ name }) => ({ source: name })));
  const trending = figures.trending
    .slice(0, 6)
    .map(({ symbol }) => symbol)
    .join(", ");
  return html`<div class="card">${coins}</div>
    <p class="small">
      ${names === "" ? "According to a language model; no source could be reached to check it" : `Prices checked against ${names}; a language model has put the list together`},
      ${ago(fetchedAt, now)} (<time datetime="${iso(fetchedAt)}">${iso(fetchedAt).slice(11, 16)} UTC</time>).
      Trending: ${trending}. ${credit(figures)}
    </p>`;
}
