import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { getCreditBalance as creditsOf } from "../../convex/credits/model";
import { MINUTE } from "../../convex/lib/time";
import { beginFollowing } from "../../convex/whales/alerts";
import { newWallet, send, transferTo } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { ONE, PLATFORM } from "./authorizations";
import { createDepositApp, minute, test } from "./depositor";

/**
 * A node's newest block may be none: ahead of the chain, of the clock, or of long ago (debridge-node #80, go-ethereum
 * #24078, tenderduty #51). No deposit is lost by it, and the operator learns of it.
 */

useChain();

async function deposit(app: WalletApp, userId: string, to = PLATFORM): Promise<void> {
  const wallet = await newWallet(chain, { USDC: ONE });
  await app.t.run((ctx) => ctx.db.insert("addresses", { address: wallet.address.toLowerCase(), userId }));
  await send(chain, wallet, { to: chain.addresses.tokens.USDC, data: transferTo(to, ONE) });
}

const balanceOf = (app: WalletApp, userId: string) => app.t.run((ctx) => creditsOf(ctx, userId));
const cursorOf = async (app: WalletApp) => (await app.rows("depositCursors"))[0]?.block ?? -1;
/** The cursor passes what is unread before a block, and an hour goes by. */
const passOver = (app: WalletApp, block: number) =>
  app.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("depositCursors").collect())
      await ctx.db.patch("depositCursors", _id, { block, rereadAt: 0 });
  });
const headOf = async () => Number(await chain.rpc("eth_blockNumber", []));

const answers = z.array(
  z.looseObject({
    result: z.union([z.looseObject({ number: z.string(), timestamp: z.string() }), z.unknown()]),
  }),
);
const block = z.looseObject({ number: z.string(), hash: z.string(), timestamp: z.string() });
const plus = (quantity: string, more: number) => `0x${(Number(quantity) + more).toString(16)}`;

/** The node's newest block has a number and a time (in seconds) that differ by so much. @returns Ends that. */
const heading = ({ blocks = 0, seconds = 0 }) =>
  intercept(async ({ body }, pass) => {
    const response = await pass();
    if (!body.includes("eth_getBlockByNumber") || !body.includes('"latest"')) return response;
    const told = answers.parse(await response.json()).map((one) => {
      const { success, data } = block.safeParse(one.result);
      if (!success) return one;
      const head = { number: plus(data.number, blocks), timestamp: plus(data.timestamp, seconds) };
      return { ...one, result: { ...data, ...head } };
    });
    return Response.json(told);
  });

const reasonsOf = async (app: WalletApp) => (await app.get("/health")).body.reasons;

describe("a head", () => {
  test.for([400, 5_000, 50_000])(
    "that was told %s blocks too high for a minute costs no deposit",
    async (blocks, { app }) => {
      const end = heading({ blocks });
      await deposit(app, "during");
      await minute(app);
      end();
      await deposit(app, "after");
      await minute(app);
      expect([await balanceOf(app, "during"), await balanceOf(app, "after")]).toEqual([100, 100]);
      expect(await cursorOf(app)).toBeLessThanOrEqual(await headOf());
    },
  );

  test("that was too high at the very first reading costs none either", async () => {
    const app = createDepositApp();
    const end = heading({ blocks: 5_000 });
    await minute(app);
    end();
    await minute(app);
    await deposit(app, "alice");
    await minute(app);
    expect(await balanceOf(app, "alice")).toBe(100);
    // Nor what is read again an hour later.
    await deposit(app, "hidden");
    await passOver(app, await headOf());
    await minute(app);
    expect(await balanceOf(app, "hidden")).toBe(100);
  });

  test.for([
    ["ahead of the clock", 3_600, /ahead of the clock/],
    ["hours old", -7_200, /its newest block is 1[12]\d minutes old/],
  ] as const)("that is %s is none, and said until there is one", async ([_name, seconds, words], { app }) => {
    const before = await cursorOf(app);
    await deposit(app, "alice");
    const end = heading({ seconds });
    await minute(app);
    await app.t.run(beginFollowing);
    await app.settle();
    expect([await cursorOf(app), await balanceOf(app, "alice"), await app.rows("whaleProgress")]).toEqual([
      before,
      0,
      [],
    ]);
    expect(await reasonsOf(app)).toEqual([expect.stringMatching(words)]);
    const { wrong } = await app.t.action(internal.ops.doctor.ask, {});
    expect(wrong.join("\n")).toMatch(words);
    end();
    // Another look at the chain may still be noting what it saw before: the next one takes that back.
    for (let looks = 0; looks < 3; looks++) await minute(app);
    expect([await balanceOf(app, "alice"), await reasonsOf(app)]).toEqual([100, []]);
  });

  test("that is some minutes old is that of a quiet chain", async ({ app }) => {
    await deposit(app, "alice");
    heading({ seconds: -300 });
    await minute(app);
    expect([await balanceOf(app, "alice"), await reasonsOf(app)]).toEqual([100, []]);
  });
});

test("each hour the blocks before the head are read again, not those before a cursor that is ahead", async ({
  app,
}) => {
  await deposit(app, "alice");
  // The cursor has passed the deposit unread, and stands above the confirmed blocks by less than the chain's length.
  await passOver(app, (await headOf()) + 2_500);
  await minute(app);
  expect(await balanceOf(app, "alice")).toBe(100);
});

test("what was sent to the platform's former wallet is credited for a day after the change", async ({
  app,
}) => {
  await deposit(app, "unread");
  const next = createDepositApp({ PLATFORM_WALLET_ADDRESS: freshAddress() });
  for (const { _id: _, _creationTime: __, ...row } of await app.rows("depositCursors"))
    await next.t.run((ctx) => ctx.db.insert("depositCursors", row));
  await next.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("addresses").collect()) await ctx.db.delete("addresses", _id);
  });
  for (const { address, userId } of await app.rows("addresses"))
    await next.t.run((ctx) => ctx.db.insert("addresses", { address, userId }));
  await minute(next);
  expect(await balanceOf(next, "unread")).toBe(100);
  await deposit(next, "late");
  const rereadAt = Date.now() - 26 * 60 * MINUTE;
  await next.t.run(async (ctx) => {
    for (const { _id, wallet } of await ctx.db.query("depositCursors").collect())
      if (wallet === PLATFORM.toLowerCase()) await ctx.db.patch("depositCursors", _id, { rereadAt });
  });
  await minute(next);
  expect(await balanceOf(next, "late")).toBe(0);
});
