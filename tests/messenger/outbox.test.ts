import { createFunctionHandle } from "convex/server";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { enqueueCard } from "../../convex/messenger/model";
import { arrived } from "../bot/support";
import { type App, test } from "../support/app";
import { unmarked } from "../support/marks";

const ALICE = "alice-6f1c0a9e2b";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";

const start = (app: App, extra: object = {}) => app.post("/mcp/research/start", { userId: ALICE, ...extra });
const configure = (app: App, fields: object, userId = ALICE) =>
  app.post("/user/messenger", { userId, ...fields });

test("rotating the encryption key seals bot tokens anew, leaves one that does not open, and they go on working", async ({
  app,
}) => {
  await configure(app, { messengerBotToken: OWN_BOT, messengerChatId: "11" });
  await configure(app, { messengerChatId: "12" }, "carol");
  await configure(app, { messengerBotToken: OWN_BOT }, "bob");
  const [, , damaged] = await app.rows("messengerConfigs");
  if (damaged?.sealedBotToken === undefined) throw new Error("There is a token");
  expect(JSON.stringify(damaged)).not.toContain(OWN_BOT.slice(7));
  const sealedBotToken = damaged.sealedBotToken.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
  await app.t.run((ctx) => ctx.db.patch("messengerConfigs", damaged._id, { sealedBotToken }));
  vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
  vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
  const rotate = () => app.during(app.t.action(internal.ops.rotation.rotate, {}));
  const failed = [damaged._id];
  expect(await rotate()).toEqual({ rotated: 1, failed });
  expect(await rotate()).toEqual({ rotated: 0, failed });
  expect(await app.row("messengerConfigs", damaged._id)).toMatchObject({ sealedBotToken });
  vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
  await start(app);
  await arrived(app, 1);
  expect(app.cards()).toMatchObject([{ botToken: OWN_BOT, chatId: "11" }]);
});

test("a group that the messenger says has moved is followed to its new id, for later cards too", async ({
  app,
}) => {
  await configure(app, { messengerChatId: "-5" });
  const description = "Bad Request: group chat was upgraded to a supergroup chat";
  const parameters = { migrate_to_chat_id: -1005 };
  const body = { ok: false, error_code: 400, description, parameters };
  app.standins.fail("messenger", { mode: "status", status: 400, times: 1, body });
  await start(app);
  await arrived(app, 1);
  // Whoever set the old id means the new one, and a card for it goes there at once.
  await start(app, { token: "SOL", messengerChatId: "-5" });
  await arrived(app, 2);
  expect(app.cards().map(({ chatId }) => chatId)).toEqual(["-1005", "-1005"]);
});

describe("a card", () => {
  test("in several parts is sent in order; cut off after its first one it goes on with the second, and repeats none", async ({
    app,
  }) => {
    app.standins.fail("messenger", { mode: "slow", ms: 0, times: 1 });
    app.standins.fail("messenger", { mode: "slow", times: 1 });
    const paragraphs = Array.from({ length: 12 }, () => [`${"A&B <moved> sharply. ".repeat(40)}Then calm.`]);
    const card = { userId: ALICE, chatId: "7", bot: "default", kind: "a card", paragraphs } as const;
    await app.t.run((ctx) => enqueueCard(ctx, card));
    await app.pass(40 * MINUTE, { cronsRun: false });
    const [row] = await app.rows("messages");
    expect(row).toMatchObject({ state: "sent", postponements: 1 });
    expect(row?.parts.length).toBeGreaterThan(2);
    expect(app.cards().map(({ text }) => unmarked(text))).toEqual(row?.parts);
  });

  test("whose asker cannot be told is sent once all the same", async ({ app }) => {
    await app.t.run(async (ctx) => {
      // Takes other arguments, and so fails when it is told.
      const handle = await createFunctionHandle(internal.accounts.claims.endClaim);
      const onSettled = { handle, subject: "none" };
      const card = { userId: ALICE, chatId: "7", kind: "a card", paragraphs: [["Hello"]] };
      await enqueueCard(ctx, { ...card, onSettled });
    });
    await arrived(app, 1);
    await app.pass(10 * MINUTE);
    expect(app.cards().map(({ text }) => text)).toEqual([expect.stringMatching(/\n\nHello$/)]);
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual(["sent"]);
  });
});
