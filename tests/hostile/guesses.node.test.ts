import { describe, expect } from "vitest";
import { buyWith, ONE, payer, transfer, test } from "../payments/paying";
import { chain, useChain } from "../support/chain";
import { answering } from "../support/rpc";
import { createWalletApp, deadlineByHand, freshAddress } from "../support/walletApp";

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
    const statuses = [];
    // From an address each: the hash is what they have in common.
    for (let guess = 0; guess < 21; guess++)
      statuses.push((await ask(`g${guess}`, `203.0.113.${guess}`)).status);
    expect([statuses.filter((one) => one === 404).length, statuses.at(-1)]).toEqual([20, 429]);
    expect((await ask("alice", "198.51.100.7")).status).toBe(429);
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

  test("can be tried twenty times a minute from one address", async ({ app }) => {
    deadlineByHand("unknownHash")();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        app.post("/agent/research/paid", {}, { headers: { "X-PAYMENT": madeUp(i) }, ip: "203.0.113.9" }),
      ),
    );
    expect(answers.every(({ status }) => status === 402)).toBe(true);
    const more = await app.post(
      "/agent/research/paid",
      {},
      { headers: { "X-PAYMENT": madeUp(99) }, ip: "203.0.113.9" },
    );
    expect(more.status).toBe(429);
  });
});

describe("a transaction hash without a signature", () => {
  test("redeems exactly the price: the rest stays its payer's, who is told what to sign", async ({ app }) => {
    const from = await payer(chain);
    const hash = await transfer(chain, from, { value: 3n * ONE });
    const { status, body } = await buyWith(app, hash);
    expect([status, body.reason]).toEqual([402, "invalid_payer_signature"]);
    const [, text = ""] = String(body.error).split("of this text:\n");
    const signature = await from.signMessage({ message: text });
    expect((await buyWith(app, JSON.stringify({ txHash: hash, signature }))).status).toBe(200);
  });
});
