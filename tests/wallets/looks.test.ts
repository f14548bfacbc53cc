import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { saveAccount } from "../../convex/identity/model";
import { buildWalletDigest } from "../../convex/wallets/past/looks";
import type { Doc } from "../../convex/_generated/dataModel";
import { DAY } from "../../convex/lib/time";
import type { Look } from "../../convex/wallets/past/looks";
import { createApp, START, test } from "../support/app";

/** Looks at a wallet, one transaction each: what is entered, once, and when nothing is. */

const ADDRESS = `0x${"a".repeat(40)}`;
const wallet = { walletId: "w", userId: "alice", kind: "custody", address: ADDRESS } as const;

async function createLooks() {
  const app = createApp();
  await app.t.run((ctx) => ctx.db.insert("wallets", wallet));
  const look = (block: number, held: Partial<Record<"ETH" | "USDC", bigint>>, fields: Partial<Look> = {}) => {
    const tokens = (["ETH", "USDC"] as const).map((token) => ({
      ...{ token, raw: String(held[token] ?? 0n) },
      price: token === "ETH" ? "300000000000" : "100000000",
    }));
    const seen = { walletId: "w", block, at: START + block * 1_000, tokens, isAsked: false, ...fields };
    return app.t.mutation(internal.wallets.past.looks.storeLook, seen);
  };
  const order = (fields: Partial<Doc<"orders">>) =>
    app.t.run((ctx) =>
      ctx.db.insert("orders", {
        ...{
          walletId: "w",
          userId: "alice",
          address: ADDRESS,
          by: "free",
          rules: 0,
          mostFee: "0",
          countedAmount: "0",
        },
        ...{
          feeCounted: "0",
          etherPrice: "3000000000",
          nextCheckAt: 0,
          state: "signed",
          tries: [],
          value: "50000000",
        },
        request: { kind: "swap", fromToken: "USDC", toToken: "ETH", amount: "50000000", slippageBps: 100 },
        ...fields,
      }),
    );
  const moves = async () =>
    (await app.rows("moves")).map(({ kind, out, in: into, fee }) => [kind, out?.raw, into?.raw, fee?.raw]);
  return { app, look, order, moves };
}

/** So much ether is worth a third of a cent. */
const DROP = 10n ** 12n;

/** Bytes of a transaction, mined in a block for a fee of a thousand drops. */
const mined = (block: number, hash: string, kind: "approve" | "call" = "call", nonce = 1) => ({
  ...{ nonce, kind, raw: "0x", hash, at: START + block * 1_000 - 500 },
  ...{ block, paid: String(1_000n * DROP) },
});
const CALL = "0xca11";
const drops = (count: bigint) => count * DROP;

test("what an order did is entered once, whole, with its approvals' fees, when it has ended and the node has its block", async () => {
  const { app, look, order, moves } = await createLooks();
  const [before, after] = [
    { USDC: 100_000_000n, ETH: drops(10_000n) },
    { USDC: 50_000_000n, ETH: drops(28_000n) },
  ];
  await look(5, before);
  const id = await order({ txHash: CALL });
  // Its receipt may belong to either side of this look.
  await look(8, after);
  expect(await moves()).toHaveLength(2);
  const approval = mined(7, "0xa0", "approve", 0);
  const ended = { state: "confirmed", bought: String(drops(20_000n)), approvalTxHash: "0xa0" } as const;
  await app.t.run((ctx) => ctx.db.patch("orders", id, { ...ended, tries: [approval, mined(9, CALL)] }));
  // This node is behind its second transaction.
  await look(8, { USDC: 100_000_000n, ETH: drops(9_000n) });
  expect(await moves()).toHaveLength(2);
  await Promise.all([1, 2, 3].map(() => look(9, after)));
  const swap = ["swap", "50000000", String(drops(20_000n)), String(drops(2_000n))];
  expect((await moves()).slice(2)).toEqual([swap]);
  // This one is behind an earlier look; and another block has it now.
  await look(6, before);
  await app.t.run((ctx) => ctx.db.patch("orders", id, { tries: [approval, mined(12, CALL)] }));
  await look(13, after);
  expect(await moves()).toHaveLength(3);
  const held = { USDC: "50000000", ETH: String(drops(28_000n)) };
  expect(await app.rows("wallets")).toMatchObject([{ past: { held, count: 3 } }]);
});

test("what has failed is its fee, gas has a leg of USDC and one of ether, and a lost replacement is nothing", async () => {
  const { app, look, order, moves } = await createLooks();
  await look(5, { USDC: 100_000_000n, ETH: drops(10_000n) });
  const lost = { ...mined(6, "0x10"), nonce: 2 };
  await order({ state: "failed", txHash: CALL, tries: [lost, { ...mined(6, CALL), nonce: 2 }] });
  const half = await order({
    state: "confirmed",
    walletId: "relayer_0x1",
    userId: "",
    tries: [mined(7, "0x9a5")],
  });
  const request = { kind: "gas", amount: "2000000", ether: String(drops(600n)), cost: "0" } as const;
  const exchange = { validBefore: 0, serviceId: half };
  await order({ state: "confirmed", request, exchange, txHash: "0x9a5", endedAt: START + 8_000 });
  await look(9, { USDC: 98_000_000n, ETH: drops(9_600n) });
  expect((await moves()).slice(2)).toEqual([
    ["fee", undefined, undefined, String(drops(1_000n))],
    ["swap", "2000000", String(drops(600n)), undefined],
  ]);
  expect((await app.rows("moves")).at(-1)).toMatchObject({ at: START + 8_000 });
});

test("a look that finds nothing writes nothing, and a question begins a month of daily looks, one action a day each", async () => {
  const { app, look } = await createLooks();
  const rows = await app.rows("wallets");
  await look(1, {});
  await look(2, { USDC: 9_999n }, { isAsked: true });
  expect([await app.rows("moves"), await app.rows("wallets")]).toEqual([[], rows]);
  const held = { USDC: 1_000_000n };
  await look(3, held, { isAsked: true, at: START });
  const asked = await app.rows("wallets");
  expect(asked).toMatchObject([{ lookAt: START + DAY, lookUntil: START + 30 * DAY }]);
  await look(4, held, { isAsked: true, at: START + DAY / 2 });
  await look(5, held, { at: START + 29 * DAY });
  expect(await app.rows("wallets")).toEqual(asked);
  await look(6, held, { isAsked: true, at: START + 2 * DAY });
  expect(await app.rows("wallets")).toMatchObject([{ lookUntil: START + 32 * DAY }]);
  await look(7, held, { at: START + 33 * DAY });
  expect((await app.rows("wallets"))[0]).not.toHaveProperty("lookAt");
  await app.t.run(async (ctx) => {
    for (let n = 0; n < 120; n++)
      await ctx.db.insert("wallets", { ...wallet, walletId: `w${n}`, userId: `u${n}`, lookAt: START - n });
  });
  for (let minute = 0; minute < 5; minute++)
    await app.t.mutation(internal.wallets.past.looks.takeUpLooks, {});
  const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  const looks = jobs.filter(({ name }) => name.includes("lookDaily")).map(({ args }) => JSON.stringify(args));
  expect([looks.length, new Set(looks).size]).toEqual([120, 120]);
  const due = (await app.rows("wallets")).flatMap(({ lookAt }) => lookAt ?? []);
  expect(due.every((at) => at > START && at <= START + DAY)).toBe(true);
});

test("a digest tells an owner what the wallet is worth and has made since yesterday, from rows alone", async () => {
  const { app, look } = await createLooks();
  const digest = () => app.t.run((ctx) => buildWalletDigest(ctx, "alice", START));
  const held = { USDC: 100_000_000n, ETH: drops(10_000n) };
  await look(1, held, { at: START - 2 * DAY });
  // What came in meanwhile is no gain.
  await look(2, { ...held, USDC: 105_000_000n }, { at: START - DAY / 2 });
  await app.t.run(async ({ db }) => {
    for (const [at, priceUsd] of [
      [START - DAY, 3_000],
      [START, 3_300],
    ] as const)
      await db.insert("priceSamples", {
        ...{ token: "ETH", priceUsd, source: "coinbase", observedAt: at, takenAt: at - 60_000 },
      });
  });
  expect(await digest()).toEqual([]);
  await app.t.run((ctx) => saveAccount(ctx, "alice", { login: "https://issuer.test|alice" }));
  expect(await digest()).toEqual([[{ bold: "Your wallet" }, "\nWorth $138.00, +$3.00 since yesterday"]]);
});
