import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatAmount, KINDS, type Fact, type FactKind } from "../figures/facts";
import { AppError } from "../lib/errors";
import { resolveSymbol } from "../lib/money/coins";
import { formatMoney } from "../lib/text/numbers";
import { NEVER, toIso } from "../lib/time";
import { getStoredListing } from "../market/listing";
import { PRICED_TOKENS } from "../market/tables";
import { readStoredMarket } from "../market/views";
import { toSafeUrl } from "../messenger/format";
import { readNewestSignals } from "../pictures/levels";
import { readWritings } from "../research/http";
import type { Page } from "./layout";
import { CardSection, Chips, Empty, Facts, Movements, OpenBot, Out, Since, type Term } from "./parts";
import { getCoinName, getCoinPath, PriceCard } from "./prices";
import { Impacts, OutlookLine } from "./research";
import { SignalCard } from "./signal";

/** One coin: its price, its other figures, the newest report, signal and whales. No visit asks a source. */

const [OTHERS, WHALES] = [8, 5];

/** A price and its change stand in the card, by one source; names and others' words are no figures. */
const TOLD_ELSEWHERE: readonly FactKind[] = [
  "name",
  "price",
  "change24h",
  "trendingChange",
  "lastTrade",
  "dayChange",
  "headline",
  "statement",
];

/**
 * @param requestedCoin A symbol or a name, in any case. @throws AppError `not_found` for a coin that no source knows.
 */
export async function buildCoinPage(ctx: ActionCtx, requestedCoin: string, now: number): Promise<Page> {
  const { symbol } = await getStoredListing(ctx, resolveSymbol(requestedCoin));
  const token = PRICED_TOKENS.find((one) => one === symbol);
  const market = await readStoredMarket(ctx, symbol);
  const coin = market.coins.get(symbol);
  const facts = market.facts.filter(({ subject }) => subject === symbol);
  if (coin === undefined && token === undefined && facts.length === 0)
    throw new AppError(
      "not_found",
      `There are no figures of ${symbol} from the last day: ask the bot for its price, and they appear here`,
    );
  const terms = { token: symbol, alertType: null, before: NEVER, since: now, limit: WHALES };
  const [writings, signals, { alerts }] = await Promise.all([
    readWritings(ctx, symbol),
    token === undefined ? [] : readNewestSignals(ctx, [token]),
    ctx.runQuery(internal.whales.alerts.listAlertPage, terms),
  ]);
  const [report] = writings;
  const name = getCoinName(symbol, market);
  const measured = facts.filter(({ kind }) => !TOLD_ELSEWHERE.includes(kind));
  const news = facts.filter(({ kind }) => kind === "headline");
  const others = [...market.coins.values()].slice(0, OTHERS).map((one) => one.symbol);
  const content = (
    <>
      <h1>{name === symbol ? symbol : `${name} (${symbol})`}</h1>
      <Chips
        label="Coins"
        choices={[...new Set([symbol, ...others])].map((one) => ({
          href: getCoinPath(one),
          name: one,
          isShown: one === symbol,
        }))}
      />
      <p>
        <OpenBot start={`price_${symbol}`}>Set an alert in the bot</OpenBot>
      </p>
      <div class="grid two">
        <PriceCard symbol={symbol} market={market} now={now} isOwn />
        <CardSection id="measured" title="Measured" isPart>
          {measured.length === 0 ? (
            <p>Further figures stand here once somebody has asked for research on {symbol}.</p>
          ) : (
            <Facts kind="noted" of={measured.map((fact) => toTerm(fact, now))} />
          )}
        </CardSection>
      </div>
      {signals.length > 0 && <h2>Newest signal</h2>}
      {signals.map((data) => (
        <SignalCard data={data} />
      ))}
      <h2>Newest report</h2>
      {report === undefined ? (
        <Empty>
          Nothing has been written on {symbol} yet.{" "}
          <a href={`/research?token=${symbol}`}>How to have it written</a>
        </Empty>
      ) : (
        <div class="card">
          <OutlookLine of={report.result} />
          <Impacts of={report.result} first={3} />
          <p class="small">
            A model's view, <Since at={report.at} now={now} />.{" "}
            <a href={`/research?token=${symbol}`}>The whole report, with its sources</a>
          </p>
        </div>
      )}
      <h2>Whales</h2>
      {alerts.length === 0 ? (
        <Empty>No large movement of {symbol} was seen yet.</Empty>
      ) : (
        <>
          <Movements alerts={alerts} now={now} />
          <p>
            <a href={`/whales?token=${symbol}`}>All of {symbol}</a>
          </p>
        </>
      )}
      {news.length > 0 && (
        <>
          <h2>News</h2>
          <ul class="list">
            {news.map(({ value, url, source, observedAt }) => (
              <li>
                <Out to={toSafeUrl(url)}>{value}</Out>{" "}
                <span class="small">
                  {source}, <Since at={toIso(observedAt)} now={now} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
  return {
    title: name === symbol ? symbol : `${name} (${symbol})`,
    description: `${coin === undefined ? symbol : `${symbol} at ${formatMoney(coin.usd)}`}: price, figures with their sources, research, signals and whales.`,
    path: getCoinPath(symbol),
    content,
    ...(coin === undefined ? {} : { picture: `coin-${symbol}` }),
  };
}

function toTerm({ subject, kind, value, url, source, observedAt }: Fact, now: number): Term {
  const { label } = KINDS[kind];
  const by = (
    <>
      <Out to={toSafeUrl(url)}>{source}</Out>, <Since at={toIso(observedAt)} now={now} />
    </>
  );
  const amount = typeof value === "number" ? formatAmount({ subject, kind, value }) : value;
  return [label.charAt(0).toUpperCase() + label.slice(1), amount, by];
}
