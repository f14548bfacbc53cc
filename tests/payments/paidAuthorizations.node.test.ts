import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { deadlineByHand, unreachDeadlines } from "../support/chain/walletApp";
import {
  authorize,
  buy,
  createPaidApp,
  headerOf,
  ONE,
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
import { beforeFirst, intercept, onChain, silence } from "../support/outside";

/** x402 clients only sign: the service carries the payment out, once. */

useChain();

describe("a signed payment", () => {
  test.for([
    ["version 1", versionOne, "base"],
    ["version 2", versionTwo, "eip155:8453"],
  ] as const)("of x402 %s is carried out and buys a report", async ([_name, headers, network], { app }) => {
    const from = await payer(chain);
    const header = headers(await authorize(from));
    let answer = await app.get("/health");
    expect(
      await received(async () => {
        answer = await buy(app, header, { token: "BTC" });
      }),
    ).toBe(ONE);
    expect([answer.status, answer.body.success, answer.body.token]).toEqual([200, true, "BTC"]);
    const name = network === "base" ? "x-payment-response" : "payment-response";
    expect(headerOf(answer, name)).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network,
      payer: from.address.toLowerCase(),
    });
    expect(
      await received(async () => expect((await buy(app, header, { token: "BTC" })).text).toBe(answer.text)),
    ).toBe(0n);
    const other = await buy(app, header, { token: "ETH" });
    expect([other.status, other.body.reason]).toEqual([402, "payment_already_used"]);
    expect(writings(app)).toBe(1);
    expect(await app.rows("transfers")).toMatchObject([{ claimKey: expect.stringMatching(/^auth:0x/) }]);
  });

  test("beside seven others is carried out as well", async ({ app }) => {
    const headers: Record<string, string>[] = [];
    for (let i = 0; i < 8; i++) headers.push(versionTwo(await authorize(await payer(chain))));
    const moved = await received(async () => {
      const answers = await Promise.all(headers.map((header, i) => buy(app, header, { userId: `u${i}` })));
      expect(answers.map(({ status }) => status)).toEqual(headers.map(() => 200));
    });
    expect(moved).toBe(8n * ONE);
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

  test("that a stranger carried out before it was shown here is a payment all the same", async ({ app }) => {
    const authorized = await authorize(await payer(chain));
    const receipt = await send(chain, await payer(chain), settlementCall(authorized));
    // The node that shows its use is ahead of the one that shows its logs.
    let searches = 0;
    answering(({ method }) => (method === "eth_getLogs" && ++searches === 1 ? { result: [] } : null));
    const answer = await buy(app, versionOne(authorized));
    expect(answer.status).toBe(200);
    expect(headerOf(answer, "payment-response")).toMatchObject({ transaction: receipt.transactionHash });
  });

  test("that a stranger slips in before the service does is a payment all the same", async ({ app }) => {
    const authorized = await authorize(await payer(chain));
    const other = await payer(chain);
    let slipped = "";
    beforeFirst("eth_sendRawTransaction", async () => {
      slipped = (await send(chain, other, settlementCall(authorized))).transactionHash;
    });
    const answer = await buy(app, versionTwo(authorized));
    expect(answer.status).toBe(200);
    expect(headerOf(answer, "payment-response")).toMatchObject({ transaction: slipped });
    expect(await app.rows("paymentClaims")).toMatchObject([{ state: "delivered" }]);
  });

  test("from a relayer without gas is 500, and nothing is claimed", async () => {
    const app = createPaidApp(chain, { env: { X402_RELAYER_PRIVATE_KEY: generatePrivateKey() } });
    const { status, body } = await buy(app, versionTwo(await authorize(await payer(chain))));
    expect([status, body]).toEqual([
      500,
      { error: "The payment relayer cannot pay the network fee: nothing was moved" },
    ]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });

  test("that the chain is slow to check is 502 within the deadline, and claims nothing", async ({ app }) => {
    const header = versionTwo(await authorize(await payer(chain)));
    intercept(silence);
    deadlines.caller = 100;
    const { status, body } = await buy(app, header);
    expect([status, body]).toEqual([502, { error: "The chain RPC did not answer in time" }]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  });

  test("is not carried out on another chain", async ({ app }) => {
    onChain(84_532);
    deadlines.receipt = 20;
    for (const headers of [versionTwo(await authorize(stranger())), { "X-PAYMENT": `0x${"1".repeat(64)}` }]) {
      const { status, body } = await buy(app, headers);
      expect([status, body.error]).toEqual([
        502,
        expect.stringContaining("The chain RPC serves chain 84532 rather than 8453"),
      ]);
    }
    expect(await app.rows("paymentClaims")).toEqual([]);
  });
});

describe("without a relayer a facilitator", () => {
  test("carries the payment out, once", async () => {
    const authorized = await authorize(await payer(chain));
    const gas = await payer(chain);
    let asked = 0;
    const app = withFacilitator(async () => {
      asked++;
      const { transactionHash } = await send(chain, gas, settlementCall(authorized));
      return Response.json({ success: true, transaction: transactionHash, network: "base" });
    });
    const moved = await received(async () => {
      const answers = await Promise.all([1, 2, 3].map(() => buy(app, versionTwo(authorized))));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    });
    expect([moved, asked, writings(app)]).toEqual([ONE, 1, 1]);
  });

  test.each([
    ["declines", () => Promise.resolve(Response.json({ success: false, errorReason: "busy" }))],
    ["fails", () => Promise.resolve(Response.json({}, { status: 500 }))],
    ["cannot be reached", () => Promise.reject(new TypeError("connection refused"))],
  ])("that %s is 502, and the same proof goes on", async (_name, settle) => {
    const authorized = await authorize(await payer(chain));
    const app = withFacilitator(settle);
    const { status, body } = await buy(app, versionOne(authorized));
    expect([status, body.error]).toEqual([502, expect.stringContaining("The payment facilitator")]);
    expect(writings(app)).toBe(0);
    await send(chain, await payer(chain), settlementCall(authorized));
    expect((await buy(app, versionOne(authorized))).status).toBe(200);
  });
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

describe("a report that fails", () => {
  const short = JSON.stringify({
    fullAnalysis: "Quiet day.",
    shortSummary: "🟡 Quiet",
    marketOutlook: "neutral",
    impacts: [{ title: "BTC", detail: "Flat.", sentiment: "neutral", confidence: 0.5 }],
  });
  test.for([
    ["the gateway is down", { mode: "status", status: 500 }, "The LLM gateway answered with status 500"],
    ["it is too short", { mode: "reply", content: short }, "The LLM gateway wrote too short a report"],
  ] as const)(
    "because %s is 502 with the payment's receipt, and costs nothing again",
    async ([_name, fault, error], { app }) => {
      const from = await payer(chain);
      const header = versionTwo(await authorize(from));
      app.standins.fail("llm", { ...fault, schema: "research_result" });
      const moved = await received(async () => {
        const failed = await buy(app, header, { userId: "alice" });
        expect([failed.status, failed.body]).toEqual([502, { error }]);
        const paid = z.looseObject({}).parse(headerOf(failed, "payment-response"));
        expect(paid).toMatchObject({ success: true, payer: from.address.toLowerCase() });
        expect(await app.rows("paymentClaims")).toMatchObject([{ state: "paid" }]);
        app.standins.clear();
        const other = await buy(app, header, { userId: "mallory" });
        expect([other.status, other.body.reason]).toEqual([402, "payment_already_used"]);
        const served = await buy(app, header, { userId: "alice" });
        expect(served.status).toBe(200);
        expect(headerOf(served, "payment-response")).toMatchObject(paid);
      });
      expect(moved).toBe(ONE);
    },
  );

  test("whose writer keeps to no fact is given with its figures marked", async ({ app }) => {
    const told = new Array<string>(90).fill("Bitcoin is at $42,000 [f1].").join(" ");
    const content = JSON.stringify({ ...JSON.parse(short), fullAnalysis: told });
    app.standins.fail("llm", { mode: "reply", content, schema: "research_result" });
    const { status, body } = await buy(app, versionOne(await authorize(await payer(chain))));
    expect([status, body.result]).toMatchObject([
      200,
      { fullAnalysis: expect.stringContaining("$42,000 [model]") },
    ]);
  });

  test("or outlasts its caller's wait is 502 with the receipt, and a repeat joins it", async ({ app }) => {
    const header = versionOne(await authorize(privateKeyToAccount(generatePrivateKey()), {}));
    expect((await buy(app, header)).body.reason).toBe("insufficient_funds");
    const paid = versionOne(await authorize(await payer(chain)));
    const write = holdReport();
    const patienceEnds = deadlineByHand("caller");
    const waiting = buy(app, paid);
    await write.begun;
    patienceEnds();
    const late = await waiting;
    expect([late.status, late.body.error]).toEqual([502, expect.stringContaining("nothing more is charged")]);
    expect(headerOf(late, "payment-response")).toMatchObject({ success: true });
    unreachDeadlines();
    const again = buy(app, paid);
    write.goOn();
    expect((await again).status).toBe(200);
    expect(writings(app)).toBe(1);
  });
});
