import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { orderIn } from "../../convex/bot/commands/orders";
import { BOT_NAME, GROUP, SECRET, updateOf } from "../bot/support";
import { useChain, usdcOf } from "../support/chain/chain";
import { cronComesBy } from "../support/rows/transactions";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { cards, listsCount, newest, owner, RICH, say, tap, test } from "./support";

/** Orders that the owner begins in the chat: the card shows them, a tap carries them out, and they move little. */

useChain();

/** Puts an address on the owner's list, to count at once. */
async function allow(app: WalletApp, browser: Awaited<ReturnType<typeof owner>>["browser"], address: string) {
  await browser.mutation(api.account.recipients.add, { address });
  await listsCount(app);
}

describe("what a text orders", () => {
  const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const swap = (fromToken: string, toToken: string, amount: string) => ({
    ...{ kind: "swap", fromToken, toToken, amount },
  });

  test("is read exactly, or not at all", () => {
    for (const words of [
      "swap 25 USDC to ETH",
      "swap 25 usdc for eth",
      "Convert 25.0 $USDC into ETH.",
      "buy 25 USDC of ETH",
      "swap 25 USDC ETH",
    ])
      expect([words, orderIn(words)]).toEqual([words, swap("USDC", "ETH", "25000000")]);
    expect(orderIn("sell 0.1 ETH for USDC")).toEqual(swap("ETH", "USDC", "100000000000000000"));
    expect(orderIn("buy weth with 1.5 DAI")).toEqual(swap("DAI", "WETH", "1500000000000000000"));
    expect(orderIn("sell 0.1 ETH")).toEqual(swap("ETH", "USDC", "100000000000000000"));
    for (const words of [
      `send 25 USDC to ${address}`,
      `please send 25 USDC ${address.toLowerCase()}`,
      `send ${address} 25 USDC`,
    ])
      expect([words, orderIn(words)]).toEqual([
        words,
        { kind: "send", token: "USDC", toAddress: address, amount: "25000000" },
      ]);
    for (const words of [
      ...[
        "swap all my USDC to ETH",
        "swap 25 USDC to USDC",
        "swap 0 USDC to ETH",
        "swap 1,000 USDC to ETH",
        "swap -5 USDC to ETH",
        "25 USDC to ETH",
      ],
      ...["swap 25.0000001 USDC to ETH", "swap 1e3 USDC to ETH", "swap 25 PEPE to ETH"],
      ...["swap 25 USDC to ETH and DAI", "buy 25 USD of ETH", "buy 1 ETH with USDC"],
      ...[`send 25 USDC to ${address.slice(0, -1)}`, `send 25 USDC to ${address.replace("C5", "c5")}`],
      ...["swap 25 USDC to ETH\nswap 50 USDC to ETH", `send 25 USDC to ${address} or ${address}`],
    ])
      expect([words, orderIn(words)]).toEqual([words, null]);
  });
});

describe("an order in the chat", () => {
  test("swaps after a tap, and says how it has ended", async ({ app }) => {
    const { userId, address } = await owner(app);
    await say(app, "swap 25 USDC to DAI");
    const card = await newest(app);
    expect(card).toContain("Your order");
    expect(card).toMatch(/Swap 25 USDC to DAI, for at least [\d.]+ DAI/);
    expect(card).toContain(`From your custody wallet ${address}`);
    expect(card).not.toContain("Somebody who knows");
    expect(await app.rows("transactions")).toEqual([]);
    await tap(app, "✅ Approve");
    await cronComesBy(app);
    expect(await app.rows("trades")).toMatchObject([{ userId, source: "telegram", action: "swap" }]);
    expect((await app.rows("permissions")).map(({ by }) => by)).toContain("chat");
    const told = (await cards(app)).map(({ text }) => text);
    expect(told.some((text) => text.includes("Done") && text.includes("Swap 25 USDC to DAI"))).toBe(true);
    // Once.
    await say(app, `/approve ${String((await app.rows("approvals"))[0]?._id)}`);
    expect(await app.rows("trades")).toHaveLength(1);
  });

  test("sends to the owner's list alone, and 100 USD a day in all", async ({ app }) => {
    const { userId, browser } = await owner(app, RICH);
    const to = freshAddress();
    await say(app, `/send 25 USDC to ${to}`);
    expect(await newest(app)).toContain(
      "needs a recipient on your list, and this one is not. Order it signed in",
    );
    expect(await app.rows("approvals")).toEqual([]);
    await allow(app, browser, to);
    await say(app, `/send 101 USDC to ${to}`);
    expect(await newest(app)).toContain("limit of 100 USD in 24 hours that are begun in the chat");
    await say(app, `/send 60 USDC to ${to}`);
    await tap(app, "✅ Approve");
    await say(app, `send 41 USDC to ${to}`);
    expect(await newest(app)).toContain("40 USD are free now");
    // Two cards that fit one by one, and not together.
    await say(app, `/send 30 USDC to ${to}`);
    await say(app, "/swap 20 USDC to DAI");
    const open = (await app.rows("approvals")).filter(({ state }) => state === "open");
    for (const { _id } of open) await say(app, `/approve ${_id}`);
    await app.settle();
    expect(await newest(app)).toBeDefined();
    expect((await app.rows("approvals")).map(({ state }) => state).sort()).toEqual([
      ...["approved", "approved", "failed"],
    ]);
    expect(await usdcOf(to)).toBe(90_000_000n);
    // Beyond that the signed-in owner, as before; and what others ask for is counted and asked as before.
    const order = { userId, token: "USDC", amount: "200000000", toAddress: to };
    expect((await app.post("/mcp/defi/send", order, { as: "person-42" })).status).toBe(200);
    expect((await app.post("/mcp/defi/send", order)).status).toBe(202);
  });

  test("is none for a stranger, a group, somebody else's words, a closed or a frozen account", async ({
    app,
  }) => {
    const { browser } = await owner(app);
    await say(app, "/swap 25 USDC to DAI", 666);
    expect(await newest(app, 666)).toContain("needs your account");
    const forwarded = updateOf("/swap 25 USDC to DAI");
    await app.post(
      "/messenger/webhook",
      {
        ...forwarded,
        message: { ...forwarded.message, forward_origin: { type: "user", sender_user: { id: 666 } } },
      },
      { headers: { "X-Telegram-Bot-Api-Secret-Token": SECRET } },
    );
    expect(await newest(app)).toContain("forwarded");
    for (const text of [
      ...[`/swap@${BOT_NAME} 25 USDC to DAI`, `/send@${BOT_NAME} 25 USDC to ${freshAddress()}`],
      `/approve@${BOT_NAME} x`,
    ]) {
      await say(app, text, undefined, GROUP);
      expect([text, await newest(app, GROUP)]).toEqual([
        text,
        expect.stringContaining("I answer that in a private chat only"),
      ]);
    }
    const toldInGroup = (await cards(app, GROUP)).length;
    // Without the bot's name it is not meant for it, and with it plain words are a question.
    for (const text of ["/swap 25 USDC to DAI", "swap 25 USDC to DAI"])
      await say(app, text, undefined, GROUP);
    expect(await cards(app, GROUP)).toHaveLength(toldInGroup);
    await say(app, `@${BOT_NAME} swap 25 USDC to DAI`, undefined, GROUP);
    expect(await app.rows("approvals")).toEqual([]);
    await browser.mutation(api.account.levels.set, { level: "closed" });
    await say(app, "/swap 25 USDC to DAI");
    expect(await newest(app)).toContain("closed");
    await say(app, "/freeze");
    await say(app, "/swap 25 USDC to DAI");
    expect(await app.rows("approvals")).toEqual([]);
    expect(await app.rows("transactions")).toEqual([]);
  });
});
