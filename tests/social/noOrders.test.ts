import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { createApp } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { decided, deliver, event, linkedUser, mention, SECRET, test } from "./support";

/** Posts of a linked author with trading switched on that are no orders, whatever they say. */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const TEXT = "@bot buy 10 usd of eth";
/** An id that the network gives out at a moment. */
const idAt = (ms: number) => ((BigInt(ms) - 1_288_834_974_657n) << 22n).toString();

async function world() {
  const app = createApp({ env: { SOCIAL_WEBHOOK_SECRET: SECRET } });
  const user = await linkedUser(app, () => app.settle());
  const last = async () => (await app.rows("mentions")).at(-1);
  const told = async (payload: unknown) => {
    const { status } = await deliver(app, payload);
    expect(status).toBe(200);
    await decided(app);
    return last();
  };
  return { app, ...user, told };
}

const said = { tweetId: "900", text: TEXT };

test.each([
  ["by its history ", () => event(said, { edit_history_tweet_ids: ["899", "900"] })],
  ["since ", () => event(said, { edit_history_tweet_ids: ["900", "901"] })],
  ["by a history of numbers", () => event(said, { edit_history_tweet_ids: [899] })],
  ["by a history of no known form", () => event(said, { edit_history_tweet_ids: "many" })],
])("an edited post is no order: %s", async (_name, payload) => {
  const { app, told } = await world();
  expect(await told(payload())).toMatchObject({
    status: "ignored",
    reason: "The post was edited: write a new one",
  });
  expect(await app.rows("orders")).toEqual([]);
});

describe("an old post", () => {
  const tooOld = { status: "ignored", reason: "The post is too old to be executed" };

  test("is no order, by its date or by its id", async () => {
    const { app, told } = await world();
    await app.pass(60 * MINUTE);
    const late = Date.now() - 15 * MINUTE - 1_000;
    expect(
      await told(event({ ...said, tweetId: "1" }, { created_at: new Date(late).toISOString() })),
    ).toMatchObject(tooOld);
    const undated = { ...said, tweetId: idAt(late) };
    expect(await told(event(undated, { created_at: undefined }))).toMatchObject(tooOld);
    expect(app.cards().at(-1)?.text).toContain("too old");
    expect(await app.rows("orders")).toEqual([]);
  });

  test("from before its author's account was linked is no order", async () => {
    const { app, told } = await world();
    const before = new Date(Date.now() - 5 * MINUTE).toISOString();
    expect(await told(event(said, { created_at: before }))).toMatchObject({
      status: "ignored",
      reason: "The post is older than its author's link",
    });
    expect(await app.rows("orders")).toEqual([]);
  });

  test("that was forgotten or erased is no order when it comes again", async ({ app }) => {
    const strangers = event(said);
    await deliver(app, strangers);
    await app.settle();
    vi.setSystemTime(Date.now() + 31 * DAY);
    await keepHouse(app);
    expect(await app.rows("mentions")).toEqual([]);
    const { browser } = await linkedUser(app, () => app.settle());
    await deliver(app, strangers);
    await decided(app);
    expect((await app.rows("mentions")).at(-1)).toMatchObject(tooOld);

    await app.pass(MINUTE, { cronsRun: false });
    const erased = event({ ...said, tweetId: "901", text: "@bot good morning" });
    await deliver(app, erased);
    await decided(app);
    await browser.mutation(api.accounts.data.erase, {});
    await app.pass(MINUTE);
    expect(await app.rows("mentions")).toEqual([]);
    await linkedUser(app, () => app.settle());
    await deliver(app, erased);
    await decided(app);
    expect((await app.rows("mentions")).at(-1)).toMatchObject({
      tweetId: "901",
      reason: "The post is older than its author's link",
    });
  });
});

describe("a post to somebody else", () => {
  const besides = { status: "ignored", reason: "The post names another account besides the service's" };
  const rival = { ...said, text: "@bot @rival buy 10 usd of eth" };

  test("a post to somebody else is no order", async () => {
    const { app, told } = await world();
    expect(await told(event({ ...rival, tweetId: "1" }))).toMatchObject(besides);
    // The service is mentioned, and in the text it is somebody else who is spoken to.
    const text = "@rival buy 10 usd of eth";
    expect(await told(event({ ...said, tweetId: "4", text }))).toMatchObject(besides);
    expect(
      await told(event({ ...said, tweetId: "5", text: "＠rival @bot buy 10 usd of eth" })),
    ).toMatchObject(besides);
    expect(await told(event({ ...said, tweetId: "6", text: "buy 10 usd of eth" }))).toMatchObject({
      status: "ignored",
      reason: "The post does not name the service's account",
    });
    expect(await app.rows("orders")).toEqual([]);
  });
});

test("a post that ends where its text does not is no order", async () => {
  const { app } = await world();
  await mention(app, "buy 10 usd of eth… https://t.co/abc");
  await decided(app);
  expect((await app.rows("mentions")).at(-1)?.status).toBe("ignored");
  expect(await app.rows("orders")).toEqual([]);
});
