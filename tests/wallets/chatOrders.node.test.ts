import { getAddress } from "viem";
import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { BOT_NAME, GROUP, SECRET, updateOf } from "../bot/support";
import { useChain, usdcOf } from "../support/chain/chain";
import { cronComesBy } from "./orderRows";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { cards, twoHoursPass, newest, owner, RICH, say, signed, tap, test } from "../support/owners";

/** Orders that the owner begins in the chat: the card shows them, a tap carries them out, and they move little. */

useChain();

/** Puts an address on the owner's list, to count at once. */
async function allow(app: WalletApp, browser: Awaited<ReturnType<typeof owner>>["browser"], address: string) {
  await browser.mutation(api.accounts.keys.addRecipient, { address });
  await twoHoursPass(app);
}

describe("an order in the chat", () => {
  test("ends in the owner's own words, and an expired one is asked about again by a button", async ({
    app,
  }) => {
    const { userId } = await owner(app);
    await say(app, "swap 25 USDC to DAI");
    // Beside Approve, Freeze asks first.
    await tap(app, "🧊 Freeze");
    expect(await newest(app)).toContain("Freeze your account?");
    await tap(app, "✖ Refuse");
    expect(await newest(app)).toMatch(/Nothing was moved[^]*You refused it\./);
    await say(app, "swap 26 USDC to DAI");
    const [, row] = await app.rows("orders");
    if (row === undefined) throw new Error("There is no second order");
    await app.t.run((ctx) => ctx.db.patch("orders", row._id, { nextCheckAt: Date.now() }));
    await tap(app, "✅ Approve");
    expect(await newest(app)).toMatch(/26 USDC → DAI[^]*You didn't tap in time\./);
    await tap(app, "Ask again");
    expect(await newest(app)).toContain("26 USDC → ≈");
    await tap(app, "🧊 Freeze");
    await tap(app, "🧊 Freeze");
    await say(app, `/approve ${String((await app.rows("orders")).at(-1)?._id)}`);
    expect(await newest(app)).toMatch(/Nothing was moved[^]*(?:Your rules have changed|You froze)/);
    expect((await app.rows("orders")).map(({ state }) => state)).not.toContain("confirmed");
    expect(userId).not.toBe("");
  });

  test("swaps after a tap, and says how it has ended", async ({ app }) => {
    const { userId, address } = await owner(app);
    await say(app, "swap 25 USDC to DAI");
    const card = await newest(app);
    expect(card).toContain("You asked for this");
    expect(card).toMatch(
      /25 USDC → ≈24\.9\d DAI \(\$24\.9\d\), at least 24\.7\d · fee ≈\$[\d.]+ · uses \$0\.50 of your \$100 a day/,
    );
    expect(card).toContain(`From your wallet ${address}`);
    expect(card).not.toContain("Somebody who knows");
    expect(await signed(app)).toEqual([]);
    await tap(app, "✅ Approve");
    await cronComesBy(app);
    const trade = { userId, source: "telegram", action: "swap", by: "chat", state: "confirmed" };
    expect(await app.rows("orders")).toMatchObject([trade]);
    const told = (await cards(app)).map(({ text }) => text);
    expect(
      told.some((text) =>
        /Done[^]*25 USDC → 24\.9\d+ DAI\s+Network fee paid: \$[\d.]+ \(0\.\d+ ETH\)/.test(text),
      ),
    ).toBe(true);
    // Once.
    await say(app, `/approve ${String((await app.rows("orders"))[0]?._id)}`);
    expect(await signed(app)).toHaveLength(1);
  });

  test("sends to the owner's list alone, and 2,000 USD a day; swaps may lose 100", async ({ app }) => {
    const { userId, browser } = await owner(app, RICH);
    const to = freshAddress();
    await say(app, `/send 25 USDC to ${to}`);
    expect(await newest(app)).toContain("needs a recipient on the owner's list, and this one is not");
    expect(await app.rows("orders")).toEqual([]);
    const shown = getAddress(to);
    await tap(app, `Add ${shown.slice(0, 6)}…${shown.slice(-4)} (counts in 2 h)`);
    expect(await newest(app)).toMatch(/Your recipients[^]*counts from/);
    await allow(app, browser, to);
    await say(app, `/send 2001 USDC to ${to}`);
    expect(await newest(app)).toContain("limit of 2000 USD in 24 hours");
    // Two cards that fit one by one, and not together.
    await say(app, `/send 1500 USDC to ${to}`);
    await say(app, `/send 501 USDC to ${to}`);
    for (const { _id } of await app.rows("orders")) await say(app, `/approve ${_id}`);
    await app.settle();
    expect((await app.rows("orders")).map(({ state }) => state)).toEqual(["confirmed", "failed"]);
    expect(await usdcOf(to)).toBe(1_500_000_000n);
    // What swaps may lose has a cap of its own for what the chat approves: 11 % of 1,000 USD are too much.
    const swap = { userId, fromToken: "USDC", toToken: "DAI", amount: "1000000000", slippageBps: 1_000 };
    const { status, body } = await app.post("/mcp/defi/swap", swap);
    expect([status, body.error]).toEqual([403, expect.stringContaining("limit of 100 USD in 24 hours")]);
  });

  test("is none for a stranger, a group, somebody else's words, or a frozen account", async ({ app }) => {
    await owner(app);
    await say(app, "/swap 25 USDC to DAI", 666);
    expect(await newest(app, 666)).toContain("needs an account");
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
    expect(await app.rows("orders")).toEqual([]);
    await say(app, "/freeze");
    await say(app, "/swap 25 USDC to DAI");
    expect(await app.rows("orders")).toEqual([]);
  });
});
