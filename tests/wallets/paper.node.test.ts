import { formatUnits } from "viem";
import { beforeAll, describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { handedToTheNode } from "../invariants/harness";
import { ETHER, chain, holdingsOf, nonceOf, useChain, usdcOf } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { keyOf, newest, owner, say, tap, test } from "../support/owners";

/** An account on paper: everything but the money. */

useChain();
// Prices stand still, so that what an order got can be compared with what they say afterwards.
beforeAll(() => chain.feeds.pause());

const START = { ETH: ETHER / 2n, USDC: 10_000_000_000n };
const idOf = () => `owner-${crypto.randomUUID()}`;
const swap = { fromToken: "USDC", toToken: "ETH", amount: "1000000000" };

const stateShape = z.object({
  paper: z.boolean(),
  liveFrom: z.string().nullable(),
  balances: z.array(z.object({ token: z.string(), raw: z.string() })),
  resultUsd: z.number().nullable(),
});
const stateOf = async (app: WalletApp, userId: string) =>
  stateShape.parse((await app.get(`/mcp/defi/paper?userId=${userId}`)).body);

/** A hosted tool's result, by the wire. */
const resultShape = z.object({
  result: z.object({
    content: z.array(z.object({ text: z.string() })),
    structuredContent: z.record(z.string(), z.unknown()),
  }),
});
async function call(app: WalletApp, userId: string, name: string, input: object = {}) {
  const params = { name, arguments: input };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const client = app.t.withRequestMetadata({ ip: "192.0.2.7", userAgent: null });
  const response = await client.fetch(`/mcp?userId=${userId}`, { method: "POST", body });
  return resultShape.parse(await response.json()).result;
}

/** The words of the newest card. */
const read = async (app: WalletApp) => (await newest(app)).replaceAll(/<[^>]*>/g, "");

/** The time comes from which an account is live. */
async function liveTimeComes(app: WalletApp): Promise<void> {
  for (const { _id, userId, paper } of await app.rows("accounts")) {
    if (paper?.liveFrom === undefined) continue;
    await app.t.run((ctx) => ctx.db.patch("accounts", _id, { paper: { ...paper, liveFrom: 0 } }));
    await app.t.mutation(internal.accounts.paper.makeLive, { userId });
  }
  await app.settle();
}

describe("an account on paper", () => {
  test("orders by a tool, by HTTP and in the chat without a signature, and is live two hours after its owner says so", async ({
    app,
  }) => {
    const given = handedToTheNode();
    const answers: string[] = [];
    const kept = <Body extends object>(body: Body): Body => {
      answers.push(JSON.stringify(body));
      return body;
    };
    await say(app, "/paper");
    expect(await read(app)).toMatch(/needs an account[^]*Own/);
    const userId = idOf();
    const set = kept(await call(app, userId, "set_paper", { on: true }));
    expect(set.structuredContent).toMatchObject({ paper: true, liveFrom: null });
    expect(set.content[0]?.text).toContain("PAPER: nothing real moves");
    const connected = kept((await app.post("/mcp/defi/connect", { userId })).body);
    expect(connected).toMatchObject({ paper: true, existing: true });
    const address = String(connected.address);
    expect(await holdingsOf(app, userId)).toMatchObject(START);

    // A swap is filled by the quote or the feeds, whichever is less; and its fee leaves the book's ether.
    const filled = kept(await call(app, userId, "swap_tokens", swap)).structuredContent;
    expect(filled).toMatchObject({
      success: true,
      status: "confirmed",
      paper: true,
      sellAmount: "1000000000",
    });
    expect(filled.txHash).toMatch(/^0x7061706572[0-9a-f]{54}$/);
    const bought = BigInt(String(filled.buyAmount));
    const { balances } = z
      .object({ balances: z.array(z.object({ token: z.string(), priceUsd: z.number().nullable() })) })
      .parse(kept((await app.get(`/mcp/defi/portfolio?userId=${userId}`)).body));
    const [row] = await app.rows("orders");
    const fee = BigInt(row?.paperFee ?? 0);
    expect(row).toMatchObject({ paper: true, state: "confirmed", tries: [], bought: String(bought) });
    expect(fee).toBeGreaterThan(0n);
    const etherUsd = balances.find(({ token }) => token === "ETH")?.priceUsd ?? 0;
    expect(Number(bought) / 1e18).toBeLessThanOrEqual((1_000 / etherUsd) * 1.000001);
    expect(await holdingsOf(app, userId)).toMatchObject({
      USDC: START.USDC - 1_000_000_000n,
      ETH: START.ETH + bought - fee,
    });
    const repeated = kept(await call(app, userId, "swap_tokens", swap)).structuredContent;
    expect(repeated).toMatchObject({ repeated: true, paper: true, txHash: filled.txHash });

    // A send leaves the book, and nothing else.
    const to = freshAddress();
    const order = { userId, token: "USDC", toAddress: to, size: "10%", idempotencyKey: "tenth" };
    const rehearsed = kept((await app.post("/mcp/defi/send", { ...order, dryRun: true })).body);
    expect(rehearsed).toMatchObject({
      status: "rehearsed",
      paper: true,
      success: true,
      amount: "900000000",
    });
    const sent = kept((await app.post("/mcp/defi/send", order)).body);
    expect(sent).toMatchObject({ paper: true, status: "confirmed", amount: "900000000" });
    const seen = await app.get(`/mcp/defi/transaction?userId=${userId}&txHash=${String(sent.txHash)}`);
    expect(kept(seen.body)).toMatchObject({ kind: "send", paper: true, status: "confirmed" });
    expect([await usdcOf(to), (await holdingsOf(app, userId)).USDC]).toEqual([0n, 8_100_000_000n]);
    // What was sent is no loss: the fees are, and what the pool took.
    const { resultUsd } = await stateOf(app, userId);
    expect(resultUsd).toBeLessThan(0);
    expect(resultUsd).toBeGreaterThan(-20);
    for (const [path, fields, error] of [
      ["/mcp/defi/send", { ...order, idempotencyKey: "b", from: "basic" }, "No wallet"],
      ["/mcp/defi/send", { ...order, idempotencyKey: "c", size: "8101" }, "Insufficient USDC on paper: 8101"],
    ] as const) {
      const { body } = await app.post(path, fields);
      expect(kept(body)).toMatchObject({ error: expect.stringContaining(error) });
    }
    // Its history is the book's, from its start on, and sums to it; other programs are told that it is paper.
    const history = await app.get(`/mcp/defi/history?userId=${userId}`);
    expect(kept(history.body)).toMatchObject({
      paper: true,
      moves: [
        { kind: "send" },
        { kind: "swap", feeEth: formatUnits(fee, 18) },
        { kind: "received" },
        { kind: "received" },
      ],
    });
    const table = await app.get(`/mcp/defi/history?userId=${userId}&format=csv`);
    answers.push(table.text);
    expect(
      table.text
        .trim()
        .split("\r\n")
        .slice(1)
        .every((line) => line.includes(",paper: ")),
    ).toBe(true);
    // Real money stands beside the book.
    await chain.fund(z.templateLiteral(["0x", z.string()]).parse(address), { USDC: 25_000_000n });
    for (const path of ["/mcp/defi/portfolio", "/mcp/wallet/balance", "/mcp/defi/paper"]) {
      const beside = kept((await app.get(`${path}?userId=${userId}`)).body);
      expect([path, beside]).toEqual([path, expect.objectContaining({ paper: true, realValueUsd: 25 })]);
    }

    // The owner alone makes it live, two hours later; a freeze cancels that.
    const [, code] = /start=(own_\w+)/.exec(String(connected.ownerUrl)) ?? [];
    await say(app, `/start ${code}`);
    await tap(app, "🔐 Own");
    const byId = await app.post("/mcp/defi/paper", { userId, on: false });
    expect([byId.status, byId.body.error]).toEqual([403, expect.stringContaining("Only its owner")]);
    await say(app, "swap $50 of USDC to DAI");
    expect(await read(app)).toMatch(/^📝 Paper · 🔐 Your approval[^]*From your book: nothing real moves/);
    await tap(app, "✅ Approve");
    expect(await read(app)).toMatch(/^📝 Paper · ✅ Done[^]*nothing real has moved/);
    await say(app, "/gas 2");
    expect(await read(app)).toContain("On paper the network fees are paid from the book");
    await say(app, "/portfolio");
    expect(await read(app)).toMatch(/^📝 Paper · your portfolio[^]*really holds \$25/);
    await say(app, "swap 5 USDC to DAI");
    await say(app, "/paper");
    expect(await read(app)).toMatch(
      /^📝 Paper · your portfolio[^]*Result −\$[^]*began with 10,000 USDC and 0.5 ETH/,
    );
    await tap(app, "Go live in 2 h");
    expect(await read(app)).toMatch(/Live from .*\d\d:\d\d UTC on/);
    await say(app, "freeze");
    expect((await stateOf(app, userId)).liveFrom).toBeNull();
    await liveTimeComes(app);
    expect((await stateOf(app, userId)).paper).toBe(true);
    const frozen = await app.post("/mcp/defi/swap", { userId, ...swap });
    expect(frozen.status).toBe(503);
    await app.t.run(async ({ db }) => {
      for (const { _id } of await db.query("accounts").collect())
        await db.patch("accounts", _id, { thawsAt: 0 });
    });
    await say(app, "/paper");
    await tap(app, "Go live in 2 h");
    await tap(app, "Stay on paper");
    await tap(app, "Go live in 2 h");

    // Until then nothing was signed, and no answer had a link to an explorer.
    expect([given(), await nonceOf(address), await usdcOf(to)]).toEqual([[], 0, 0n]);
    expect((await app.rows("orders")).flatMap(({ tries }) => tries)).toEqual([]);
    expect(answers.filter((text) => /explorer|basescan/i.test(text))).toEqual([]);
    const cards = app.standins.sent("messenger").filter(({ text }) => String(text).startsWith("<b>📝 Paper"));
    expect(cards.filter((card) => /basescan\.org\/tx/.test(JSON.stringify(card)))).toEqual([]);

    await liveTimeComes(app);
    expect(await read(app)).toContain("Your account is live");
    expect(await stateOf(app, userId)).toMatchObject({ paper: false, balances: [] });
    const live = (await app.get(`/mcp/defi/portfolio?userId=${userId}`)).body;
    expect([live.paper, live.realValueUsd, live.totalValueUsd]).toEqual([undefined, undefined, 25]);
    // The question that was open is void; a request that was made on paper is answered as it was then.
    await tap(app, "✅ Approve");
    expect(await read(app)).toContain("Nothing was moved");
    await chain.fund(z.templateLiteral(["0x", z.string()]).parse(address), { ETH: ETHER });
    await say(app, "swap 5 USDC to DAI");
    await tap(app, "✅ Approve");
    expect(await read(app)).toMatch(/^✅ Done/);
    expect(await nonceOf(address)).toBe(2);
    expect(await usdcOf(z.templateLiteral(["0x", z.string()]).parse(address))).toBe(20_000_000n);
  });

  test("is switched by its owner alone: no key, no id, no freeze's back door; and a free id only unused", async ({
    app,
  }) => {
    const { browser, userId } = await owner(app);
    const { init } = await keyOf(app, browser, ["trade", "withdraw"]);
    for (const headers of [{}, init.headers])
      for (const wish of [{ on: true }, { startAgain: true }]) {
        const refused = await app.post("/mcp/defi/paper", { userId, ...wish }, { headers });
        expect([refused.status, refused.body.error]).toEqual([
          403,
          expect.stringContaining("Only its owner"),
        ]);
      }
    const unknown = await app.post("/mcp/defi/paper", { userId, paper: true });
    expect([unknown.status, unknown.body.error]).toEqual([400, expect.stringContaining("paper")]);
    // The owner's word voids what was asked before, in either mode.
    await say(app, "swap 5 USDC to DAI");
    await say(app, "/paper");
    await tap(app, "📝 Switch on");
    await tap(app, "✅ Approve");
    expect(await read(app)).toMatch(/Nothing was moved[^]*Your rules have changed/);
    const key = { headers: { ...init.headers, "Idempotency-Key": "one" } };
    const filled = await app.post("/mcp/defi/swap", { userId, ...swap }, key);
    expect(filled.body).toMatchObject({ paper: true, status: "confirmed" });
    // The same request on the other side of the switch is the same order.
    await say(app, "/paper");
    await tap(app, "Go live in 2 h");
    await liveTimeComes(app);
    const again = await app.post("/mcp/defi/swap", { userId, ...swap }, key);
    expect(again.body).toMatchObject({ paper: true, repeated: true, txHash: filled.body.txHash });

    // A free id that holds something, or has moved something, could be locked by whoever knows it.
    const held = idOf();
    await app.fundedWallet(held, { USDC: 2_000_000n });
    const [rich, poor] = [held, idOf()];
    await app.fundedWallet(poor, { ETH: 100_000_000_000_000n });
    await app.post("/mcp/defi/send", { userId: poor, token: "ETH", toAddress: freshAddress(), amount: "1" });
    for (const free of [rich, poor]) {
      const { status, body } = await app.post("/mcp/defi/paper", { userId: free, on: true });
      expect([status, body.error]).toEqual([403, expect.stringContaining("ownerUrl")]);
    }
    // An unused one goes on paper by its id, and live by it two hours later.
    const free = idOf();
    await app.post("/mcp/defi/paper", { userId: free, on: true });
    await app.post("/mcp/defi/swap", { userId: free, ...swap });
    const begun = { userId: free, startAgain: true, idempotencyKey: "again" };
    expect((await app.post("/mcp/defi/paper", begun)).body).toMatchObject({ paper: true });
    await app.post("/mcp/defi/swap", { userId: free, ...swap });
    const after = await stateOf(app, free);
    expect((await app.post("/mcp/defi/paper", begun)).body.balances).toEqual(
      (await app.get(`/mcp/defi/paper?userId=${free}`)).body.balances,
    );
    expect(after.balances.find(({ token }) => token === "USDC")?.raw).toBe("9000000000");
    expect((await app.post("/mcp/defi/paper", { userId: free, on: false })).body.liveFrom).not.toBeNull();
    expect((await stateOf(app, free)).paper).toBe(true);
    await liveTimeComes(app);
    expect((await stateOf(app, free)).paper).toBe(false);
  });
});

describe("a deployment on paper", () => {
  const onPaper = test.extend({ settings: { env: { PAPER: "on", PAPER_START: "50 USDC, 0.1 ETH" } } });
  onPaper("has everybody on paper, and nobody live", async ({ app }) => {
    const given = handedToTheNode();
    const userId = idOf();
    expect((await app.post("/mcp/defi/connect", { userId })).body.paper).toBe(true);
    expect((await app.post("/mcp/defi/swap", { userId, ...swap, amount: "20000000" })).body).toMatchObject({
      paper: true,
      status: "confirmed",
    });
    expect(await holdingsOf(app, userId)).toMatchObject({ USDC: 30_000_000n });
    const { status, body } = await app.post("/mcp/defi/paper", { userId, on: false });
    expect([status, body.error]).toEqual([
      409,
      expect.stringContaining("Every account of this deployment is on paper"),
    ]);
    expect(given()).toEqual([]);
  });
});
