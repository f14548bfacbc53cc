import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { createApp } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import {
  activity,
  ALICE,
  decided,
  deliver,
  event,
  linkedUser,
  mention,
  networkTime,
  OWN_ID,
  SECRET,
  streamed,
  test,
} from "./support";

/** Posts of a linked author with trading switched on that are no orders, whatever they say: no model reads them. */

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

/** What a model has to read. */
const plain = { tweetId: "900", text: "@bot good morning" };
const said = { tweetId: "900", text: TEXT };

test("a post as it should be reaches the model, in every shape", async () => {
  const { app, told } = await world();
  const own = { edit_history_tweet_ids: ["1"] };
  await told(event({ ...plain, tweetId: "1" }, own));
  await told(
    activity([{ ...plain, tweetId: "2" }], {
      edit_history: { initial_tweet_id: "2", edit_tweet_ids: ["2"] },
    }),
  );
  await told(streamed({ ...plain, tweetId: "3" }, { created_at: undefined, id: idAt(Date.now()) }));
  await told(
    activity([{ ...plain, tweetId: "4" }], { in_reply_to_user_id_str: OWN_ID, display_text_range: [5, 22] }),
  );
  expect(app.standins.sent("llm")).toHaveLength(4);
});

test.each([
  ["by its history (B)", () => event(said, { edit_history_tweet_ids: ["899", "900"] })],
  ["since (B)", () => event(said, { edit_history_tweet_ids: ["900", "901"] })],
  ["by its history (C)", () => streamed(said, { edit_history_tweet_ids: ["899", "900"] })],
  ["by its first id (A)", () => activity([said], { edit_history: { initial_tweet_id: "899" } })],
  ["by its ids (A)", () => activity([said], { edit_history: { edit_tweet_ids: ["899", "900"] } })],
  ["by a history of numbers", () => activity([said], { edit_history: { initial_tweet_id: 899 } })],
  ["by a history of no known form", () => event(said, { edit_history_tweet_ids: "many" })],
])("an edited post is no order: %s", async (_name, payload) => {
  const { app, told } = await world();
  expect(await told(payload())).toMatchObject({
    status: "ignored",
    reason: "The post was edited: write a new one",
  });
  expect(app.standins.sent("llm")).toEqual([]);
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
    expect(
      await told(activity([{ ...said, tweetId: "2" }], { created_at: networkTime(late) })),
    ).toMatchObject(tooOld);
    const undated = { ...said, tweetId: idAt(late) };
    expect(await told(streamed(undated, { created_at: undefined }))).toMatchObject(tooOld);
    expect(app.cards().at(-1)?.text).toContain("too old");
    expect(app.standins.sent("llm")).toEqual([]);
    await told(
      event({ ...plain, tweetId: "4" }, { created_at: new Date(Date.now() - 14 * MINUTE).toISOString() }),
    );
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("from before its author's account was linked is no order", async () => {
    const { app, told } = await world();
    const before = new Date(Date.now() - 5 * MINUTE).toISOString();
    expect(await told(event(said, { created_at: before }))).toMatchObject({
      status: "ignored",
      reason: "The post is older than its author's link",
    });
    expect(app.standins.sent("llm")).toEqual([]);
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
    const asked = app.standins.sent("llm").length;
    await browser.mutation(api.account.deletion.request, {});
    await app.pass(MINUTE);
    expect(await app.rows("mentions")).toEqual([]);
    await linkedUser(app, () => app.settle());
    await deliver(app, erased);
    await decided(app);
    expect((await app.rows("mentions")).at(-1)).toMatchObject({
      tweetId: "901",
      reason: "The post is older than its author's link",
    });
    expect(app.standins.sent("llm")).toHaveLength(asked);
  });
});

describe("a post to somebody else", () => {
  const besides = { status: "ignored", reason: "The post names another account besides the service's" };
  const rival = { ...said, text: "@bot @rival buy 10 usd of eth" };

  test("a post to somebody else is no order", async () => {
    const { app, told } = await world();
    expect(await told(event({ ...rival, tweetId: "1" }))).toMatchObject(besides);
    expect(await told(activity([{ ...rival, tweetId: "2" }]))).toMatchObject(besides);
    expect(await told(streamed({ ...rival, tweetId: "3" }))).toMatchObject(besides);
    // The service is mentioned, and in the text it is somebody else who is spoken to.
    const text = "@rival buy 10 usd of eth";
    expect(await told(event({ ...said, tweetId: "4", text }))).toMatchObject(besides);
    expect(
      await told(event({ ...said, tweetId: "5", text: "＠rival @bot buy 10 usd of eth" })),
    ).toMatchObject(besides);
    expect(await told(streamed({ ...said, tweetId: "6", text: "buy 10 usd of eth" }))).toMatchObject({
      status: "ignored",
      reason: "The post does not name the service's account",
    });
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test("as a reply, where only the post replied to mentioned the service, is no mention", async () => {
    const { app } = await world();
    const reply = (indices: number[], range: number[]) =>
      activity([{ ...said, text: "@mallory @bot buy 10 usd of eth" }], {
        in_reply_to_user_id_str: "666",
        display_text_range: range,
        entities: { user_mentions: [{ id_str: OWN_ID, screen_name: "bot", indices }] },
      });
    const { body } = await deliver(app, reply([9, 13], [14, 31]));
    expect(body).toEqual({ success: true, accepted: 0, ignored: 1 });
    await deliver(app, reply([9, 13], [9, 31]));
    await decided(app);
    expect((await app.rows("mentions")).at(-1)).toMatchObject(besides);
    expect(app.standins.sent("llm")).toEqual([]);
  });
});

test("a post of which the network sent a part only is no order", async () => {
  const { app, told } = await world();
  expect(await told(activity([said], { truncated: true }))).toMatchObject({
    status: "ignored",
    reason: "The network sent only a part of the post",
    authorId: ALICE.id,
  });
  await mention(app, "buy 10 usd of eth… https://t.co/abc");
  await decided(app);
  expect((await app.rows("mentions")).at(-1)?.status).toBe("ignored");
  expect(await app.rows("orders")).toEqual([]);
});
