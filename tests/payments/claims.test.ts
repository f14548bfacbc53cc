import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { Id } from "../../convex/_generated/dataModel";
import { sha256Hex } from "../../convex/lib/security/digests";
import { NEVER } from "../../convex/lib/time";
import { type App, createApp, test as appTest } from "../support/app";

/** The rows of payments and deposits, with the chain's word given by hand: reorganisations, thieves and made-up hashes. */

const HASH = `0x${"a1".repeat(32)}`;
const FROM = `0x${"b2".repeat(20)}`;
const UNSIGNED = sha256Hex(JSON.stringify(["hash", "", ""]));
const SIGNED = sha256Hex(JSON.stringify(["hash", `0x${"11".repeat(65)}`, ""]));

const order = (userId?: string, focus = "") => ({
  focus,
  bodyHash: sha256Hex(JSON.stringify([userId ?? "", focus])),
  ...(userId === undefined ? {} : { userId }),
});

const env = { PLATFORM_WALLET_ADDRESS: `0x${"c3".repeat(20)}` };
const test = appTest.extend({ settings: { env } });

const link = (app: App, userId: string) =>
  app.t.run((ctx) => ctx.db.insert("linkedAddresses", { address: FROM, userId, linkedAt: 0 }));

const balanceOf = async (app: App, userId: string) =>
  (await app.rows("creditBalances")).find((row) => row.userId === userId)?.balance ?? 0;

type Seen = { position: number; logIndex: number; amount: string };

/** The chain shows these transfers in this block. */
async function see(app: App, transfers: readonly Seen[], block = "a", txHash = HASH): Promise<void> {
  const known = (await app.rows("depositHints")).find((row) => row.txHash === txHash);
  const fresh = { txHash, state: "checking" as const, attempt: 1, checks: 0, openedAt: Date.now() };
  const hintId =
    known?._id ?? (await app.t.run((ctx) => ctx.db.insert("depositHints", { ...fresh, nextCheckAt: NEVER })));
  const attempt = (await app.row("depositHints", hintId))?.attempt ?? 1;
  let next: number | null = 0;
  while (next !== null) {
    const piece: { hintId: Id<"depositHints">; attempt: number; next: number } = { hintId, attempt, next };
    next = await app.t.mutation(internal.payments.deposits.checks.reconcile, {
      ...piece,
      finding: {
        kind: "mined",
        succeeded: true,
        blockNumber: 5,
        blockHash: `0x${block.repeat(64)}`,
        confirmations: 3,
        transfers: transfers.map((one) => ({ ...one, from: FROM })),
      },
    });
  }
}

const at = (position: number, amount: bigint, logIndex = position): Seen => ({
  position,
  logIndex,
  amount: (amount * 1_000_000n).toString(),
});

function claim(app: App, by: ReturnType<typeof order>, amount = 1n, proven = false) {
  const transfer = { txHash: HASH, position: 3, from: FROM, amount: (amount * 1_000_000n).toString() };
  return app.t.mutation(internal.payments.reports.claims.claimTransfer, {
    candidates: [{ transfer, proven }],
    order: by,
    shown: proven ? SIGNED : UNSIGNED,
  });
}

/** The claim's report is written, some time ago. */
async function deliver(app: App, ago = 0): Promise<void> {
  const result = {
    fullAnalysis: "Written.",
    shortSummary: "🟡",
    marketOutlook: "neutral" as const,
    impacts: [],
    ...{ sources: [], changes: [], missing: [] },
    checked: { figures: 0, cited: 0, removed: 0 },
  };
  const missing = { state: "missing" as const, asOf: null };
  const sources = { market: missing, sentiment: missing, onchain: missing };
  await app.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("paymentClaims").collect()) {
      const report = { result, sources, model: "m", generatedAt: Date.now() - ago };
      await ctx.db.patch("paymentClaims", _id, { state: "delivered", report });
    }
  });
}

describe("a transfer in another block after a reorganisation", () => {
  test("is the same transfer, whatever its index among the block's logs", async ({ app }) => {
    await link(app, "alice");
    await see(app, [at(3, 5n, 3)], "a");
    await see(app, [at(3, 5n, 41)], "b");
    expect(await balanceOf(app, "alice")).toBe(500);
    expect(await app.rows("deposits")).toMatchObject([{ position: 3, logIndex: 41, state: "credited" }]);
    expect(await app.rows("creditTransactions")).toHaveLength(1);
  });

  test("does not pay twice for the report that its credits had bought", async ({ app }) => {
    await link(app, "alice");
    await see(app, [at(3, 5n)], "a");
    expect(await claim(app, order("alice"), 5n)).toMatchObject({ kind: "claim" });
    expect(await balanceOf(app, "alice")).toBe(400);
    await see(app, [], "b");
    expect(await balanceOf(app, "alice")).toBe(0);
    await see(app, [at(3, 5n)], "c");
    expect(await balanceOf(app, "alice")).toBe(400);
  });
});

test("a report out of credits costs its price whatever the rate has become", async ({ app }) => {
  await link(app, "alice");
  await see(app, [at(3, 5n)]);
  vi.stubEnv("CREDITS_PER_USDC", "101");
  expect(await claim(app, order("alice"), 5n)).toMatchObject({ kind: "claim" });
  expect(await balanceOf(app, "alice")).toBe(399);
});

describe("a claim", () => {
  test("made by a signature gives its report to that signature alone", async ({ app }) => {
    await claim(app, order(undefined, "BTC"), 1n, true);
    await deliver(app);
    const rejoin = (signature?: string) =>
      app.t.mutation(internal.payments.reports.claims.rejoin, {
        proof: { kind: "hash", txHash: HASH, ...(signature === undefined ? {} : { signature }) },
        order: order(undefined, "BTC"),
      });
    expect(await rejoin()).toBeNull();
    expect(await rejoin(`0x${"00".repeat(65)}`)).toBeNull();
    expect(await rejoin(`0x${"11".repeat(65)}`)).toMatchObject({ kind: "claim" });
    // Nor does the chain's word on a bare hash.
    expect(await claim(app, order(undefined, "BTC"))).toMatchObject({ reason: "payment_already_used" });
  });

  test("made by a thief's bare hash is the payer's by a signature, though both ordered the same", async ({
    app,
  }) => {
    await claim(app, order());
    await deliver(app, 3_700_000);
    expect(await claim(app, order())).toMatchObject({ reason: "payment_already_used" });
    expect(await claim(app, order(), 1n, true)).toMatchObject({ kind: "claim" });
    expect(await app.rows("paymentClaims")).toMatchObject([
      { strength: 2, overridden: true, state: "generating", shown: SIGNED },
    ]);
    // Once: the payer's second signed word joins.
    const underWay = await app.rows("work");
    await claim(app, order(), 1n, true);
    expect(await app.rows("work")).toEqual(underWay);
  });
});

describe("deposits that bring nothing", () => {
  test("end, whoever they are from", async ({ app }) => {
    await see(app, [{ position: 3, logIndex: 3, amount: "9999" }]);
    expect(await app.rows("deposits")).toMatchObject([
      { state: "ignored", reason: "it is worth less than one credit", nextMatchAt: NEVER },
    ]);
  });

  test("do not keep a large transaction's others from being credited", async ({ app }) => {
    await link(app, "alice");
    const many = Array.from({ length: 1_300 }, (_, i) => at(i, 0n, i)).map((one, i) => ({
      ...one,
      amount: i === 1_299 ? "1000000" : "1",
    }));
    await see(app, many);
    expect(await balanceOf(app, "alice")).toBe(100);
    expect(await app.rows("deposits")).toHaveLength(1_300);
  });
});

describe("made-up hashes on an unsigned webhook", () => {
  const name = (app: App, from: number, count = 100) =>
    app.post("/indexer/deposit", {
      data: Array.from({ length: count }, (_, i) => ({
        hash: `0x${(from + i + 1).toString(16).padStart(64, "0")}`,
      })),
    });

  test("are taken in so large a number only, also from callers without an address", async () => {
    const app = createApp({ env: { ...env, CHAIN_RPC_URL: "http://127.0.0.1:1" } });
    const answers = [];
    for (let i = 0; i < 8; i++) answers.push((await name(app, i * 100)).status);
    expect(answers.slice(0, 6)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(answers[7]).toBe(429);
    const before = (await app.rows("depositHints")).length;
    expect(before).toBeLessThan(800);
    // What is known already costs nothing.
    expect((await name(app, 0)).status).toBe(200);
    expect(await app.rows("depositHints")).toHaveLength(before);
  });

  test.each([
    ["given up after a quarter of an hour", 16, undefined, "settled"],
    ["looked for all day where webhooks are signed", 16, "s".repeat(32), "waiting"],
    ["given up after that day", 25 * 60, "s".repeat(32), "settled"],
  ])("are %s", async (_name, minutes, DEPOSIT_WEBHOOK_SECRET, state) => {
    const app = createApp({ env: { ...env, DEPOSIT_WEBHOOK_SECRET } });
    const openedAt = Date.now() - minutes * 60_000;
    const fresh = { txHash: HASH, state: "waiting" as const, attempt: 1, checks: 9, openedAt };
    const hintId = await app.t.run((ctx) => ctx.db.insert("depositHints", { ...fresh, nextCheckAt: 0 }));
    const finding = { kind: "absent" as const };
    await app.t.mutation(internal.payments.deposits.checks.reconcile, { hintId, attempt: 1, finding });
    expect(await app.row("depositHints", hintId)).toMatchObject({
      state,
      ...(state === "settled" ? { reason: "the chain does not know this transaction" } : {}),
    });
  });
});
