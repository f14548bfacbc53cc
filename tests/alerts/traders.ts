import * as z from "zod";
import { chain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { timePassing } from "../invariants/harness";
import { keyOf, owner, RICH } from "../support/owners";
import type { CallInit } from "../support/world";

/** What the tests of standing orders share: an owner who sets them over HTTP, their times, and the feed's price. */

const standing = z.looseObject({
  standingId: z.string(),
  status: z.string(),
  words: z.string(),
  fired: z.number(),
  timesLeft: z.number().optional(),
  next: z.string().nullable(),
  last: z.looseObject({ outcome: z.string(), reason: z.string().optional() }).nullable(),
  endReason: z.string().optional(),
});
const listed = z.looseObject({ standing: z.array(standing) });

export const DAILY = { every: "day", at: "09:00", timeZone: "Europe/Berlin" };
export const level = (direction: "above" | "below", levelUsd: number) => ({
  price: { token: "ETH", direction, levelUsd },
});

/** An owner with a key that swaps, and what it does over HTTP. */
export async function createTrader(
  app: WalletApp,
  amounts: Parameters<typeof owner>[1] = RICH,
  messengerId?: number,
) {
  const { userId, browser, address } = await owner(app, amounts, messengerId);
  const { init, keyId } = await keyOf(app, browser, ["trade"]);
  const terms = { userId, fromToken: "USDC", toToken: "ETH", size: "1" };
  /** With the key, unless something else is shown. */
  const set = (given: object, by: CallInit = init) =>
    app.post("/mcp/defi/standing", { ...terms, ...given }, by);
  const list = async (by: CallInit = init) =>
    listed.parse((await app.get(`/mcp/defi/standing?userId=${userId}`, by)).body).standing;
  const stop = (given: object, by: CallInit = init) =>
    app.post("/mcp/defi/standing/off", { userId, ...given }, by);
  return { userId, browser, address, init, keyId, set, list, stop, pass: timePassing(app) };
}

/** Changes all rows of a table. */
export async function patchAll(app: WalletApp, table: "accounts" | "keys", change: object): Promise<void> {
  await app.t.run(async ({ db }) => {
    for (const row of await db.query(table).collect()) await db.patch(table, row._id, change);
  });
}

/** All orders by the clock have been due for so long, in ms. */
export async function comeDue(app: WalletApp, ago = 0): Promise<void> {
  for (const { _id, state, condition } of await app.rows("alerts"))
    if (state === "active" && condition.kind === "clock")
      await app.t.run((ctx) => ctx.db.patch("alerts", _id, { readyAt: Date.now() - ago }));
}

const TOLD = /Standing order (?:done|refused|missed)/;

/** The cards of firings that were queued. */
export const listTold = async (app: WalletApp) =>
  (await app.rows("messages")).filter(({ parts }) => TOLD.test(parts.join()));

/** How many cards of firings have reached the messenger. */
export const countSent = ({ standins }: WalletApp): number =>
  standins.sent("messenger").filter(({ text }) => TOLD.test(text)).length;

/** The price of ETH that only the test moves. @param work Gets it as it was, and what moves it. */
export async function withPrice(
  app: WalletApp,
  { set }: Pick<Awaited<ReturnType<typeof createTrader>>, "set">,
  work: (price: number, feed: (usd: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { body } = await set({ when: level("below", 1), dryRun: true });
  const { priceUsd } = z.object({ priceUsd: z.number() }).parse(body.now);
  const feed = async (usd: number) => {
    const updatedAt = Math.floor(Date.now() / 1000);
    await chain.feeds.set("ETH", { answer: BigInt(Math.round(usd * 1e8)), updatedAt });
  };
  await chain.feeds.pause();
  try {
    await work(priceUsd, feed);
  } finally {
    chain.feeds.resume();
    await chain.feeds.tick();
  }
}
