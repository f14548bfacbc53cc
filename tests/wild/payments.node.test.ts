import { describe, expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { waitForLaggingNodes } from "../support/chain/walletApp";
import { answering } from "../support/chain/rpc";
import { laggingNodes } from "../support/laggingNodes";
import { beforeFirst, intercept, spoiled } from "../support/outside";
import { useTime } from "../invariants/harness";
import {
  authorize,
  buy,
  createPaidApp,
  now,
  ONE,
  payer,
  PLATFORM,
  received,
  settlementCall,
  test,
  transfer,
  versionOne,
  versionTwo,
  type Authorized,
} from "../payments/payer";

/** How nodes, clocks and facilitators in the wild refuse payments that are good, as reported in public. */

useChain();
useTime();

/** ponder #1189, daimo #1083. */
describe("a payer who was paid a block ago, at two nodes of which one lags", () => {
  const REQUESTS: Record<string, (n: number, body: string) => boolean> = {
    "for what is asked of a block": (n, body) =>
      n <= 5 && /eth_call/.test(body) && !/"latest"|"pending"/.test(body),
    "every second time": (n) => n <= 8 && n % 2 === 0,
    "every other time": (n) => n <= 8 && n % 2 === 1,
    "for the first eight": (n) => n <= 8,
  };
  for (const [name, isLate] of Object.entries(REQUESTS))
    test(`${name}: pays`, async ({ app }) => {
      waitForLaggingNodes();
      const signed = versionTwo(await authorize(await payer(chain)));
      let n = 0;
      const nodes = laggingNodes({ isLate: (body) => isLate(++n, body), behind: () => 1 });
      const moved = await received(async () => {
        expect((await buy(app, signed)).status).toBe(200);
      });
      nodes.end();
      expect([moved, nodes.late.length > 0]).toEqual([ONE, true]);
    });

  test("and one who has no money is told when to try again", async ({ app }) => {
    const { status, body, headers } = await buy(app, versionTwo(await authorize(await payer(chain, 1n))));
    expect([status, body.reason]).toEqual([402, "insufficient_funds"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

/** The node that shows that a settlement has failed is ahead of the one that shows why (ponder #1189). */
test("a payment that a stranger has carried out first is not lost at a node that does not show it yet", async ({
  app,
}) => {
  waitForLaggingNodes();
  const signed = await authorize(await payer(chain));
  let isSent = false;
  let n = 0;
  const isLate = (body: string) =>
    isSent && /eth_call|eth_getBlockByNumber","params":\["latest/.test(body) && n++ < 6;
  const nodes = laggingNodes({ isLate, behind: () => 2 });
  beforeFirst("eth_sendRawTransaction", async () => {
    await send(chain, await payer(chain), settlementCall(signed));
    isSent = true;
  });
  const moved = await received(async () => {
    expect((await buy(app, versionTwo(signed))).status).toBe(200);
  });
  nodes.end();
  expect([moved, nodes.late.length > 0]).toEqual([ONE, true]);
});

/** x402 #99, #208, thirdweb #8317. */
test("a payment from some seconds ahead is waited for, one from later is told when to come back", async ({
  app,
}) => {
  deadlines.lag = 6_000;
  for (const ahead of [0n, 2n]) {
    const { status, body } = await buy(
      app,
      versionTwo(await authorize(await payer(chain), { validAfter: now() + ahead })),
    );
    expect([ahead, status, body.reason]).toEqual([ahead, 200, undefined]);
  }
  const later = await buy(app, versionOne(await authorize(await payer(chain), { validAfter: now() + 20n })));
  expect([later.status, later.body.reason]).toEqual([
    402,
    "invalid_exact_evm_payload_authorization_valid_after",
  ]);
  expect(Number(later.headers.get("retry-after"))).toBeGreaterThan(10);
});

/** celo-org/op-geth #383, hyperindex #1546. */
test("receipts without a price of gas show a payment all the same", async ({ app }) => {
  const stop = spoiled(/./, (text) =>
    text.replace(/"effectiveGasPrice":"0x\w+"/g, '"effectiveGasPrice":null'),
  );
  expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
  expect((await buy(app, { "X-PAYMENT": await transfer(chain, await payer(chain)) })).status).toBe(200);
  stop();
});

/** x402-exec #163. */
describe("a facilitator", () => {
  const FACILITATOR = "http://facilitator.test";
  /** @param supported What it says of itself. @param knows The versions that it executes. */
  function facilitator(supported: () => Response, knows: number[]) {
    const asked: unknown[] = [];
    const authorized: Authorized[] = [];
    let questions = 0;
    const app = createPaidApp(chain, {
      env: { X402_RELAYER_PRIVATE_KEY: "", X402_FACILITATOR_URL: FACILITATOR },
    });
    intercept(async ({ url, body }, pass) => {
      if (url === `${FACILITATOR}/supported`) {
        questions++;
        return supported();
      }
      if (url !== `${FACILITATOR}/settle`) return pass();
      const given: unknown = JSON.parse(body);
      asked.push(given);
      const version: unknown = Reflect.get(Object(given), "x402Version");
      if (typeof version !== "number" || !knows.includes(version))
        return Response.json({ error: "Invalid request" }, { status: 400 });
      for (const one of authorized.splice(0)) await send(chain, await payer(chain), settlementCall(one));
      return Response.json({ success: true });
    });
    const sells = async () => {
      const one = await authorize(await payer(chain));
      authorized.push(one);
      return buy(app, versionTwo(one));
    };
    return { app, asked, sells, questions: () => questions };
  }
  const kinds =
    (...all: [number, string][]) =>
    () =>
      Response.json({
        kinds: all.map(([x402Version, network]) => ({ x402Version, scheme: "exact", network })),
      });
  const second = { scheme: "exact", network: "eip155:8453", amount: "1000000", payTo: PLATFORM };
  const inTwo = {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: second, payload: { signature: expect.any(String) } },
    paymentRequirements: second,
  };

  test("that knows version 2 alone is asked in it, and what it supports is asked once", async () => {
    const { asked, sells, questions } = facilitator(kinds([2, "eip155:8453"], [1, "base-sepolia"]), [2]);
    for (let i = 0; i < 2; i++) expect((await sells()).status).toBe(200);
    expect([asked, questions()]).toMatchObject([[inTwo, inTwo], 1]);
  });

  test("that knows both, or does not say, is asked in version 1; and in version 2 once that is refused", async () => {
    const both = facilitator(kinds([2, "eip155:8453"], [1, "base"]), [1, 2]);
    expect((await both.sells()).status).toBe(200);
    expect(both.asked).toMatchObject([{ x402Version: 1 }]);
    const silent = facilitator(() => new Response("not found", { status: 404 }), [2]);
    expect((await silent.sells()).status).toBe(200);
    expect(silent.asked).toMatchObject([{ x402Version: 1 }, inTwo]);
  });

  test("of other chains alone is said to be one", async () => {
    const { asked, sells } = facilitator(kinds([2, "eip155:84532"]), [1, 2]);
    const { status, body } = await sells();
    expect([status, body.error, asked]).toEqual([
      502,
      "The payment facilitator executes no payments on Base (eip155:8453). Nothing more is charged: send the same proof again",
      [],
    ]);
  });
});

/** The same of a node that answers "header not found" for a while (ponder #1189). */
test("a node that does not know its own newest block yet is asked again", async ({ app }) => {
  waitForLaggingNodes();
  let refused = 0;
  const stop = answering(({ method, params }) => {
    const isOfBlock = method === "eth_call" && /^0x/.test(String(params[1]));
    return isOfBlock && ++refused <= 4 ? { error: { code: -32_000, message: "header not found" } } : null;
  });
  expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
  stop();
  expect(refused).toBeGreaterThanOrEqual(4);
});
