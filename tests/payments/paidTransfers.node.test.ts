import { expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { buildProofText } from "../../convex/payments/proofs";
import { send, startTestChain as startChainAt, together } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { spoiled } from "../support/outside";
import {
  aged,
  authorize,
  base64,
  buy,
  buyWith,
  createPaidApp,
  headerOf,
  payer,
  PLATFORM,
  settlementCall,
  stranger,
  transfer,
  versionTwo,
  writings,
  test,
} from "./payer";

/** A transaction that has paid buys one report. */

useChain();

test("a transaction's hash buys one report, however often and however it is written, and nobody else's", async ({
  app,
}) => {
  const from = await payer(chain);
  const hash = await transfer(chain, from);
  const order = { userId: "alice", token: "eth" };
  const first = await buyWith(app, hash, order);
  expect([first.status, first.body]).toEqual([
    200,
    {
      success: true,
      token: "ETH",
      result: {
        fullAnalysis: expect.stringContaining("Ethereum (ETH)"),
        shortSummary: expect.stringMatching(/^(🟢|🔴|🟡) /u),
        marketOutlook: expect.stringMatching(/^(bullish|bearish|neutral)$/),
        impacts: expect.any(Array),
        sources: expect.any(Array),
        missing: expect.any(Array),
      },
    },
  ]);
  const paid = { success: true, transaction: hash, payer: from.address.toLowerCase() };
  expect(headerOf(first, "payment-response")).toEqual({ ...paid, network: "eip155:8453" });
  expect(headerOf(first, "x-payment-response")).toEqual({ ...paid, network: "base" });
  // It is the payer's alone: no free answer is made of it.
  const keys = (await app.rows("answers")).map(({ key }) => key);
  expect(keys.filter((key) => key.startsWith("research:"))).toEqual([]);

  for (const proof of [
    `0x${hash.slice(2).toUpperCase()}`,
    `${hash}:req-1`,
    base64({ transactionHash: hash, requestId: "req-3" }),
  ]) {
    const again = await buyWith(app, proof, order);
    expect([proof, again.status, again.text]).toEqual([proof, 200, first.text]);
    const other = await buyWith(app, proof, { ...order, userId: "mallory" });
    expect([proof, other.status, other.body.reason]).toEqual([proof, 402, "payment_already_used"]);
  }
  expect(writings(app)).toBe(1);
  // It is given again for an hour.
  await aged(app, 3_700_000);
  const late = await buyWith(app, hash, order);
  expect([late.status, late.body.reason]).toEqual([402, "payment_already_used"]);
});

test("the payer's signature binds a payment to a user and token", async ({ app }) => {
  const from = await payer(chain);
  const txHash = await transfer(chain, from);
  const text = buildProofText(txHash, PLATFORM, { userId: "alice", focus: "BTC" });
  const signature = await from.signMessage({ message: text });
  const proof = base64({ txHash, signature });
  const forged = base64({ txHash, signature: await stranger().signMessage({ message: text }) });
  const order = { userId: "alice", token: "BTC" };
  for (const [bad, body] of [
    [forged, order],
    [proof, { userId: "mallory", token: "BTC" }],
    [proof, { userId: "alice", token: "ETH" }],
  ] as const) {
    const { status, body: told } = await buyWith(app, bad, body);
    expect([status, told.reason]).toEqual([402, "invalid_payer_signature"]);
  }
  const mine = await buyWith(app, proof, order);
  expect([mine.status, mine.body.token]).toEqual([200, "BTC"]);
  expect((await buyWith(app, txHash, order)).body.reason).toBe("payment_already_used");
  expect(writings(app)).toBe(1);
});

test("a payment whose receipt shows it twice buys no second report", async ({ app }) => {
  const txHash = await transfer(chain, await payer(chain));
  expect((await buyWith(app, txHash, { token: "BTC" })).status).toBe(200);
  spoiled(/./, (text) => text.replace(/"logs":\[(\{.*?\})\]/, '"logs":[$1,$1]'));
  deadlines.receipt = 300;
  expect((await buyWith(app, txHash, { token: "ETH" })).status).toBe(502);
});

test("two payments in one transaction buy two reports, not three", async ({ app }) => {
  // As facilitators make them.
  const authorized = await Promise.all([authorize(await payer(chain)), authorize(await payer(chain))]);
  const batch = together(authorized.map((one) => settlementCall(one)));
  const { transactionHash } = await send(chain, await payer(chain), batch);
  const answers = [];
  for (const userId of ["a", "b", "c"])
    answers.push((await buyWith(app, transactionHash, { userId })).status);
  expect(answers).toEqual([200, 200, 402]);
});

test("the age of a payment is the chain's: an hour for a hash, a day for a signature, none for a claim", async () => {
  let ahead = 0;
  const own = await startChainAt({ clock: () => Date.now() / 1_000 + ahead, log: () => undefined });
  try {
    const app = createPaidApp(own);
    const from = await payer(own);
    const [bare, signed, late] = [
      await transfer(own, from),
      await transfer(own, from),
      await transfer(own, from),
    ];
    const authorization = versionTwo(await authorize(from));
    const proofOf = async (txHash: string) => {
      const message = buildProofText(txHash, PLATFORM, { userId: "alice", focus: "" });
      return base64({ txHash, signature: await from.signMessage({ message }) });
    };
    expect((await buyWith(app, bare, { userId: "alice" })).status).toBe(200);
    ahead = 2 * 3_600;
    await own.miner.mine();
    expect((await buyWith(app, signed, { userId: "alice" })).body.reason).toBe("payment_expired");
    expect((await buyWith(app, await proofOf(signed), { userId: "alice" })).status).toBe(200);
    expect((await buyWith(app, bare, { userId: "alice" })).status).toBe(200);
    // A signed payment that is good by the service's own clock.
    const expired = await buy(app, authorization);
    expect([expired.status, expired.body.reason]).toEqual([
      402,
      "invalid_exact_evm_payload_authorization_valid_before",
    ]);
    ahead = 25 * 3_600;
    await own.miner.mine();
    expect((await buyWith(app, await proofOf(late), { userId: "alice" })).body.reason).toBe(
      "payment_expired",
    );
    expect(await app.rows("paymentClaims")).toHaveLength(2);
  } finally {
    await own.stop();
  }
});
