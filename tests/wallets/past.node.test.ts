import { getAddress, numberToHex, type Address } from "viem";
import Papa from "papaparse";
import { expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { WALLET_TOKENS, type Symbol } from "../../convex/wallets/tokens";
import { random } from "../../scripts/standins/random";
import { RUNS, timePassing, useTime } from "../invariants/harness";
import { chain, ETHER, etherOf, holdingsOf, useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { cards, newest, owner, say, tap, test } from "../support/owners";

/** What a wallet has made: every coin that came or went is a move, once, and the moves sum to the balances. */

useChain();
useTime();

const leg = z.object({
  token: z.string(),
  amount: z.string(),
  raw: z.string(),
  valueUsd: z.number().nullable(),
});
const answer = z.object({
  address: z.string(),
  moves: z.array(
    z.object({
      ...{ at: z.string(), kind: z.string(), by: z.string() },
      ...{ out: leg.optional(), in: leg.optional(), feeEth: z.string().optional() },
      ...{ resultUsd: z.number().optional(), to: z.string().optional(), txHash: z.string().optional() },
    }),
  ),
  next: z.number().nullable(),
  result: z.object({
    ...{ paidInUsd: z.number(), takenOutUsd: z.number(), realisedUsd: z.number(), unrealisedUsd: z.number() },
    ...{ feesUsd: z.number(), totalUsd: z.number(), unpriced: z.array(z.string()) },
  }),
});

async function historyOf(app: WalletApp, userId: string, more = "") {
  const { status, body } = await app.get(`/mcp/defi/history?userId=${userId}${more}`);
  expect(status).toBe(200);
  return answer.parse(body);
}

/** What the rows of the CSV sum to, by token in its smallest unit. */
async function sumTable(app: WalletApp, userId: string) {
  const { status, text, headers } = await app.get(`/mcp/defi/history?userId=${userId}&format=csv`);
  expect([status, headers.get("content-type"), headers.get("link")]).toEqual([
    200,
    "text/csv; charset=utf-8",
    null,
  ]);
  const { data, errors } = Papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: true });
  expect(errors).toEqual([]);
  const sums: Partial<Record<string, bigint>> = {};
  const add = (token = "", amount = "", sign: bigint) => {
    if (amount === "") return;
    const [whole = "", fraction = ""] = amount.split(".");
    const { decimals } = WALLET_TOKENS[token as Symbol];
    sums[token] = (sums[token] ?? 0n) + sign * BigInt(whole + fraction.padEnd(decimals, "0"));
  };
  for (const row of data) {
    expect(row.Date).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    add(row["Received Currency"], row["Received Amount"], 1n);
    add(row["Sent Currency"], row["Sent Amount"], -1n);
    add(row["Fee Currency"], row["Fee Amount"], -1n);
  }
  return { sums, rows: data.length };
}

const present = async (app: WalletApp, userId: string) =>
  Object.fromEntries(Object.entries(await holdingsOf(app, userId)).filter(([, raw]) => raw > 0n));

async function setEther(factor: bigint) {
  const updatedAt = Math.floor(Date.now() / 1_000);
  await chain.feeds.set("ETH", { answer: factor, updatedAt });
}

test("a wallet's whole story: paid in, swapped, risen, sold, wrapped, given, sent, drawn, exported", async ({
  app,
}) => {
  const { userId, address } = await owner(app, { USDC: 100_000_000n, ETH: 0n });
  await chain.feeds.pause();
  try {
    const story = () => historyOf(app, userId);
    expect((await story()).result).toMatchObject({ paidInUsd: 100, totalUsd: 0, unpriced: [] });
    await chain.fund(address, { ETH: ETHER / 100n });
    const swap = { userId, toToken: "ETH", fromToken: "USDC", amount: "50000000" };
    const order = async (path: string, fields: object) => {
      const { body } = await app.post(path, fields, { as: "person-42" });
      expect(body).toMatchObject({ success: true, status: "confirmed" });
      return body;
    };
    await order("/mcp/defi/swap", swap);
    const { moves, result: first } = await story();
    expect(moves.map(({ kind, by }) => [kind, by])).toEqual([
      ["swap", "owner"],
      ["received", "others"],
      ["received", "others"],
    ]);
    expect(Number(moves[0]?.feeEth)).toBeGreaterThan(0);
    expect(first.realisedUsd).toBe(0);

    // Ether rises by a tenth.
    const { body } = await app.get(`/mcp/defi/portfolio?userId=${userId}`);
    const ether = z
      .array(z.object({ token: z.string(), valueUsd: z.number(), priceUsd: z.number() }))
      .parse(body.balances)
      .find(({ token }) => token === "ETH");
    const price = BigInt(Math.round((ether?.priceUsd ?? 0) * 1e8));
    await setEther((price * 11n) / 10n);
    const risen = (await story()).result;
    expect(risen.unrealisedUsd - first.unrealisedUsd).toBeCloseTo((ether?.valueUsd ?? 0) / 10, 2);
    await say(app, "/portfolio");
    expect(await newest(app)).toContain(`$${risen.totalUsd.toFixed(2)}`);
    await setEther(price);

    await order("/mcp/defi/swap", { userId, fromToken: "ETH", toToken: "USDC", size: "half" });
    const sold = await story();
    expect(sold.result.realisedUsd).toBe(sold.moves[0]?.resultUsd);
    await order("/mcp/defi/swap", { userId, fromToken: "ETH", toToken: "WETH", size: "$5" });
    const wrapped = await story();
    expect(wrapped.result.realisedUsd).toBe(sold.result.realisedUsd);
    expect(wrapped.result.totalUsd).toBeCloseTo(
      sold.result.totalUsd + sold.result.feesUsd - wrapped.result.feesUsd,
      1,
    );
    await chain.fund(address, { ETH: ETHER / 50n });
    const given = await story();
    expect(given.moves[0]).toMatchObject({
      kind: "received",
      by: "others",
      in: { amount: "0.02", token: "ETH" },
    });
    expect(given.result.paidInUsd).toBeGreaterThan(sold.result.paidInUsd);
    const friend = freshAddress();
    await order("/mcp/defi/send", { userId, token: "USDC", toAddress: friend, amount: "7000000" });
    const sent = await story();
    expect(sent.moves[0]).toMatchObject({ kind: "send", to: getAddress(friend), out: { amount: "7" } });
    expect(sent.result.takenOutUsd).toBeCloseTo(7, 2);

    await say(app, "/history 2");
    expect((await newest(app)).match(/received|to 0x/g)).toHaveLength(2);
    await tap(app, "Portfolio");
    await tap(app, "Chart");
    expect((await cards(app)).at(-1)?.text).toContain("Your wallet's worth");
    const { sums, rows } = await sumTable(app, userId);
    expect(sums).toEqual(await present(app, userId));
    // Page by page it is the same.
    const pages = [];
    for (let more: string | null = "&limit=3"; more !== null;) {
      const page = await historyOf(app, userId, more);
      pages.push(...page.moves);
      more = page.next === null ? null : `&limit=3&before=${page.next}`;
    }
    expect([pages.length, pages]).toEqual([rows, sent.moves]);
    for (const wrong of ["limit=0", "limit=201", "before=x", "before=0", "format=xml"])
      expect([wrong, (await app.get(`/mcp/defi/history?userId=${userId}&${wrong}`)).status]).toEqual([
        wrong,
        400,
      ]);
    expect((await app.get("/mcp/defi/history?userId=nobody-is-this-person")).status).toBe(404);
  } finally {
    chain.feeds.resume();
  }
});

test("what others send and take is entered to the last digit, once, and dust of strangers is no row", async ({
  app,
}) => {
  const wallet = await app.fundedWallet("alice", { ETH: ETHER });
  const walletId = String((await app.rows("wallets"))[0]?.walletId);
  const look = () => app.t.action(internal.wallets.actions.lookDaily, { walletId, address: wallet });
  const chance = random("strangers", 1);
  const transfers = RUNS > 2 ? 200 : 12;
  for (let n = 0; n < transfers; n++) {
    const token = chance.pick(["ETH", "USDC", "DAI", "WETH"] as const);
    const more = BigInt(chance.whole(0, 1_000_000));
    if (chance.pick([true, false, false])) await leave(wallet, ETHER / 5_000n + more);
    else await chain.fund(wallet, { [token]: 10n ** BigInt(WALLET_TOKENS[token].decimals) / 50n + more });
    if (chance.pick([true, false])) await Promise.all([1, 2, 3].map(look));
  }
  expect((await sumTable(app, "alice")).sums).toEqual(await present(app, "alice"));
  const before = await app.rows("moves");
  await chain.fund(wallet, { USDC: 9_000n });
  await historyOf(app, "alice");
  expect(await app.rows("moves")).toEqual(before);
  await chain.fund(wallet, { USDC: 2_000n });
  expect((await historyOf(app, "alice")).moves[0]).toMatchObject({
    kind: "received",
    in: { amount: "0.011" },
  });
  expect((await sumTable(app, "alice")).sums).toEqual(await present(app, "alice"));
});

/** Somebody with the key takes ether. */
async function leave(from: Address, raw: bigint): Promise<void> {
  await chain.rpc("anvil_setBalance", [from, numberToHex((await etherOf(from)) - raw)]);
  await chain.miner.mine();
}

test("a transfer between own wallets is at cost, and an order is entered once, when its block stands", async ({
  app,
}) => {
  const minutes = timePassing(app);
  const custody = await app.fundedWallet("alice", { USDC: 30_000_000n, ETH: ETHER });
  const { body } = await app.post("/mcp/wallet/create", { userId: "alice" });
  await holdingsOf(app);
  const send = { userId: "alice", token: "ETH", toAddress: body.address, amount: String(ETHER / 2n) };
  await app.post("/mcp/defi/send", send);
  await setEther(1_000_00000000n);
  // First the receiving wallet is looked at, then the sender's.
  await app.get("/mcp/wallet/balance?userId=alice");
  await minutes(3);
  const moves = await app.rows("moves");
  const cost = moves.find(({ kind }) => kind === "send")?.cost;
  expect(moves.filter(({ kind }) => kind === "send" || kind === "fee")).toHaveLength(1);
  expect(moves.map(({ kind, flow }) => [kind, flow])).toContainEqual(["received", cost]);
  expect(moves.map(({ kind, flow }) => [kind, flow])).toContainEqual(["send", `-${cost}`]);
  expect((await sumTable(app, "alice")).sums).toEqual(await present(app, "alice"));
  expect(await etherOf(custody)).toBeLessThan(ETHER / 2n);
});
