import { describe, expect, vi } from "vitest";
import type { Doc } from "../../convex/_generated/dataModel";
import { timePassing, useTime } from "../invariants/harness";
import { ETHER, chain, useChain, usdcOf } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { until } from "../support/waits";
import { cards, keyOf, owner, send as terms, signed, tap, test } from "../support/owners";

/** A model repeats what it got no answer to: of a tool, the same terms within ten minutes are the same order. */

useChain();
useTime();

const TOOL = { "Tool-Call": "true" };
const PLENTY = { ETH: ETHER, USDC: 1_000_000_000n, DAI: 100n * ETHER };
const send = (app: WalletApp, order: object, headers: Record<string, string> = TOOL, as?: string) =>
  app.post("/mcp/defi/send", order, { headers, ...(as === undefined ? {} : { as }) });

describe("of a tool", () => {
  test("a repeat finds the order, says how to order once more, and moves nothing", async ({ app }) => {
    await app.fundedWallet("alice", PLENTY);
    const order = terms("alice");
    const first = await send(app, order);
    expect([first.status, first.body.status, first.body.repeated]).toEqual([200, "confirmed", undefined]);
    const again = await send(app, Object.fromEntries(Object.entries(order).toReversed()));
    expect(again.body).toMatchObject({
      txHash: first.body.txHash,
      repeated: true,
      repeatedNote: expect.stringContaining("pass an idempotencyKey of your own"),
    });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await usdcOf(order.toAddress)).toBe(25_000_000n);
    // A key of one's own orders once more, and from then on that one is the newest.
    const more = await send(app, { ...order, idempotencyKey: "once-more" });
    expect([more.body.status, more.body.repeated]).toEqual(["confirmed", undefined]);
    expect((await send(app, order)).body.txHash).toBe(more.body.txHash);
    expect(await usdcOf(order.toAddress)).toBe(50_000_000n);
  });

  test("other terms, another wallet, another credential and plain HTTP are other orders", async ({ app }) => {
    const { userId, browser } = await owner(app);
    const { body } = await app.post("/mcp/wallet/create", { userId }, { as: "person-42" });
    await chain.fund(String(body.address) as `0x${string}`, PLENTY);
    const { init } = await keyOf(app, browser, ["withdraw"]);
    const order = terms(userId, { toAddress: body.address });
    const hashes = [
      await send(app, order, TOOL, "person-42"),
      await send(app, { ...order, amount: "25000001" }, TOOL, "person-42"),
      await send(app, { ...order, from: "basic", toAddress: freshAddress() }, TOOL, "person-42"),
      await send(app, order, { ...TOOL, ...init.headers }),
      await send(app, order, {}, "person-42"),
      await send(app, order, {}, "person-42"),
    ].map((answer) => answer.body.txHash ?? answer.body.error);
    expect(new Set(hashes).size).toBe(6);
    expect(hashes.filter((hash) => !String(hash).startsWith("0x"))).toEqual([]);
  });

  test("calls at once are one order", async ({ app }) => {
    await app.fundedWallet("alice", PLENTY);
    const order = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "10000000" };
    const swap = () => app.post("/mcp/defi/swap", order, { headers: TOOL });
    const answers = await Promise.all(Array.from({ length: 8 }, swap));
    expect(new Set(answers.map(({ body }) => body.txHash)).size).toBe(1);
    expect(answers.filter(({ body }) => body.repeated === undefined)).toHaveLength(1);
    expect(await signed(app)).toHaveLength(1);
  });

  test("a caller whose look at a swap was overtaken by another's signature is answered, too", async ({
    app,
  }) => {
    await app.fundedWallet("alice", PLENTY);
    const order = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "10000000" };
    const isSwap = async (is: (row: Doc<"orders">) => boolean) => (await app.rows("orders")).some(is);
    let held = false;
    intercept(async ({ url }, pass) => {
      const isApproved = url.includes("/quote") && (await isSwap((row) => row.approvalTxHash !== undefined));
      if (!isApproved || held) return pass();
      held = true;
      await until(() => isSwap(({ state }) => state === "confirmed"));
      return pass();
    });
    const answers = await Promise.all([1, 2].map(() => app.post("/mcp/defi/swap", order, { headers: TOOL })));
    expect(held).toBe(true);
    expect(answers.map(({ body }) => body.status)).toEqual(["confirmed", "confirmed"]);
  });

  test("ten minutes later, or after a failure, it is another order", async ({ app }) => {
    const pass = timePassing(app);
    await app.fundedWallet("alice", PLENTY);
    const order = terms("alice");
    const [first] = [await send(app, order), await pass(9)];
    expect((await send(app, order)).body.txHash).toBe(first.body.txHash);
    await pass(1);
    const later = await send(app, order);
    expect([later.body.status, later.body.repeated]).toEqual(["confirmed", undefined]);
    expect(later.body.txHash).not.toBe(first.body.txHash);

    app.standins.fail("swap", { mode: "status", status: 500, times: 1 });
    const swap = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "10000000" };
    const failed = await app.post("/mcp/defi/swap", swap, { headers: TOOL });
    expect([failed.status, failed.body.nothingMoved]).toEqual([502, true]);
    const mended = await app.post("/mcp/defi/swap", swap, { headers: TOOL });
    expect([mended.body.status, mended.body.repeated]).toEqual(["confirmed", undefined]);
  });

  test("what an owner was asked is asked once, and found when they have tapped", async ({ app }) => {
    const { userId } = await owner(app);
    const order = terms(userId);
    const asked = await send(app, order);
    const again = await send(app, order);
    expect([asked.status, again.status, again.body.approvalId]).toEqual([202, 202, asked.body.approvalId]);
    expect((await cards(app)).filter(({ text }) => text.includes("approval is asked"))).toHaveLength(1);
    await tap(app, "✅ Approve");
    const done = await send(app, order);
    expect(done.body).toMatchObject({ status: "confirmed", repeated: true });
    expect(await usdcOf(order.toAddress)).toBe(25_000_000n);
  });

  test("a question that nobody has answered is asked anew", async ({ app }) => {
    const pass = timePassing(app);
    const { userId } = await owner(app);
    const order = terms(userId);
    const asked = await send(app, order);
    await pass(11);
    const again = await send(app, order);
    expect([again.status, again.body.approvalId === asked.body.approvalId]).toEqual([202, false]);
  });
});

describe("an amount that was meant in whole tokens", () => {
  const MEANT: [fields: object, error: string][] = [
    [{ token: "USDC", amount: "10" }, "10 USDC is 10000000"],
    [{ token: "DAI", amount: "10" }, `10 DAI is 1${"0".repeat(19)}`],
  ];

  test("is refused of a tool, which is told the right one, and signs nothing", async ({ app }) => {
    await app.fundedWallet("alice", PLENTY);
    for (const [fields, error] of MEANT) {
      const order = terms("alice", fields);
      const { status, body } = await send(app, order);
      expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
      const rehearsed = await send(app, { ...order, dryRun: true });
      expect(rehearsed.body).toMatchObject({
        success: false,
        rehearsal: { refusal: { status: 400, error: body.error } },
      });
    }
    const swap = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "10" };
    const { status, body } = await app.post("/mcp/defi/swap", swap, { headers: TOOL });
    expect([status, body.error]).toEqual([400, expect.stringContaining("10 USDC is 10000000")]);
    expect(await app.rows("orders")).toEqual([]);
  });

  test("is carried out of plain HTTP, with a warning", async ({ app }) => {
    const userId = `long-${crypto.randomUUID()}`;
    await app.fundedWallet(userId, PLENTY);
    const order = terms(userId, { amount: "10" });
    const warning = expect.stringContaining("10 USDC is 10000000");
    expect((await send(app, { ...order, dryRun: true }, {})).body).toMatchObject({ success: true, warning });
    expect((await send(app, order, {})).body).toMatchObject({ status: "confirmed", warning });
    expect(await usdcOf(order.toAddress)).toBe(10n);
  });

  test("is none where the wallet holds fewer, it is worth a cent, or no price is known", async ({ app }) => {
    await app.fundedWallet("alice", PLENTY);
    for (const amount of ["1001", "10000"]) {
      const { body } = await send(app, terms("alice", { amount }));
      expect([amount, body.status]).toEqual([amount, "confirmed"]);
    }
    vi.stubEnv("UNOWNED_DAILY_USD", "1000");
    expect((await send(app, terms("alice", { amount: "10" }))).status).toBe(400);
  });
});
