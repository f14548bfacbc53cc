import { keccak256 } from "viem";
import { describe, expect } from "vitest";
import { api } from "../../../convex/_generated/api";
import { deadlines } from "../../../convex/lib/outside/deadlines";
import { proofText } from "../../../convex/payments/reports/proofs/forms";
import { TOKENS } from "../../../scripts/chain/addresses";
import { clientOf, send, signed, transferTo } from "../../chain/support";
import { until } from "../../support/waits";
import { chain, useChain } from "../../support/chain/chain";
import {
  deadlineByHand,
  freshAddress,
  unreachDeadlines,
  type WalletApp,
} from "../../support/chain/walletApp";
import { browserOf } from "../../web/support";
import {
  aged,
  authorize,
  buy,
  buyWith,
  createPaidApp,
  ONE,
  payer,
  PLATFORM,
  RELAYER,
  settlementCall,
  transfer,
  versionOne,
  versionTwo,
  writings,
  test,
} from "../payer";
import { beforeFirst, intercept } from "../../support/outside";
import { answering } from "../../support/chain/rpc";

/** Whose payment it is, and whether it was made, when a node is behind or somebody else shows what the chain shows. */

useChain();

const PATH = "/agent/research/paid";

/**
 * From the first broadcast on, receipts, transactions and logs come from a node that is a block behind, while counts and
 * states come from one that is not; until it is told to catch up.
 */
function behindFromBroadcast(): { catchUp: () => void } {
  let behind = false;
  const unseen = ["eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_getLogs"];
  const sees = answering(({ method }) =>
    behind && unseen.includes(method) ? { result: method === "eth_getLogs" ? [] : null } : null,
  );
  const broadcast = intercept(async ({ body }, pass) => {
    const response = await pass();
    if (body.includes("eth_sendRawTransaction")) {
      await chain.miner.mine();
      behind = true;
    }
    return response;
  });
  return {
    catchUp: () => {
      broadcast();
      sees();
    },
  };
}

/** The answer to a purchase whose settlement gives up when it has begun to doubt what it has sent. */
async function boughtInDoubt(app: WalletApp, headers: Record<string, string>, body: object = {}) {
  const giveUp = deadlineByHand("transaction");
  const answer = buy(app, headers, body);
  await until(async () => (await app.rows("transactions"))[0]?.replacedSince !== undefined);
  giveUp();
  const answered = await answer;
  unreachDeadlines();
  return answered;
}

/** Makes a doubt older than it takes to be believed. */
async function age(app: WalletApp, doubt: "replacedSince" | "unlocatedSince", ms: number) {
  await app.t.run(async (ctx) => {
    const claim = await ctx.db.query("paymentClaims").first();
    const transaction = await ctx.db.query("transactions").first();
    const { replacedSince } = transaction ?? {};
    const { unlocatedSince } = claim ?? {};
    if (claim === null || transaction === null) throw new Error("Nothing was settled");
    if (doubt === "replacedSince" && replacedSince !== undefined)
      await ctx.db.patch("transactions", transaction._id, { replacedSince: replacedSince - ms });
    else if (doubt === "unlocatedSince" && unlocatedSince !== undefined)
      await ctx.db.patch("paymentClaims", claim._id, { unlocatedSince: unlocatedSince - ms });
    else throw new Error(`No ${doubt}`);
  });
}

describe("a payment that the service has settled, asked of a node that is behind,", () => {
  test("is no 402: it is upstream trouble until the node has caught up", async () => {
    const app = createPaidApp(chain, { env: { BARE_HASH_PROOFS: "off" } });
    const header = versionOne(await authorize(await payer(chain)));
    const node = behindFromBroadcast();
    const first = await boughtInDoubt(app, header);
    expect([first.status, first.body.error]).toEqual([502, expect.stringContaining("same proof again")]);
    expect(await app.rows("paymentClaims")).toMatchObject([
      { state: "settling", settlementId: expect.any(String) },
    ]);
    await age(app, "replacedSince", 61_000);
    const second = await buy(app, header);
    expect([second.status, second.body.error]).toEqual([502, expect.stringContaining("same proof again")]);
    expect(await app.rows("paymentClaims")).toMatchObject([
      { state: "settling", unlocatedSince: expect.any(Number) },
    ]);
    node.catchUp();
    expect((await buy(app, header)).status).toBe(200);
    expect(writings(app)).toBe(1);
  });

  test("that stays behind for ten minutes, is its payer's all the same once it is seen", async () => {
    const app = createPaidApp(chain, { env: { BARE_HASH_PROOFS: "off" } });
    const header = versionOne(await authorize(await payer(chain)));
    const node = behindFromBroadcast();
    await boughtInDoubt(app, header, { token: "BTC" });
    await age(app, "replacedSince", 61_000);
    await buy(app, header, { token: "BTC" });
    await age(app, "unlocatedSince", 601_000);
    const refused = await buy(app, header, { token: "BTC" });
    expect([refused.status, refused.body.reason]).toEqual([402, "invalid_exact_evm_nonce_already_used"]);
    node.catchUp();
    const thief = await buy(app, header, { token: "ETH" });
    expect([thief.status, thief.body.reason]).toEqual([402, "invalid_payer_signature"]);
    expect((await buy(app, header, { token: "BTC" })).status).toBe(200);
    expect(await app.rows("spentTransfers")).toHaveLength(1);
  });
});

describe("what the chain shows of a payment", () => {
  test("gives nobody its report without the payer's signature, or on other terms", async ({ app }) => {
    const authorized = await authorize(await payer(chain));
    const { authorization } = authorized.payload;
    expect((await buy(app, versionOne(authorized), { token: "BTC" })).status).toBe(200);
    for (const payload of [
      { authorization, signature: `0x${"00".repeat(65)}` },
      { authorization: { ...authorization, validBefore: "1" }, signature: authorized.signature },
    ]) {
      const { status, body } = await buy(app, versionOne(authorized, { payload }), { token: "BTC" });
      expect([status, body.reason]).toEqual([402, "payment_already_used"]);
    }
    expect((await buy(app, versionTwo(authorized), { token: "BTC" })).status).toBe(200);
    expect(writings(app)).toBe(1);
  });

  test("gives an anonymous payer's report to whoever has copied the proof for five minutes, a named user's for an hour", async ({
    app,
  }) => {
    const anonymous = versionTwo(await authorize(await payer(chain)));
    const named = versionTwo(await authorize(await payer(chain)));
    expect((await buy(app, anonymous)).status).toBe(200);
    expect((await buy(app, named, { userId: "alice" })).status).toBe(200);
    await aged(app, 301_000);
    const { status, body } = await buy(app, anonymous);
    expect([status, body.reason]).toEqual([402, "payment_already_used"]);
    expect((await buy(app, named, { userId: "alice" })).status).toBe(200);
    expect(writings(app)).toBe(2);
  });

  test("does not let an authorization be redeemed before it is deep enough", async () => {
    const app = createPaidApp(chain, { env: { CONFIRMATIONS: "500" } });
    const authorized = await authorize(await payer(chain));
    await send(chain, await payer(chain), settlementCall(authorized));
    const { status, body, headers } = await buy(app, versionOne(authorized));
    expect([status, body.reason, headers.get("retry-after")]).toEqual([402, "payment_not_confirmed", "3"]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });
});

test("a signed-in user's credits buy reports over HTTP with that user's token alone, or the payer's signature", async ({
  app,
}) => {
  const from = await payer(chain);
  const alice = browserOf(app, "alice");
  await alice.action(api.account.claims.claimUserId, { userId: "alice-id" });
  const linkedAt = Date.now();
  await app.t.run((ctx) =>
    ctx.db.insert("linkedAddresses", { address: from.address.toLowerCase(), userId: "alice-id", linkedAt }),
  );
  const hash = await transfer(chain, from, { value: 3n * ONE });
  await app.post("/indexer/deposit", { txHash: hash });
  const balance = async () => (await app.rows("creditBalances"))[0]?.balance;
  expect(await balance()).toBe(300);

  const stranger = await buyWith(app, hash, { userId: "alice-id" });
  expect([stranger.status, stranger.body.reason]).toEqual([402, "invalid_payer_signature"]);
  const init = {
    method: "POST",
    headers: { "X-PAYMENT": hash },
    body: JSON.stringify({ userId: "alice-id" }),
  };
  const mallory = browserOf(app, "mallory");
  await mallory.action(api.account.claims.claimUserId, { userId: "mallory-id" });
  expect((await mallory.fetch(PATH, init)).status).toBe(402);
  expect(await balance()).toBe(300);
  expect((await alice.fetch(PATH, init)).status).toBe(200);
  expect(await balance()).toBe(200);
  // The report is hers as well: the hash and her userId do not fetch it again.
  expect((await buyWith(app, hash, { userId: "alice-id" })).status).toBe(402);
  expect((await alice.fetch(PATH, init)).status).toBe(200);
  expect(writings(app)).toBe(1);
});

describe("one payer's payments under way", () => {
  const sentByRelayer = async () => Number(await chain.rpc("eth_getTransactionCount", [RELAYER, "latest"]));

  test("beyond what the payer holds cost the relayer nothing", async ({ app }) => {
    const from = await payer(chain, ONE);
    const headers = await Promise.all(
      Array.from({ length: 12 }, async () => versionOne(await authorize(from))),
    );
    const before = await sentByRelayer();
    const answers = await Promise.all(headers.map((header) => buy(app, header)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.reason === "insufficient_funds")).toHaveLength(11);
    expect((await sentByRelayer()) - before).toBe(1);
  });

  test("beyond what the payer holds by the last look are told so", async ({ app }) => {
    const from = await payer(chain, ONE);
    const header = versionOne(await authorize(from));
    const before = await sentByRelayer();
    const data = transferTo(freshAddress(), ONE);
    beforeFirst("eth_simulateV1", () => send(chain, from, { to: TOKENS.USDC, data }));
    const { status, body } = await buy(app, header);
    expect([status, body.reason]).toEqual([402, "insufficient_funds"]);
    expect(await sentByRelayer()).toBe(before);
  });

  test("are all carried out as far as the payer's money goes", async ({ app }) => {
    const from = await payer(chain, 4n * ONE);
    const headers = await Promise.all([1, 2, 3, 4].map(async () => versionOne(await authorize(from))));
    const answers = await Promise.all(headers.map((header) => buy(app, header)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test("hold back a further one with 429 and a time to come again", async ({ app }) => {
    const from = await payer(chain, ONE);
    deadlines.receipt = 500;
    const earlier = await authorize(from);
    const { signature, authorization } = earlier.payload;
    const address = from.address.toLowerCase();
    await app.t.run((ctx) =>
      ctx.db.insert("paymentClaims", {
        key: `auth:${address}:${authorization.nonce}`,
        order: { focus: "", bodyHash: "another's" },
        strength: 2,
        overridden: false,
        state: "settling",
        payer: address,
        authorization: { ...authorization, signature },
        createdAt: 1,
      }),
    );
    const header = versionOne(await authorize(from));
    const held = await buy(app, header);
    expect([held.status, held.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await app.rows("paymentClaims")).toHaveLength(1);
    await chain.fund(from.address, { USDC: 2n * ONE });
    expect((await buy(app, header)).status).toBe(200);
  });
});

test("a transfer behind others in its block is the same one to proofs and to webhooks", async ({ app }) => {
  const payers = [await payer(chain), await payer(chain)];
  const data = transferTo(PLATFORM, 3n * ONE);
  const raws = await Promise.all(payers.map((from) => signed(chain, from, { to: TOKENS.USDC, data })));
  await chain.miner.pause();
  for (const raw of raws) await chain.rpc("eth_sendRawTransaction", [raw]);
  await chain.miner.mine();
  chain.miner.resume();
  const receipts = await Promise.all(
    raws.map((raw) => clientOf(chain).getTransactionReceipt({ hash: keccak256(raw) })),
  );
  const later = receipts.find(({ logs }) => logs[0]?.logIndex === 1);
  if (later === undefined) throw new Error("Both transfers were to be in one block");
  const { transactionHash: txHash, from } = later;
  const by = payers.find(({ address }) => address.toLowerCase() === from.toLowerCase());
  if (by === undefined) throw new Error("One of the two has paid");
  const signature = await by.signMessage({
    message: proofText(txHash, PLATFORM, { focus: "", bodyHash: "" }),
  });
  await app.t.run((ctx) => ctx.db.insert("linkedAddresses", { address: from, userId: "alice", linkedAt: 0 }));
  expect((await buyWith(app, JSON.stringify({ txHash, signature }))).status).toBe(200);
  const { body } = await app.post("/indexer/deposit", { txHash, logIndex: 1 });
  expect(body).toMatchObject({ credited: [{ txHash, logIndex: 1, credits: 200 }], ignored: [] });
  expect(await app.rows("spentTransfers")).toMatchObject([
    { position: 0, claimKey: `log:${txHash}:0`, depositKey: `deposit:${txHash}:0` },
  ]);
});
