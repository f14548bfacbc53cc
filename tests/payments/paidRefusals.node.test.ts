import { serializeErc6492Signature } from "viem";
import { expect, vi } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { TOKENS } from "../../scripts/chain/addresses";
import { send, signed, transferTo } from "../chain/support";
import { chain, nonceOf, usdcOf, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import {
  authorize,
  buy,
  devAccount,
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
  transfer,
} from "./payer";
import { timePassing, useTime } from "../invariants/harness";
import { beforeFirst } from "../support/outside";

/** What buys no report, and says why: 402 with a reason and the whole terms again. */

useChain();
useTime();

/** A proof buys nothing: nothing moves, is claimed or written. */
async function refuses(app: WalletApp, name: string, proof: Record<string, string>, reason: string) {
  let answer = await app.get("/health");
  const moved = await received(async () => {
    answer = await buy(app, proof, { userId: "alice" });
  });
  expect([name, answer.status, answer.body]).toEqual([
    name,
    402,
    expect.objectContaining({
      error: expect.any(String),
      reason,
      paymentDetails: expect.objectContaining({ amount: "1.00" }),
      x402Version: 1,
    }),
  ]);
  expect(headerOf(answer, "payment-required")).toMatchObject({ x402Version: 2, error: reason });
  const told = { success: false, errorReason: reason, transaction: "" };
  expect(headerOf(answer, "payment-response")).toEqual({ ...told, network: "eip155:8453" });
  expect(headerOf(answer, "x-payment-response")).toEqual({ ...told, network: "base" });
  expect([name, moved, writings(app)]).toEqual([name, 0n, 0]);
  expect([await app.rows("paymentClaims"), await app.rows("transfers")]).toEqual([[], []]);
  return answer;
}

test("a transaction's hash, or what is none", async ({ app }) => {
  deadlines.receipt = 20;
  const refuse = (name: string, proof: string, reason: string) =>
    refuses(app, name, { "X-PAYMENT": proof }, reason);
  for (const proof of [
    "paid",
    "0x12",
    "{}",
    base64({ hello: 1 }),
    base64({ x402Version: 3 }),
    "x".repeat(9_000),
  ])
    await refuse(proof.slice(0, 40), proof, "invalid_payload");
  const unseen = await refuse("unseen", `0x${"12".repeat(32)}`, "payment_not_found");
  // It may come yet.
  expect(unseen.headers.get("retry-after")).toBe("3");
  const from = await payer(chain);
  await chain.fund(from.address, { USDT: ONE });
  for (const [name, terms] of [
    ["too little", { value: ONE - 1n }],
    ["another payee", { to: stranger().address }],
    ["another token", { token: TOKENS.USDT }],
  ] as const)
    await refuse(name, await transfer(chain, from, terms), "no_matching_transfer");
  await refuse("failed", await transfer(chain, from, { value: 9n * ONE }), "transaction_failed");
  vi.stubEnv("BARE_HASH_PROOFS", "off");
  await refuse("bare", await transfer(chain, from), "invalid_payer_signature");
});

test("a signed payment", async ({ app }) => {
  const prefix = "invalid_exact_evm_payload";
  const [from, poor] = [await payer(chain), stranger()];
  const undeployed = await authorize(from, { by: poor });
  const address = poor.address;
  const signature = serializeErc6492Signature({ address, data: "0x", signature: undeployed.signature });
  const cancelled = await authorize(from);
  await send(chain, from, await cancellationCall(from, cancelled));
  deadlines.unknownHash = 20;
  const REFUSED: [string, string, Record<string, string>][] = [
    [
      "to another",
      `${prefix}_recipient_mismatch`,
      versionOne(await authorize(from, { to: stranger().address })),
    ],
    ["too little", `${prefix}_authorization_value`, versionOne(await authorize(from, { value: ONE - 1n }))],
    [
      "not valid yet",
      `${prefix}_authorization_valid_after`,
      versionOne(await authorize(from, { validAfter: now() + 60n })),
    ],
    [
      "expired",
      `${prefix}_authorization_valid_before`,
      versionOne(await authorize(from, { validBefore: now() + 3n })),
    ],
    ["signed by another", `${prefix}_signature`, versionTwo(await authorize(from, { by: stranger() }))],
    ["without funds", "insufficient_funds", versionTwo(await authorize(poor))],
    ["on another network", "invalid_network", versionOne(await authorize(from), { network: "base-sepolia" })],
    ["of another scheme", "unsupported_scheme", versionOne(await authorize(from), { scheme: "upto" })],
    ["malformed", "invalid_payload", versionOne(await authorize(from), { payload: { signature: "0x" } })],
    [
      "of a wallet still to be deployed",
      `${prefix}_signature`,
      versionOne(undeployed, { payload: { ...undeployed.payload, signature } }),
    ],
    ["cancelled", "invalid_exact_evm_nonce_already_used", versionOne(cancelled)],
  ];
  for (const [name, reason, proof] of REFUSED) await refuses(app, name, proof, reason);
});

test("a signed payment whose payer empties the wallet behind the check: it pays once there is money again, and the relayer pays for two failures a day", async ({
  app,
}) => {
  const from = await payer(chain, ONE);
  const relayer = devAccount(2).address;
  const proofs = [versionOne(await authorize(from)), versionOne(await authorize(from))];
  const [first = {}] = proofs;
  /** The wallet's money leaves once the service has signed. */
  const emptied = async (proof: Record<string, string>) => {
    const raw = await signed(chain, from, {
      to: TOKENS.USDC,
      data: transferTo(stranger().address, ONE),
    });
    beforeFirst("eth_sendRawTransaction", async () => {
      await chain.rpc("eth_sendRawTransaction", [raw]);
      await chain.miner.mine();
    });
    const refused = await buy(app, proof);
    await chain.fund(from.address, { USDC: ONE });
    return [refused.status, refused.body.reason, await nonceOf(relayer)];
  };
  const before = await nonceOf(relayer);
  expect(await emptied(first)).toEqual([402, "transaction_failed", before + 1]);
  // The same payment fails once more.
  expect(await emptied(first)).toEqual([402, "transaction_failed", before + 2]);
  for (const proof of proofs) {
    const { status, body } = await buy(app, proof);
    expect([status, body.error]).toEqual([402, expect.stringContaining("were mined and failed")]);
  }
  expect([await nonceOf(relayer), await usdcOf(from.address)]).toEqual([before + 2, ONE]);
  await timePassing(app)(24 * 60, 24 * 60);
  const later = versionOne(await authorize(from));
  expect((await buy(app, later)).status).toBe(200);
  expect(await usdcOf(from.address)).toBe(0n);
});
