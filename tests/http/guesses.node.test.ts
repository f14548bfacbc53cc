import { describe, expect } from "vitest";
import { buyWith, test } from "../payments/payer";
import { chain, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { createWalletApp, deadlineByHand, freshAddress } from "../support/chain/walletApp";

/** Guesses and made-up hashes cost who makes them, and tell nothing. */

useChain();

describe("whose a transaction is", () => {
  test("cannot be found out by trying: a right guess after too many wrong ones is refused like the others", async () => {
    const app = createWalletApp(chain);
    await app.fundedWallet("alice", { ETH: 10n ** 18n });
    const { body } = await app.post("/mcp/defi/send", {
      userId: "alice",
      toAddress: freshAddress(),
      token: "ETH",
      amount: "1",
    });
    const ask = (userId: string, ip: string) =>
      app.get(`/mcp/defi/transaction?userId=${userId}&txHash=${String(body.txHash)}`, { ip });
    expect((await ask("alice", "203.0.113.1")).status).toBe(200);
    const guesses = Array.from({ length: 260 }, (_, i) => ask(`g${i}`, "203.0.113.9"));
    const right = ask("alice", "203.0.113.9");
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((one) => one === 404).length).toBeGreaterThanOrEqual(30);
    expect((await right).status).toBe(429);
    expect((await ask("alice", "203.0.113.1")).status).toBe(200);
  });
});

describe("a payment's hash that no node has heard of", () => {
  const madeUp = (i: number) => `0x${i.toString(16).padStart(64, "a")}`;

  test("is 402 within seconds, with the time to try again", async ({ app }) => {
    const late = deadlineByHand("unknownHash");
    let asked = 0;
    answering(() => {
      asked++;
      if (asked === 8) late();
      return null;
    });
    const { status, headers, body } = await buyWith(app, madeUp(1));
    expect([status, body.reason]).toEqual([402, "payment_not_found"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    // Four or five questions a look, a look a second.
    expect(asked).toBeLessThan(20);
  });

  test("can be tried so many times a minute from one address", async ({ app }) => {
    deadlineByHand("unknownHash")();
    const guess = (i: number) =>
      app.post("/agent/research/paid", {}, { headers: { "X-PAYMENT": madeUp(i) }, ip: "203.0.113.9" });
    let tried = 0;
    // Two are free again each second: a slow machine may get some more.
    let more = await guess(0);
    for (let i = 1; more.status === 402 && i < 400; i++) {
      expect(more.body.reason).toBe("payment_not_found");
      tried++;
      more = await guess(i);
    }
    expect(tried).toBeGreaterThanOrEqual(30);
    expect([more.status, more.body.error]).toEqual([
      429,
      expect.stringMatching(/^Rate limit reached: 120 look-ups/),
    ]);
  });
});
