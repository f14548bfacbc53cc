import { describe, expect } from "vitest";
import { MINUTE } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { beforeFirst, counting } from "../support/outside";
import { timePassing, useTime } from "../invariants/harness";
import {
  aged,
  authorize,
  buy,
  buyWith,
  headerOf,
  now,
  ONE,
  owing,
  payer,
  received,
  settlementCall,
  stranger,
  test,
  transfer,
  versionOne,
  versionTwo,
  writings,
  type Authorized,
} from "./payer";

/** A gateway that does not answer: nothing is sold that cannot be made, and what was paid for is owed. */

useChain();
useTime();

const isDown = (app: WalletApp) => app.standins.fail("llm", { mode: "status", status: 500 });
const states = async (app: WalletApp) => (await app.rows("paymentClaims")).map(({ state }) => state);
const given = async (order: object, app: WalletApp, proof: Record<string, string>) => {
  const { status, body } = await buy(app, proof, order);
  return [status, body.reason];
};
const USED = [402, "payment_already_used"];

/** A purchase whose gateway goes down behind the payment. */
async function paidInVain(app: WalletApp, signed: Authorized, order: object = { token: "BTC" }) {
  beforeFirst("eth_sendRawTransaction", () => Promise.resolve(isDown(app)));
  const answer = await buy(app, versionTwo(signed), order);
  expect([answer.status, answer.body.error]).toEqual([
    502,
    owing("The LLM gateway answered with status 500"),
  ]);
  expect(headerOf(answer, "payment-response")).toMatchObject({ success: true });
  return headerOf(answer, "payment-response");
}

test("that is down for an hour takes no signed payment; what was transferred is written minutes after its return", async ({
  app,
}) => {
  const pass = timePassing(app);
  isDown(app);
  const hash = await transfer(chain, await payer(chain));
  const header = versionTwo(await authorize(await payer(chain)));
  const sold = await received(async () => {
    for (let i = 0; i < 4; i++) {
      const { status, headers, body } = await buy(app, header, { token: "BTC" });
      expect([status, body.error]).toEqual([503, expect.stringContaining("nothing was taken")]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });
  expect([sold, await app.rows("paymentClaims")]).toEqual([0n, []]);
  expect((await app.post("/agent/research/paid", { token: "BTC" })).status).toBe(402);
  const owed = await buyWith(app, hash, { token: "BTC" });
  expect([owed.status, owed.body.error]).toEqual([502, owing("The LLM gateway answered with status 500")]);
  expect(headerOf(owed, "payment-response")).toMatchObject({ success: true, transaction: hash });
  await pass(60, 6);
  expect(await states(app)).toEqual(["paid"]);
  app.standins.clear();
  await pass(6, 2);
  expect(await states(app)).toEqual(["delivered"]);
  expect((await buyWith(app, hash, { token: "BTC" })).status).toBe(200);
  expect(writings(app)).toBe(1);
  expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
});

test("that fails behind the payment costs the payer one USDC, however often a client signs anew", async ({
  app,
}) => {
  const pass = timePassing(app);
  // All that the payer has.
  const from = await payer(chain, ONE);
  const first = await authorize(from);
  const order = { token: "BTC" };
  const moved = await received(async () => {
    const receipt = await paidInVain(app, first, order);
    // Every client signs anew, and is told of the first payment.
    const waiting = await buy(app, versionTwo(await authorize(from)), order);
    expect([waiting.status, headerOf(waiting, "payment-response")]).toEqual([502, receipt]);
    await pass(60, 6);
    app.standins.clear();
    await pass(6, 2);
    const written = writings(app);
    expect([(await states(app))[0], written > 0]).toEqual(["delivered", true]);
    // However late its payer comes.
    await pass(600, 60);
    const [second, third] = [versionTwo(await authorize(from)), versionOne(await authorize(from))];
    const got = await buy(app, second, order);
    expect([got.status, headerOf(got, "payment-response"), writings(app)]).toEqual([200, receipt, written]);
    for (const proof of [second, versionTwo(first)])
      expect((await buy(app, proof, order)).text).toBe(got.text);
    expect(await given({ token: "ETH" }, app, second)).toEqual(USED);
    // It has been given: the next signature is another purchase.
    expect(await given(order, app, third)).toEqual([402, "insufficient_funds"]);
    // A signature that has joined is never executed.
    await chain.fund(from.address, { USDC: 5n * ONE });
    await aged(app, 11 * MINUTE);
    for (const proof of [second, versionTwo(first)]) expect(await given(order, app, proof)).toEqual(USED);
  });
  expect(moved).toBe(ONE);
});

describe("a payer to whom a report is owed", () => {
  test("is known by a signature that is good by itself, of a key or of a wallet's code, for the same order", async ({
    app,
  }) => {
    const from = await payer(chain, ONE);
    await paidInVain(app, await authorize(from));
    app.standins.clear();
    const order = { token: "BTC" };
    const used = await authorize(from, { value: 2n * ONE });
    await chain.fund(from.address, { USDC: 2n * ONE });
    await send(chain, await payer(chain), settlementCall(used));
    const prefix = "invalid_exact_evm_payload";
    const OTHERS: [string, unknown[], Record<string, string>, object?][] = [
      [
        "signed by another",
        [402, "insufficient_funds"],
        versionOne(await authorize(from, { by: stranger() })),
      ],
      [
        "to another",
        [402, `${prefix}_recipient_mismatch`],
        versionOne(await authorize(from, { to: stranger().address })),
      ],
      [
        "too little",
        [402, `${prefix}_authorization_value`],
        versionOne(await authorize(from, { value: 1n })),
      ],
      [
        "expired",
        [402, `${prefix}_authorization_valid_before`],
        versionOne(await authorize(from, { validBefore: now() - 1n })),
      ],
      [
        "too early",
        [402, `${prefix}_authorization_valid_after`],
        versionOne(await authorize(from, { validAfter: now() + 60n })),
      ],
      ["of another order", [402, "insufficient_funds"], versionOne(await authorize(from)), { token: "ETH" }],
      [
        "of another user",
        [402, "insufficient_funds"],
        versionOne(await authorize(from)),
        { ...order, userId: "mallory" },
      ],
    ];
    for (const [name, told, proof, other] of OTHERS)
      expect([name, ...(await given(other ?? order, app, proof))]).toEqual([name, ...told]);
    // It has bought a report of its own.
    expect((await buy(app, versionOne(used), order)).status).toBe(200);
    expect((await states(app)).includes("joined")).toBe(false);
    expect((await buy(app, versionOne(await authorize(from)), order)).status).toBe(200);

    const wallet = freshAddress();
    // It says of every signature that it is good.
    await chain.rpc("anvil_setCode", [wallet, "0x631626ba7e60e01b5f5260205ff3"]);
    await chain.fund(wallet, { USDC: ONE });
    const signedBy = async () => {
      const { message, payload } = await authorize(from);
      const authorization = { ...payload.authorization, from: wallet };
      return { message, signature: payload.signature, payload: { ...payload, authorization } };
    };
    await paidInVain(app, await signedBy());
    app.standins.clear();
    expect((await buy(app, versionOne(await signedBy()), order)).status).toBe(200);
  });

  test("waits for a report that a model cannot write for eight attempts", async ({ app }) => {
    const pass = timePassing(app);
    const content = JSON.stringify({
      fullAnalysis: "Quiet.",
      shortSummary: "🟡 Quiet",
      marketOutlook: "neutral",
    });
    app.standins.fail("llm", { mode: "reply", content, schema: "research_result" });
    const header = versionTwo(await authorize(await payer(chain)));
    expect((await buy(app, header, {})).status).toBe(502);
    const each = writings(app);
    await pass(150, 6);
    expect([writings(app), await states(app)]).toEqual([8 * each, ["paid"]]);
    app.standins.clear();
    expect((await buy(app, header, {})).status).toBe(200);
  });
});

test("a report is given again for an hour where its order names a user, else for ten minutes", async ({
  app,
}) => {
  const proofs = [
    versionOne(await authorize(await payer(chain))),
    versionOne(await authorize(await payer(chain))),
  ];
  const [named = {}, bare = {}] = proofs;
  const user = { userId: "alice" };
  const shows = async () => [(await given(user, app, named))[0], (await given({}, app, bare))[0]];
  expect(await shows()).toEqual([200, 200]);
  await aged(app, 9 * MINUTE);
  expect(await shows()).toEqual([200, 200]);
  await aged(app, 2 * MINUTE);
  expect(await shows()).toEqual([200, 402]);
  await aged(app, 48 * MINUTE);
  expect(await shows()).toEqual([200, 402]);
  await aged(app, 2 * MINUTE);
  expect(await shows()).toEqual([402, 402]);
});

describe("the probe of the gateway", () => {
  const probes = () => counting("Say yes.");

  test("is asked for signed payments alone, at most every half minute, and hears no stranger's failures", async ({
    app,
  }) => {
    const asked = probes();
    const pass = timePassing(app);
    await app.post("/agent/research/paid", { token: "BTC" });
    await pass(3);
    expect(asked()).toBe(0);
    // Two answers that a filter has refused.
    app.standins.fail("llm", { mode: "status", status: 400, schema: "chat", times: 2 });
    app.standins.fail("llm", { mode: "status", status: 500, schema: "chat", times: 2 });
    for (let i = 0; i < 4; i++)
      await app.post("/mcp/chat", { messages: [{ role: "user", content: `How is the weather ${i}?` }] });
    app.standins.clear();
    for (let i = 0; i < 2; i++)
      expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
    expect(asked()).toBe(1);
    await pass(1);
    expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
    expect(asked()).toBe(2);
  });

  test("is answered by a gateway that refuses so short an answer, and not by one that hangs", async ({
    app,
  }) => {
    app.standins.fail("llm", { mode: "status", status: 400, schema: "chat" });
    const proof = versionTwo(await authorize(await payer(chain)));
    expect((await buy(app, proof)).status).toBe(200);
    app.standins.clear();
    await timePassing(app)(1);
    app.standins.fail("llm", { mode: "slow", schema: "chat" });
    deadlines.probe = 30;
    const { status, body } = await buy(app, versionTwo(await authorize(await payer(chain))));
    expect([status, body.error]).toEqual([
      503,
      expect.stringContaining("The LLM gateway did not answer in time"),
    ]);
  });
});
