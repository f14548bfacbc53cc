import { joinSourceNames } from "../figures/publicSources";
import { COIN_NAMES, isMajor } from "../lib/money/coins";
import { formatBigUsd, formatMoney } from "../lib/text/numbers";
import { toIso } from "../lib/time";
import { PRICED_TOKENS } from "../market/tables";
import type { StoredMarket } from "../market/views";
import { CourseChart } from "../pictures/courses";
import { CardSection, Change, Empty, Out, Since, Table } from "./parts";

/** The stored prices: a coin's card, and the table of the largest. */

/** The address of a coin's page. */
export const getCoinPath = (symbol: string) => `/coins/${encodeURIComponent(symbol)}`;

/** A coin's name, its symbol where no list has one. */
export const getCoinName = (symbol: string, { coins }: StoredMarket): string =>
  coins.get(symbol)?.name ?? (isMajor(symbol) ? COIN_NAMES[symbol][0] : symbol);

type Shown = { market: StoredMarket; now: number };

/** A coin's price with its course over a day, where the service samples it. */
export function PriceCard({
  symbol,
  market,
  now,
  isOwn = false,
}: Shown & { symbol: string; isOwn?: boolean }) {
  const coin = market.coins.get(symbol);
  const token = PRICED_TOKENS.find((one) => one === symbol);
  const price = token === undefined ? null : market.prices[token];
  return (
    <CardSection
      id={`price-${symbol}`}
      title={isOwn ? "Price" : <a href={getCoinPath(symbol)}>{getCoinName(symbol, market)}</a>}
      aside={<Change value={coin?.change24h ?? null} />}
      isPart={isOwn}
      isLive
    >
      {coin === undefined ? (
        <Empty>
          {token === undefined
            ? "The lists of the largest coins have no price of it: the bot may find one."
            : "The first price comes within a minute or two."}
        </Empty>
      ) : (
        <>
          <p class="figure">{formatMoney(coin.usd)}</p>
          {price !== null && <CourseChart token={symbol} price={price} />}
          <p class="small">
            {joinSourceNames([coin])}, <Since at={toIso(coin.observedAt)} now={now} />.{" "}
            {price === null
              ? "Change: over 24 hours."
              : "Change and line: since this time yesterday; hours in UTC."}
          </p>
        </>
      )}
    </CardSection>
  );
}

const COINS = 10;

/** The largest coins; nothing before a source has listed them. */
export function MarketTable({ market: { coins, facts }, now }: Shown) {
  const largest = [...coins.values()]
    .flatMap((coin) => (coin.size === null ? [] : [{ ...coin, ...coin.size }]))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, COINS);
  const listedAt = Math.min(
    ...facts.flatMap(({ kind, observedAt }) => (kind === "rank" ? [observedAt] : [])),
  );
  const trending = facts
    .filter(({ kind }) => kind === "trendingPlace")
    .toSorted((a, b) => Number(a.value) - Number(b.value))
    .slice(0, 6);
  if (largest.length === 0) return <Empty>The table of the largest coins comes within a few minutes.</Empty>;
  return (
    <>
      <div class="card" id="coins" data-live="">
        <Table
          name="The ten largest coins"
          heads={["Coin", "Price", "24 h", "Market cap"]}
          wide={3}
          rows={largest.map(({ name, symbol, usd, change24h, marketCap }) => [
            <>
              <a href={getCoinPath(symbol)}>{symbol}</a> {name !== symbol && <span class="soft">{name}</span>}
            </>,
            formatMoney(usd),
            <Change value={change24h} />,
            formatBigUsd(marketCap),
          ])}
        />
      </div>
      <p class="small">
        Prices by {joinSourceNames(largest)}; the list <Since at={toIso(listedAt)} now={now} />.
        {trending.length > 0 && " Most searched: "}
        {trending.map(({ subject }, index) => (
          <>
            {index > 0 && ", "}
            <a href={getCoinPath(subject)}>{subject}</a>
          </>
        ))}
        {trending.length > 0 && "."} Data provided by <Out to="https://www.coingecko.com">CoinGecko</Out>.
      </p>
    </>
  );
}
