import { serializeErc6492Signature } from "viem";
import { describe, expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { TOKENS } from "../../scripts/chain/addresses";
import { send, signed, transferTo } from "../chain/support";
import { chain, usdcOf, useChain } from "../support/chain/chain";
import {
  authorize,
  buy,
  createPaidApp,
  headerOf,
  now,
  ONE,
  payer,
  stranger,
  versionOne,
  versionTwo,
  writings,
  test,
  cancellationCall,
  received,
  base64,
  buyWith,
  transfer,
} from "./payer";
import { beforeFirst } from "../support/outside";

/** What buys no report, and says why. */

useChain();

describe("a transaction's hash is refused with 402 and a reason:", () => {
  const refuse = async (proof: string, reason: string, env: Record<string, string> = {}) => {
    const app = createPaidApp(chain, { env });
    deadlines.receipt = 20;
    const answer = await buyWith(app, proof, { userId: "alice" });
    expect([answer.status, answer.body]).toEqual([
      402,
      expect.objectContaining({
        error: expect.any(String),
        reason,
        paymentDetails: expect.objectContaining({ amount: "1.00" }),
        x402Version: 1,
      }),
    ]);
    expect(headerOf(answer, "payment-required")).toMatchObject({ x402Version: 2, error: reason });
    expect(headerOf(answer, "payment-response")).toEqual({
      success: false,
      errorReason: reason,
      transaction: "",
      network: "eip155:8453",
    });
    expect(await app.rows("paymentClaims")).toEqual([]);
    expect(await app.rows("transfers")).toEqual([]);
    expect(writings(app)).toBe(0);
    return answer;
  };

  test("a proof that cannot be read is refused with 402 and a reason", async () => {
    for (const proof of [
      "paid",
      "0x12",
      "{}",
      base64({ hello: 1 }),
      base64({ x402Version: 3 }),
      "x".repeat(9_000),
    ]) {
      await refuse(proof, "invalid_payload");
    }
  });

  test("a transaction nobody has seen, which may come yet", async () => {
    const { headers } = await refuse(`0x${"12".repeat(32)}`, "payment_not_found");
    expect(headers.get("retry-after")).toBe("3");
  });

  test("too little, another token, another payee, the platform itself", async () => {
    const from = await payer(chain);
    await refuse(await transfer(chain, from, { value: ONE - 1n }), "no_matching_transfer");
    await refuse(await transfer(chain, from, { to: stranger().address }), "no_matching_transfer");
    await chain.fund(from.address, { USDT: ONE });
    await refuse(await transfer(chain, from, { token: TOKENS.USDT }), "no_matching_transfer");
  });

  test("a transaction that has failed", async () => {
    const from = await payer(chain, ONE);
    await refuse(await transfer(chain, from, { value: 2n * ONE }), "transaction_failed");
  });

  test("a bare hash where the operator takes none", async () => {
    const hash = await transfer(chain, await payer(chain));
    await refuse(hash, "invalid_payer_signature", { BARE_HASH_PROOFS: "off" });
  });

  test("the settlement of somebody's signed payment", async ({ app }) => {
    const bought = await buy(app, versionTwo(await authorize(await payer(chain))), { userId: "alice" });
    expect(bought.status).toBe(200);
    const [claim] = await app.rows("paymentClaims");
    for (const userId of ["alice", "mallory"]) {
      const { status, body } = await buyWith(app, String(claim?.txHash), { userId });
      expect([status, body.reason]).toEqual([402, "payment_already_used"]);
    }
  });
});

describe("a signed payment is refused with 402 and a reason, and nothing moves:", () => {
  const prefix = "invalid_exact_evm_payload";
  const poor = stranger();
  test.for<[string, string, () => Promise<Record<string, string>>]>([
    [
      "to another",
      `${prefix}_recipient_mismatch`,
      async () => versionOne(await authorize(await payer(chain), { to: stranger().address })),
    ],
    [
      "too little",
      `${prefix}_authorization_value`,
      async () => versionOne(await authorize(await payer(chain), { value: ONE - 1n })),
    ],
    [
      "not valid yet",
      `${prefix}_authorization_valid_after`,
      async () => versionOne(await authorize(await payer(chain), { validAfter: now() + 60n })),
    ],
    [
      "expired",
      `${prefix}_authorization_valid_before`,
      async () => versionOne(await authorize(await payer(chain), { validBefore: now() + 3n })),
    ],
    [
      "signed by another",
      `${prefix}_signature`,
      async () => versionTwo(await authorize(await payer(chain), { by: stranger() })),
    ],
    ["without funds", "insufficient_funds", async () => versionTwo(await authorize(poor))],
    [
      "on another network",
      "invalid_network",
      async () => versionOne(await authorize(poor), { network: "base-sepolia" }),
    ],
    [
      "of another scheme",
      "unsupported_scheme",
      async () => versionOne(await authorize(poor), { scheme: "upto" }),
    ],
    [
      "malformed",
      "invalid_payload",
      async () => versionOne(await authorize(poor), { payload: { signature: "0x" } }),
    ],
    [
      "of a wallet still to be deployed",
      `${prefix}_signature`,
      async () => {
        const authorized = await authorize(await payer(chain), { by: poor });
        const { signature: inner } = authorized;
        const signature = serializeErc6492Signature({ address: poor.address, data: "0x", signature: inner });
        return versionOne(authorized, { payload: { ...authorized.payload, signature } });
      },
    ],
  ])("%s", async ([_name, reason, headers], { app }) => {
    const moved = await received(async () => {
      const answer = await buy(app, await headers());
      expect([answer.status, answer.body.reason]).toEqual([402, reason]);
      expect(answer.body).toMatchObject({ error: expect.any(String), paymentDetails: {}, x402Version: 1 });
      expect(headerOf(answer, "x-payment-response")).toEqual({
        success: false,
        errorReason: reason,
        transaction: "",
        network: "base",
      });
    });
    expect(moved).toBe(0n);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });

  test("a signed payment that its payer has cancelled is refused, and nothing moves", async ({ app }) => {
    const from = await payer(chain);
    const authorized = await authorize(from);
    await send(chain, from, await cancellationCall(from, authorized));
    deadlines.unknownHash = 20;
    const { status, body } = await buy(app, versionOne(authorized));
    expect([status, body.reason]).toEqual([402, "invalid_exact_evm_nonce_already_used"]);
  });

  test("emptied behind the check: it is refused, and pays once there is money again", async ({ app }) => {
    const from = await payer(chain, ONE);
    const authorized = await authorize(from);
    const data = transferTo(stranger().address, ONE);
    const raw = await signed(chain, from, { to: TOKENS.USDC, data });
    beforeFirst("eth_sendRawTransaction", async () => {
      await chain.rpc("eth_sendRawTransaction", [raw]);
      await chain.miner.mine();
    });
    const refused = await buy(app, versionOne(authorized));
    expect([refused.status, refused.body.reason]).toEqual([402, "transaction_failed"]);
    await chain.fund(from.address, { USDC: ONE });
    expect((await buy(app, versionOne(authorized))).status).toBe(200);
    expect(await usdcOf(from.address)).toBe(0n);
  });
});

test("a field that the paid report does not have takes no payment: the proof stays unspent", async ({
  app,
}) => {
  const from = await payer(chain);
  const proof = versionTwo(await authorize(from));
  const before = await usdcOf(from.address);
  const asked = await buy(app, proof, { userId: "alice", token: "BTC", dryRun: true });
  expect([asked.status, asked.body.error]).toEqual([
    400,
    "dryRun is not a field here, where money moves: there are userId, token",
  ]);
  expect([await usdcOf(from.address), await app.rows("paymentClaims")]).toEqual([before, []]);
  expect((await buy(app, proof, { userId: "alice", token: "BTC" })).status).toBe(200);
});
