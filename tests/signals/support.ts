import { internal } from "../../convex/_generated/api";
import { test as appTest, type App } from "../support/app";
import { replace } from "../support/world";

/** What the tests of signals share: a market that stands where a test puts it, and the jobs as the crons run them. */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Monday, 5 January 2026, 08:00. */
export const EIGHT = Date.UTC(2026, 0, 5, 8);

/** Tests whose `app` begins at the hour at which signals are issued. */
export const test = appTest.extend({ settings: { now: EIGHT } });

type Prices = Partial<Record<string, number>>;
const timelines = new WeakMap<App, { from: number; prices: Prices }[]>();

/**
 * Lets the market stand at these prices from this minute on, for exchanges, tickers and model alike. What it was before
 * stays as it was; before the first time it stood there as well.
 */
export function marketAt(app: App, prices: Prices): void {
  const known = timelines.get(app);
  if (known !== undefined) {
    known.push({ from: Date.now() - (Date.now() % MINUTE), prices });
    return;
  }
  const timeline = [{ from: -Infinity, prices }];
  timelines.set(app, timeline);
  const { market } = app.standins;
  const simulated = market.coin.bind(market);
  replace(market, "coin", (symbol, at = Date.now()) => {
    const coin = simulated(symbol, at);
    const then = timeline.findLast(({ from }) => from <= at);
    return { ...coin, price: then?.prices[symbol] ?? coin.price };
  });
  replace(market, "price", (symbol, at) => market.coin(symbol, at).price);
}

/** The model proposes this for whatever token it is asked about, `times` times or always. */
export function modelSays(app: App, content: unknown, times?: number): void {
  app.standins.fail("llm", {
    mode: "reply",
    schema: "trading_signal",
    content: typeof content === "string" ? content : JSON.stringify(content),
    ...(times === undefined ? {} : { times }),
  });
}

/** A BUY at 100: stop 99, targets 101 and 102. */
export const buy = {
  signal: "BUY",
  entry: 100,
  tp1: 101,
  tp2: 102,
  sl: 99,
  confidence: 70,
  reasoning: "Up.",
};
/** Its mirror image. */
export const sell = { ...buy, signal: "SELL", tp1: 99, tp2: 98, sl: 101, confidence: 60, reasoning: "Down." };
export const hold = {
  ...buy,
  signal: "HOLD",
  tp1: null,
  tp2: null,
  sl: null,
  confidence: 55,
  reasoning: "Flat.",
};

/** The daily job, and what it sets going. */
export async function issue(app: App): Promise<void> {
  await app.t.mutation(internal.signals.issue.openDay, {});
  await work(app);
}

/** Lets what is due run to its end: the pool, the price, the model, the card. */
export async function work(app: App): Promise<void> {
  for (let round = 0; round < 50; round++) {
    await app.settle(4);
    if (!(await isBusy(app))) return;
  }
}

/** Whether something is under way. An attempt that waits for its time is not. */
async function isBusy(app: App): Promise<boolean> {
  const now = Date.now();
  if ((await app.rows("work")).some(({ state, at }) => state === "running" || at <= now)) return true;
  const cards = await app.rows("messages");
  if (cards.some(({ state, dueAt }) => state === "sending" || (state === "queued" && dueAt <= now)))
    return true;
  const scheduled = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  return scheduled.some(
    ({ state, scheduledTime }) =>
      state.kind === "inProgress" || (state.kind === "pending" && scheduledTime <= now),
  );
}

/** One tick of the outcome tracker. */
export async function track(app: App): Promise<void> {
  await app.t.mutation(internal.signals.tracker.track, {});
  await work(app);
}

/** Moves the clock without running anything on the way but what is scheduled. */
export async function wait(app: App, ms: number): Promise<void> {
  await app.advance(ms);
  await app.settle(2);
}

/** Both tokens' signals issued as proposed, with BTC and ETH at 100. */
export async function issued(app: App, proposal: object | string): Promise<void> {
  marketAt(app, { BTC: 100, ETH: 100 });
  modelSays(app, proposal);
  await issue(app);
  app.standins.clear("llm");
}

/** Both tokens' signals issued as proposed, at 100; half an hour later the market stands elsewhere, and the tracker looks. */
export async function moved(app: App, proposal: object, to: Prices): Promise<void> {
  await issued(app, proposal);
  await wait(app, 30 * MINUTE);
  marketAt(app, to);
  await track(app);
}

/** Both tokens' BUY at 100; half an hour later BTC has won 1 %, and ETH has lost 1 %. */
export async function decided(app: App): Promise<void> {
  await moved(app, buy, { BTC: 101, ETH: 99 });
}
