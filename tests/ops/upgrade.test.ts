import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { test } from "../support/app";

/** Rows in the fields of 0.1.0, which nobody may clear for an upgrade: `docs/operating.md` says which those are. */

const MINUTE = 60_000;

describe("a row of 0.1.0", () => {
  test("that is a waiting card is delivered", async ({ app }) => {
    const dueAt = Date.now();
    await app.t.run(async ({ db }) => {
      const card = {
        userId: "",
        bot: "default",
        chatId: "4242",
        kind: "answer",
        parts: ["From before"],
      } as const;
      const tries = { partsSent: 0, claim: 3, doubts: 0, postponements: 0 };
      await db.insert("messages", { ...card, ...tries, parts: ["From before"], state: "queued", dueAt });
    });
    expect(await app.t.mutation(internal.messenger.delivery.outbox.adopt, {})).toBe(1);
    expect(await app.t.mutation(internal.messenger.delivery.outbox.adopt, {})).toBe(0);
    await app.pass(3 * MINUTE);
    expect(await app.rows("messages")).toMatchObject([{ state: "sent", claim: 3 }]);
    expect(app.standins.sent("messenger")).toHaveLength(1);
  });

  test("that waits behind a hundred others is delivered as well", async ({ app }) => {
    const COUNT = 230;
    await app.t.run(async ({ db }) => {
      const card = { userId: "", bot: "default", kind: "answer", state: "queued" } as const;
      const tries = { partsSent: 0, doubts: 0, postponements: 0, dueAt: Date.now() };
      for (let n = 0; n < COUNT; n++) {
        await db.insert("messages", { ...card, ...tries, chatId: `${4242 + n}`, parts: ["From before"] });
      }
    });
    await app.t.mutation(internal.messenger.delivery.outbox.adopt, {});
    await app.settle();
    const work = await app.rows("work");
    const sent = (await app.rows("messages")).filter(({ state }) => state === "sent");
    expect(work.length + sent.length).toBe(COUNT);
  });

  test("that is a mention is not carried out again: its trade may be open", async ({ app }) => {
    await app.t.run(async ({ db }) => {
      const post = { tweetId: "1", authorId: "7", text: "buy 5 USDC of ETH", postedAt: 1, receivedAt: 1 };
      await db.insert("mentions", {
        ...post,
        status: "pending",
        attempt: 1,
        resumeAt: Number.MAX_SAFE_INTEGER,
      });
    });
    await app.t.mutation(internal.lib.work.turns.resumeLost, {});
    await app.settle();
    expect(await app.rows("mentions")).toMatchObject([{ status: "pending", attempt: 1 }]);
    expect(app.standins.sent("llm")).toEqual([]);
  });
});
