import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { internalAction } from "../../convex/_generated/server";
import { DAY, MINUTE, SECOND } from "../../convex/lib/time";
import { broadcast } from "../../convex/messenger/subscriptions";
import { enqueueCard } from "../../convex/messenger/model";
import type { Topic } from "../../convex/messenger/tables";
import { deliver, SECRET, updateOf } from "../bot/support";
import { createApp, type App, test as appTest } from "../support/app";
import { dieAt } from "../support/crashes";

/** News for subscribers: who gets it, how often, and what happens beside it. */

/** A thousand subscribers with RUNS. */
const CHATS = process.env.RUNS === undefined ? 120 : 1_000;
const SERVICE_CHAT = "424242";

/** The head of a PNG of 800 × 400. */
const PNG = Uint8Array.from(Buffer.from("89504e470d0a1a0a0000000d494844520000032000000190", "hex"));
let drawn = 0;
const signals = internalAction({
  args: { subject: v.string() },
  returns: v.bytes(),
  handler: () => {
    drawn++;
    return PNG.buffer;
  },
});

const test = appTest.extend({
  settings: {
    env: { MESSENGER_WEBHOOK_SECRET: SECRET },
    replaced: { "pictures/drawings": () => Promise.resolve({ signals }) },
  },
});

const subscribe = (app: App, chatId: string, topics: Topic[] = ["signals"], isOn = true) =>
  app.t.mutation(internal.messenger.subscriptions.switchTopics, { chatId, isPrivate: true, topics, isOn });

/** Announces signals: a picture, and a text that is too long for its caption. */
const tell = (app: App, words: string, topic: Topic = "signals") =>
  app.t.run(async (ctx) => {
    const picture = {
      handle: await createFunctionHandle(internal.pictures.drawings.signals),
      subject: "BTC",
    };
    await broadcast(ctx, topic, { kind: "news", paragraphs: [[words], ["Because. ".repeat(110)]], picture });
  });

const texts = (app: App, words: string) => app.cards().filter(({ text }) => text.startsWith(words));
const chatsOf = (cards: readonly { chatId: string }[]) => cards.map(({ chatId }) => chatId);
const become = (app: App, member: object) =>
  app.standins.handle(
    new Request("http://providers.test/_control/messenger/member", {
      method: "POST",
      body: JSON.stringify(member),
    }),
  );

test("news reaches every subscriber once, through restarts, by one picture, while other cards go first", async ({
  app,
}) => {
  drawn = 0;
  const chats = Array.from({ length: CHATS }, (_, index) => String(1_000 + index));
  for (const chatId of [...chats, SERVICE_CHAT, "-1007"]) await subscribe(app, chatId);
  await subscribe(app, "31", ["whales", "weekly"]);
  await subscribe(app, "-1007", ["signals"], false);
  app.standins.fail("messenger", { mode: "slow", ms: 100 });
  await tell(app, "Good news");
  await app.advance(2 * SECOND);
  const askedAt = Date.now();
  const card = { userId: "", chatId: "77", kind: "approval", paragraphs: [["Approve?"]] };
  await app.t.run((ctx) => enqueueCard(ctx, card));
  await app.advance(5 * SECOND);
  expect(texts(app, "Approve?").map(({ at }) => at - askedAt <= 5 * SECOND)).toEqual([true]);
  expect(texts(app, "Good news").length).toBeLessThan(CHATS);
  // A subscriber who leaves meanwhile gets nothing.
  const leaver = chats.at(-1) ?? "";
  await subscribe(app, leaver, ["signals"], false);
  // The server dies before a call, and after another one.
  for (const [call, moment] of [
    [2, "before"],
    [3, "after"],
  ] as const) {
    const death = dieAt(call, moment);
    await app.advance(2 * SECOND);
    death.revive();
    await app.pass(11 * MINUTE, { cronsRun: false });
    await app.t.mutation(internal.platform.work.resumeLost, {});
    await app.advance(3 * SECOND);
  }
  await app.advance(CHATS * 300);
  const told = chatsOf(texts(app, "Good news"));
  const pictures = app.cards().filter(({ photo }) => photo !== undefined);
  expect(new Set(told)).toEqual(new Set([...chats.slice(0, -1), SERVICE_CHAT]));
  // A cut between sending and marking repeats what was under way, once: 25 cards at most.
  for (const sent of [told, chatsOf(pictures)])
    expect(sent.length - new Set(sent).size).toBeLessThanOrEqual(25);
  for (const chatId of chats) expect(told.filter((one) => one === chatId).length).toBeLessThanOrEqual(2);
  expect(told.filter((one) => one === SERVICE_CHAT)).toHaveLength(1);
  // Once by the first delivery, and once by each that went on after a death.
  expect(drawn).toBeLessThanOrEqual(3);
  expect(pictures.filter(({ isStored }) => isStored !== true)).toHaveLength(drawn);
  const stops = texts(app, "Good news").map(({ keyboard }) => keyboard?.flat()[0]?.callback_data);
  expect(new Set(stops)).toEqual(new Set(["unsubscribe signals", undefined]));
  expect((await app.rows("messages")).filter(({ news }) => news !== undefined)).toEqual([]);
  expect(await app.rows("work")).toEqual([]);
});

test("a chat that has refused for three days is left alone until it writes; one that forbids pictures gets text", async ({
  app,
}) => {
  for (const chatId of ["51", "52"]) await subscribe(app, chatId, ["whales"]);
  await become(app, { chatId: 51, userId: 51, status: "kicked" });
  const asked = async (words: string) => {
    await tell(app, words, "whales");
    await app.advance(20 * SECOND);
    return chatsOf(texts(app, words)).filter((one) => one !== SERVICE_CHAT);
  };
  expect(await asked("Day 0")).toEqual(["52"]);
  await app.pass(2 * DAY, { cronsRun: false });
  await become(app, { chatId: 51, userId: 51, status: "member" });
  // Two days are no end: it takes this one, and counts from anew.
  expect(await asked("Day 2")).toEqual(["51", "52"]);
  await become(app, { chatId: 51, userId: 51, status: "kicked" });
  expect(await asked("Day 3")).toEqual(["52"]);
  await app.pass(3 * DAY, { cronsRun: false });
  await become(app, { chatId: 51, userId: 51, status: "member" });
  expect(await asked("Day 6")).toEqual(["52"]);
  await deliver(app, updateOf("BTC", { from: 51 }));
  await app.advance(10 * SECOND);
  const noPictures = {
    ok: false,
    error_code: 400,
    description: "Bad Request: not enough rights to send photos to the chat",
  };
  app.standins.fail("messenger", { mode: "status", status: 400, body: noPictures, path: "sendPhoto" });
  expect(await asked("Day 7")).toEqual(["51", "52"]);
});

test("while the messenger is away a broadcast waits", async ({ app }) => {
  for (const chatId of ["61", "62", "63"]) await subscribe(app, chatId);
  app.standins.fail("messenger", { mode: "status", status: 502 });
  await tell(app, "Late news");
  await app.pass(40 * MINUTE, { cronsRun: false });
  app.standins.clear("messenger");
  await app.pass(30 * MINUTE, { cronsRun: false });
  const told = chatsOf(texts(app, "Late news")).filter((one) => one !== SERVICE_CHAT);
  expect(told).toEqual(["61", "62", "63"]);
});

test("a chat that the messenger puts off gets its news later, once, and delays no other", async () => {
  const app = createApp({ env: { MESSENGER_CHAT_ID: undefined } });
  for (const chatId of ["61", "62", "63"]) await subscribe(app, chatId);
  app.standins.fail("messenger", {
    mode: "status",
    status: 429,
    retryAfter: 7,
    times: 4,
    path: "sendMessage",
  });
  await app.t.run((ctx) => broadcast(ctx, "signals", { kind: "news", paragraphs: [["News"]] }));
  await app.advance(MINUTE);
  expect(chatsOf(texts(app, "News")).sort()).toEqual(["61", "62", "63"]);
});

test("while the messenger is slow, a person's card waits for no news", async ({ app }) => {
  for (let chat = 1_000; chat < 1_120; chat++) await subscribe(app, String(chat));
  app.standins.fail("messenger", { mode: "slow", ms: 10_000 });
  await app.t.run((ctx) => broadcast(ctx, "signals", { kind: "news", paragraphs: [["News"]] }));
  await app.advance(3 * SECOND);
  const askedAt = Date.now();
  const card = { userId: "", chatId: "77", kind: "approval", paragraphs: [["Approve?"]] };
  await app.t.run((ctx) => enqueueCard(ctx, card));
  await app.advance(45 * SECOND);
  // One call of the messenger takes ten seconds.
  expect(texts(app, "Approve?").map(({ at }) => at - askedAt < 12 * SECOND)).toEqual([true]);
});
