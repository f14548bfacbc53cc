import { toHex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { deadlineByHand, unreachDeadlines } from "../support/chain/walletApp";
import {
  authorize,
  buy,
  buyWith,
  headerOf,
  now,
  ONE,
  owing,
  payer,
  settlementCall,
  stranger,
  versionOne,
  versionTwo,
  writings,
  test,
  withFacilitator,
  received,
} from "./payer";
import { until } from "../support/waits";
import { beforeFirst, intercept, onChain, silence, spoiled } from "../support/outside";
import type { Answer } from "../support/world";

/** x402 clients only sign: the service carries the payment out, once. */

useChain();

describe("a signed payment", () => {
  test("of either version, beside seven others, is carried out once and buys one report", async ({ app }) => {
    const payers = await Promise.all(Array.from({ length: 8 }, () => payer(chain)));
    const form = (i: number) => (i % 2 === 0 ? versionOne : versionTwo);
    const headers: Record<string, string>[] = [];
    for (const [i, from] of payers.entries()) headers.push(form(i)(await authorize(from)));
    const buyAll = (change: object = {}) =>
      Promise.all(headers.map((one, i) => buy(app, one, { userId: `u${i}`, token: "BTC", ...change })));
    let answers: Answer[] = [];
    expect(await received(async () => void (answers = await buyAll()))).toBe(8n * ONE);
    for (const [i, answer] of answers.entries()) {
      expect([answer.status, answer.body.success, answer.body.token]).toEqual([200, true, "BTC"]);
      const [name, network] =
        i % 2 === 0 ? ["x-payment-response", "base"] : ["payment-response", "eip155:8453"];
      expect(headerOf(answer, name)).toEqual({
        success: true,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network,
        payer: payers[i]?.address.toLowerCase(),
      });
    }
    const again = await received(async () => {
      expect((await buyAll()).map(({ text }) => text)).toEqual(answers.map(({ text }) => text));
      for (const other of await buyAll({ token: "ETH" }))
        expect([other.status, other.body.reason]).toEqual([402, "payment_already_used"]);
      // Its transaction is on the chain for everybody to read.
      const [claim] = await app.rows("paymentClaims");
      const repeated = await buyWith(app, String(claim?.txHash), { userId: "u0", token: "BTC" });
      expect([repeated.status, repeated.body.reason]).toEqual([402, "payment_already_used"]);
    });
    expect([again, writings(app)]).toEqual([0n, 8]);
  });

  test("beside another of a payer who can pay one waits for it: the relayer does not pay for its failure", async ({
    app,
  }) => {
    const from = await payer(chain, ONE);
    const headers = [versionTwo(await authorize(from)), versionTwo(await authorize(from))];
    await chain.miner.pause();
    const first = buy(app, headers[0] ?? {}, { userId: "alice" });
    // The first is on its way once the node has it.
    await until(async () => JSON.stringify(await chain.rpc("txpool_status", [])).includes('"pending":"0x1"'));
    expect((await buy(app, headers[1] ?? {}, { userId: "bob" })).body.reason).toBe("insufficient_funds");
    // A node that does not count what is on its way.
    const stop = answering(({ method }) => (method === "eth_estimateGas" ? { result: "0x15f90" } : null));
    const second = await buy(app, headers[1] ?? {}, { userId: "bob" });
    expect([second.status, second.body.error]).toEqual([429, expect.stringContaining("still being settled")]);
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
    stop();
    chain.miner.resume();
    expect((await first).status).toBe(200);
    expect((await buy(app, headers[1] ?? {}, { userId: "bob" })).body.reason).toBe("insufficient_funds");
  });

  test("that its payer signs anew while it is on its way is one payment; after a refusal the next is carried out", async ({
    app,
  }) => {
    const from = await payer(chain, 8n * ONE);
    const signed = await Promise.all(Array.from({ length: 6 }, () => authorize(from)));
    const headers = signed.map((one, i) => (i % 2 === 0 ? versionOne : versionTwo)(one));
    let answers: Answer[] = [];
    const moved = await received(async () => {
      answers = await Promise.all(headers.map((one) => buy(app, one, { token: "BTC" })));
    });
    expect([moved, writings(app)]).toEqual([ONE, 1]);
    for (const { status, text } of answers) expect([status, text]).toEqual([200, answers[0]?.text]);
    // One that was not needed is money like any other, should a stranger carry it out.
    const joined = (await app.rows("paymentClaims")).find(({ state }) => state === "joined");
    const spare = signed.find(({ message }) => message.nonce === joined?.authorization?.nonce);
    if (spare === undefined) throw new Error("None has joined");
    const { transactionHash } = await send(chain, await payer(chain), settlementCall(spare));
    expect((await buyWith(app, transactionHash, { token: "ETH" })).status).toBe(200);

    // Who has exactly one, and no answer yet, is not told that their funds are missing.
    const poor = await payer(chain, ONE);
    await chain.miner.pause();
    const first = buy(app, versionTwo(await authorize(poor)), { token: "BTC" });
    await until(async () => (await app.rows("paymentClaims")).some(({ state }) => state === "settling"));
    const anew = versionOne(await authorize(poor));
    const second = buy(app, anew, { token: "BTC" });
    await until(async () => (await app.rows("paymentClaims")).at(-1)?.state === "joined");
    chain.miner.resume();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);

    // Had the first moved nothing, what has joined it would be carried out.
    const target = (await app.rows("paymentClaims")).at(-2);
    if (target?.payer !== poor.address.toLowerCase()) throw new Error("another payer's claim");
    await app.t.run((ctx) => ctx.db.patch("paymentClaims", target._id, { state: "refused" }));
    await chain.fund(poor.address, { USDC: ONE });
    const again = await received(async () => {
      expect((await buy(app, anew, { token: "BTC" })).status).toBe(200);
    });
    expect(again).toBe(ONE);
  });

  test("that a stranger carries out, before it is shown or before the service does, is a payment all the same", async ({
    app,
  }) => {
    const [early, late] = [await authorize(await payer(chain)), await authorize(await payer(chain))];
    const other = await payer(chain);
    const { transactionHash: transaction } = await send(chain, other, settlementCall(early));
    // The node that shows its use is ahead of the one that shows its logs.
    let searches = 0;
    answering(({ method }) => (method === "eth_getLogs" && ++searches === 1 ? { result: [] } : null));
    const found = await buy(app, versionOne(early));
    expect([found.status, headerOf(found, "payment-response")]).toMatchObject([200, { transaction }]);

    let slipped = "";
    beforeFirst("eth_sendRawTransaction", async () => {
      slipped = (await send(chain, other, settlementCall(late))).transactionHash;
    });
    const answer = await buy(app, versionTwo(late));
    expect([answer.status, headerOf(answer, "payment-response")]).toMatchObject([
      200,
      { transaction: slipped },
    ]);
    // A look-up that finds its use, and that the payment's own claim has overtaken, joins that.
    const own = (await app.rows("paymentClaims")).at(-1);
    if (own?.authorization === undefined) throw new Error("There is no signed claim");
    const { presentedHash, order, payer: by, authorization } = own;
    const transfer = { txHash: slipped, position: 0, from: by, amount: authorization.value };
    const candidates = [{ ...transfer, authorization: authorization.nonce }];
    const ticket = await app.t.mutation(internal.payments.claims.claimPayment, {
      ...{ order, presentedHash, proof: { kind: "hash", txHash: slipped } },
      observed: { kind: "transfers", candidates, proven: false },
    });
    expect(ticket).toEqual({ kind: "claim", claimId: own._id, presentedHash });
  });

  test("claims nothing while the relayer has no gas, and the chain is slow or another one", async ({
    app,
  }) => {
    const header = versionTwo(await authorize(await payer(chain)));
    const hash = { "X-PAYMENT": `0x${"1".repeat(64)}` };
    const answers = async (proof: Record<string, string>, status: number, error: string) => {
      const { body, status: told } = await buy(app, proof);
      expect([told, body]).toEqual([status, { error: expect.stringContaining(error) }]);
    };
    vi.stubEnv("X402_RELAYER_PRIVATE_KEY", generatePrivateKey());
    await answers(header, 500, "The payment relayer cannot pay the network fee: nothing was moved");
    const heal = onChain(84_532);
    deadlines.receipt = 20;
    for (const proof of [versionTwo(await authorize(stranger())), hash])
      await answers(proof, 502, "The chain RPC serves chain 84532 rather than 8453");
    heal();
    intercept(silence);
    deadlines.caller = 100;
    await answers(header, 502, "The chain RPC did not answer in time");
    expect(await app.rows("paymentClaims")).toEqual([]);
  });
});

test("a facilitator carries a payment out once; where it declines or fails, the same proof goes on", async () => {
  const gas = await payer(chain);
  const [authorized, ...others] = [await authorize(gas), await authorize(gas), await authorize(gas)];
  let settle = async () => {
    const { transactionHash } = await send(chain, gas, settlementCall(authorized));
    return Response.json({ success: true, transaction: transactionHash, network: "base" });
  };
  let asked = 0;
  const app = withFacilitator(() => {
    asked++;
    return settle();
  });
  const moved = await received(async () => {
    const answers = await Promise.all([1, 2, 3].map(() => buy(app, versionTwo(authorized))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
  expect([moved, asked, writings(app)]).toEqual([ONE, 1, 1]);
  const TROUBLES = [
    () => Promise.resolve(Response.json({ success: false, errorReason: "busy" })),
    () => Promise.reject(new TypeError("connection refused")),
  ];
  for (const [i, one] of others.entries()) {
    settle = TROUBLES[i] ?? settle;
    const { status, body } = await buy(app, versionOne(one));
    expect([status, body.error]).toEqual([502, expect.stringContaining("The payment facilitator")]);
    expect(writings(app)).toBe(1 + i);
    await send(chain, gas, settlementCall(one));
    expect((await buy(app, versionOne(one))).status).toBe(200);
  }
});

test("a payment that one node ends as expired, and another does not show yet, is not lost", async () => {
  const authorized = await authorize(await payer(chain));
  const before = String(await chain.rpc("eth_blockNumber", []));
  const app = withFacilitator(async () => {
    await send(chain, await payer(chain), settlementCall(authorized));
    spoiled(/./, (text) => text.replace(/"timestamp":"0x\w+"/, `"timestamp":"${toHex(now() + 301n)}"`));
    intercept(({ body }, pass) =>
      pass(body.includes("eth_call") ? body.replaceAll('"latest"', `"${before}"`) : undefined),
    );
    throw new TypeError("terminated");
  });
  await buy(app, versionTwo(authorized));
  expect((await buy(app, versionTwo(authorized))).status).toBe(200);
});

/** The gateway keeps a report to itself until it is told to go on. */
function holdReport(): { begun: Promise<void>; goOn: () => void } {
  let begin = () => {};
  let goOn = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const held = new Promise<void>((resolve) => (goOn = resolve));
  intercept(async ({ body }, pass) => {
    if (body.includes("research_result")) {
      begin();
      await held;
    }
    return pass();
  });
  return { begun, goOn };
}

describe("a report", () => {
  const short = {
    fullAnalysis: "Quiet day.",
    shortSummary: "🟡 Quiet",
    marketOutlook: "neutral",
    impacts: [{ title: "BTC", detail: "Flat.", sentiment: "neutral", confidence: 0.5 }],
  };
  const schema = "research_result";

  test("that fails or outlasts its caller's wait is 502 with the payment's receipt, and costs nothing again", async ({
    app,
  }) => {
    const from = await payer(chain);
    const header = versionTwo(await authorize(from));
    const order = { userId: "alice" };
    const paid = { success: true, payer: from.address.toLowerCase() };
    const fails = async (answer: Answer, error: unknown) => {
      expect([answer.status, answer.body]).toEqual([502, { error }]);
      expect(headerOf(answer, "payment-response")).toMatchObject(paid);
      const other = await buy(app, header, { userId: "mallory" });
      expect([other.status, other.body.reason]).toEqual([402, "payment_already_used"]);
    };
    const moved = await received(async () => {
      app.standins.fail("llm", { mode: "status", status: 500, schema });
      await fails(await buy(app, header, order), owing("The LLM gateway answered with status 500"));
      app.standins.clear();
      app.standins.fail("llm", { mode: "reply", content: JSON.stringify(short), schema });
      await fails(await buy(app, header, order), owing("The LLM gateway wrote too short a report"));
      app.standins.clear();

      const before = writings(app);
      const write = holdReport();
      const patienceEnds = deadlineByHand("caller");
      const waiting = buy(app, header, order);
      await write.begun;
      patienceEnds();
      await fails(await waiting, owing("The report is not finished yet"));
      // A repeat joins it.
      unreachDeadlines();
      const again = buy(app, header, order);
      write.goOn();
      const served = await again;
      expect([served.status, headerOf(served, "payment-response")]).toMatchObject([200, paid]);
      expect(writings(app)).toBe(before + 1);
    });
    expect(moved).toBe(ONE);
  });

  test("waits for the slowest source, and is given with marks where its writer keeps to no fact", async ({
    app,
  }) => {
    const told = new Array<string>(90).fill("Bitcoin is at $42,000 [f1].").join(" ");
    const content = JSON.stringify({ ...short, fullAnalysis: told });
    app.standins.fail("llm", { mode: "reply", content, schema });
    // However soon others have answered.
    deadlines.researchSources = 1;
    app.standins.fail("sentiment", { mode: "slow", ms: 700, times: 1 });
    const { status, body } = await buy(app, versionOne(await authorize(await payer(chain))));
    const fullAnalysis = expect.stringContaining("$42,000 [model]");
    expect([status, body.result]).toMatchObject([200, { fullAnalysis }]);
    expect(JSON.stringify(body.result)).not.toMatch(/"collector":"(?:market|sentiment|onchain)"/);
  });
});
