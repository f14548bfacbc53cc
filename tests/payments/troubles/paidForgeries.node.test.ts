import type { Address } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { deadlines } from "../../../convex/lib/outside/deadlines";
import { proofText } from "../../../convex/payments/reports/proofs/forms";
import { TOKENS } from "../../../scripts/chain/addresses";
import { clientOf, lookAlikeOf, sendAs, transferTo } from "../../chain/support";
import { chain, useChain } from "../../support/chain/chain";
import { answering } from "../../support/chain/rpc";
import { freshAddress } from "../../support/chain/walletApp";
import { closeApp } from "../../support/world";
import {
  authorize,
  base64,
  buy,
  buyWith,
  createPaidApp,
  ONE,
  payer,
  PLATFORM,
  stranger,
  transfer,
  versionTwo,
  test,
} from "../payer";
import { intercept } from "../../support/outside";

/** What looks like a payment and is none; and contracts that pay. */

useChain();

async function refuse(proof: string, reason: string): Promise<void> {
  const app = createPaidApp(chain);
  deadlines.receipt = 20;
  const { status, body } = await buyWith(app, proof, { userId: "alice" });
  expect([status, body.reason]).toEqual([402, reason]);
  expect([await app.rows("paymentClaims"), await app.rows("spentTransfers")]).toEqual([[], []]);
  closeApp();
}

describe("a paid report is not bought with", () => {
  test("the transfer of a token with USDC's own code at another address", async () => {
    const from = await payer(chain);
    const paid = await transfer(chain, from, { token: await lookAlikeOf(chain, from.address) });
    const { logs } = await clientOf(chain).getTransactionReceipt({ hash: paid });
    expect(logs).toHaveLength(1);
    await refuse(paid, "no_matching_transfer");
  });

  test("a transfer of the platform to itself", async () => {
    await chain.fund(PLATFORM, { USDC: ONE });
    const call = { to: TOKENS.USDC, data: transferTo(PLATFORM, ONE) };
    const { status, transactionHash } = await sendAs(chain, PLATFORM, call);
    expect(status).toBe("success");
    await refuse(transactionHash, "no_matching_transfer");
  });

  test("an invented hash for which a node answers with the payment of somebody else", async ({ app }) => {
    const paid = await transfer(chain, await payer(chain));
    const invented = `0x${"ab".repeat(32)}`;
    const asked = ["eth_getTransactionReceipt", "eth_getTransactionByHash"];
    const answers = await Promise.all(asked.map((method) => chain.rpc(method, [paid])));
    answering(({ method, params }) =>
      asked.includes(method) && params[0] === invented ? { result: answers[asked.indexOf(method)] } : null,
    );
    expect((await buyWith(app, invented, { userId: "alice" })).status).toBe(502);
    expect([await app.rows("paymentClaims"), await app.rows("spentTransfers")]).toEqual([[], []]);
  });

  test("the log of a transfer in a transaction that has failed", async () => {
    const paid = await transfer(chain, await payer(chain));
    let shown = 0;
    const app = createPaidApp(chain);
    intercept(async (_call, pass) => {
      const response = await pass();
      const text = await response.text();
      if (!text.includes('"logs"') || !text.includes(paid)) return new Response(text, response);
      shown++;
      return new Response(text.replaceAll('"status":"0x1"', '"status":"0x0"'), response);
    });
    const { status, body } = await buyWith(app, paid);
    expect([status, body.reason, shown]).toEqual([402, "transaction_failed", 1]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });

  test("an authorization that its contract wallet does not confirm", async ({ app }) => {
    const wallet = await contractOf(stranger());
    await chain.fund(wallet, { USDC: ONE });
    const { status, body } = await buy(app, versionTwo(await authorize(actingFor(wallet, stranger()))));
    expect([status, body.reason]).toEqual([402, "invalid_exact_evm_payload_signature"]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });
});

describe("a contract wallet (ERC-1271) buys a report", () => {
  test("with an authorization that its owner has signed", async ({ app }) => {
    const owner = stranger();
    const wallet = await contractOf(owner);
    await chain.fund(wallet, { USDC: ONE });
    const answer = await buy(app, versionTwo(await authorize(actingFor(wallet, owner))), { userId: "alice" });
    expect(answer.status).toBe(200);
    expect(await app.rows("paymentClaims")).toMatchObject([{ payer: wallet.toLowerCase(), strength: 2 }]);
    expect(await app.rows("spentTransfers")).toMatchObject([{ from: wallet.toLowerCase() }]);
  });

  test("with a transaction's hash and its owner's signature", async () => {
    const app = createPaidApp(chain, { env: { BARE_HASH_PROOFS: "off" } });
    const from = await payer(chain);
    const txHash = await transfer(chain, from);
    const owner = stranger();
    await contractOf(owner, from.address);
    const message = proofText(txHash, PLATFORM, { userId: "alice", focus: "", bodyHash: "" });
    const forged = base64({ txHash, signature: await stranger().signMessage({ message }) });
    const { status, body } = await buyWith(app, forged, { userId: "alice" });
    expect([status, body.reason]).toEqual([402, "invalid_payer_signature"]);
    const proof = base64({ txHash, signature: await owner.signMessage({ message }) });
    expect((await buyWith(app, proof, { userId: "alice" })).status).toBe(200);
    expect(await app.rows("paymentClaims")).toMatchObject([{ strength: 2 }]);
  });

  test("but not with a signature that is wrapped as that of a wallet which is not deployed", async () => {
    const app = createPaidApp(chain, { env: { BARE_HASH_PROOFS: "off" } });
    const from = await payer(chain);
    const txHash = await transfer(chain, from);
    // It says yes to whatever it is asked.
    const yes = `0x7f1626ba7e${"00".repeat(28)}60005260206000f3`;
    await chain.rpc("anvil_setCode", [from.address, yes]);
    const signature = `0x${"11".repeat(65)}`;
    const wrapped = base64({ txHash, signature: `${signature}${"6492".repeat(16)}` });
    const { status, body } = await buyWith(app, wrapped, { userId: "alice" });
    expect([status, body.reason]).toEqual([402, "invalid_payer_signature"]);
    expect((await buyWith(app, base64({ txHash, signature }), { userId: "alice" })).status).toBe(200);
  });
});

/**
 * A contract whose `isValidSignature(hash, signature)` answers with the standard's magic value for 65 bytes of its owner's
 * and with zero for anything else.
 */
async function contractOf(owner: PrivateKeyAccount, at: Address = freshAddress()): Promise<Address> {
  const steps = [
    // The arguments of ecrecover: the hash, v, r and s.
    "6020600460003760a43560f81c60205260406064604037",
    "602060006080600060015afa50",
    // The magic value, times whether it has found the owner.
    `60005173${owner.address.slice(2).toLowerCase()}14631626ba7e60e01b0260005260206000f3`,
  ];
  await chain.rpc("anvil_setCode", [at, `0x${steps.join("")}`]);
  return at;
}

/** An owner's key that signs in the name of their contract wallet. */
function actingFor(wallet: Address, owner: PrivateKeyAccount): PrivateKeyAccount {
  return { ...owner, address: wallet };
}
