import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { readStoredMarket } from "../market/views";
import { readNewestSignals } from "../pictures/levels";
import { SIGNAL_TOKENS } from "../signals/rules";
import type { Page } from "./layout";
import { BotCode, Empty, Movements, OpenBot, OrBuy } from "./parts";
import { MarketTable, PriceCard } from "./prices";
import { SignalCard } from "./signal";
import { readWhales } from "./whales";

/**
 * The first page: prices, the latest signals, their record, the last whales, the market. It shows stored data with its age:
 * no visit calls a provider or starts work.
 */

const WHALES = 5;

export async function buildHomePage(ctx: ActionCtx, now: number): Promise<Page> {
  const [market, signals, alerts, { record }] = await Promise.all([
    readStoredMarket(ctx),
    readNewestSignals(ctx, [...SIGNAL_TOKENS]),
    readWhales(ctx, now, WHALES),
    ctx.runQuery(internal.signals.history.listSignalPage, { token: null, limit: 1 }),
  ]);
  const content = (
    <>
      <div class="hero">
        <div>
          <h1>Crypto prices, research and signals, with an open record</h1>
          <p class="lead">
            Two trading signals a day, none of which is ever withdrawn; live prices and alerts in your own
            words; reports whose every figure names its source.
          </p>
          <p class="note">
            {record.n > 0 ? record.summary : "The record begins with the first signals, at 08:00 UTC."}{" "}
            <a href="/record">The whole record</a>
          </p>
          <p>
            <OpenBot>Open the bot</OpenBot>
          </p>
          <p class="small">
            Free, without an account. Or ask <a href="/start#ai">from an AI client</a> or{" "}
            <a href="/start#curl">from a program</a>
            <OrBuy>buy one report</OrBuy>.
          </p>
        </div>
        <BotCode />
      </div>
      <h2 id="prices">Prices</h2>
      <div class="grid two">
        {SIGNAL_TOKENS.map((token) => (
          <PriceCard symbol={token} market={market} now={now} />
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
      <div class="grid two">
        <section aria-labelledby="whales">
          <h2 id="whales">Latest whales</h2>
          {alerts.length === 0 ? (
            <Empty>
              Large movements stand here when there are some: looked for on Base every five minutes, and on
              other chains every hour.
            </Empty>
          ) : (
            <>
              <Movements alerts={alerts} now={now} />
              <p>
                <a href="/whales">All whales</a>
              </p>
            </>
          )}
        </section>
        <section aria-labelledby="market">
          <h2 id="market">The market</h2>
          <MarketTable market={market} now={now} />
        </section>
      </div>
    </>
  );
  return {
    title: "Today's prices and signals",
    description: "Crypto prices, research and trading signals with an open record.",
    path: "/",
    content,
    ...(record.trades > 1 ? { picture: "record" } : {}),
  };
}
