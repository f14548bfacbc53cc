import { describe, expect } from "vitest";
import { proofText } from "../../convex/payments/proofs";
import { send, together } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import {
  aged,
  authorize,
  base64,
  buy,
  buyWith,
  createPaidApp,
  headerOf,
  ONE,
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

const ASSET = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const DESCRIPTION = "One market research report";

describe("without a proof", () => {
  test("is 402 with the payment's details, and the requirements of x402 versions 1 and 2", async ({
    app,
  }) => {
    const extra = { name: "USD Coin", version: "2" };
    for (const init of [{}, { body: '{"token":"BTC"}' }]) {
      const answer = await app.call("POST", "/agent/research/paid", init);
      expect([answer.status, answer.body]).toEqual([
        402,
        {
          error: "Payment required: 1.00 USDC on Base",
          paymentDetails: {
            network: "base",
            asset: "USDC",
            address: PLATFORM,
            amount: "1.00",
            description: DESCRIPTION,
            chainId: 8453,
            assetAddress: ASSET,
          },
          x402Version: 1,
          accepts: [
            {
              scheme: "exact",
              network: "base",
              maxAmountRequired: "1000000",
              resource: expect.stringMatching(/^https?:\/\/[^/]+\/agent\/research\/paid$/),
              description: DESCRIPTION,
              mimeType: "application/json",
              asset: ASSET,
              payTo: PLATFORM,
              maxTimeoutSeconds: 300,
              extra,
              outputSchema: expect.any(Object),
            },
          ],
        },
      ]);
      // Clients send it back.
      expect(answer.headers.get("payment-required")).toMatch(/^[A-Za-z0-9+/]{1,1500}={0,2}$/);
      expect(headerOf(answer, "payment-required")).toEqual({
        x402Version: 2,
        error: "Payment required",
        resource: {
          url: expect.stringMatching(/\/agent\/research\/paid$/),
          description: DESCRIPTION,
          mimeType: "application/json",
        },
        extensions: expect.any(Object),
        accepts: [
          {
            scheme: "exact",
            network: "eip155:8453",
            amount: "1000000",
            asset: ASSET,
            payTo: PLATFORM,
            maxTimeoutSeconds: 300,
            extra,
          },
        ],
      });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("payment-response")).toBeNull();
      expect(answer.headers.get("access-control-expose-headers")).toContain("Payment-Required");
    }
  });

  test("advertises only the plain transfer where signed payments cannot be carried out", async () => {
    const app = createPaidApp(chain, { env: { X402_RELAYER_PRIVATE_KEY: "" } });
    const answer = await app.post("/agent/research/paid");
    expect([answer.status, Object.keys(answer.body)]).toEqual([402, ["error", "paymentDetails"]]);
    expect(answer.headers.get("payment-required")).toBeNull();
    const signed = await buy(app, versionTwo(await authorize(stranger())));
    expect([signed.status, signed.body.reason]).toEqual([402, "unsupported_scheme"]);
  });

  test("an address in any letter case is shown checksummed", async () => {
    const app = createPaidApp(chain, { env: { PLATFORM_WALLET_ADDRESS: PLATFORM.toLowerCase() } });
    const { body } = await app.post("/agent/research/paid");
    expect(body.paymentDetails).toMatchObject({ address: PLATFORM });
  });

  test.each(["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"])("and without %s is 500", async (name) => {
    const app = createPaidApp(chain, { env: { [name]: "" } });
    for (const headers of [{}, { "X-PAYMENT": "0x12" }]) {
      const { status, body } = await buy(app, headers);
      expect([status, body]).toEqual([500, { error: `${name} is not configured` }]);
    }
  });

  test("a body too large is 413", async ({ app }) => {
    const body = "x".repeat(2 ** 20 + 1);
    expect((await app.call("POST", "/agent/research/paid", { body })).status).toBe(413);
  });
});

describe("a transaction's hash", () => {
  test("buys a report, with the receipt in both headers", async ({ app }) => {
    const from = await payer(chain);
    const hash = await transfer(chain, from);
    const answer = await buyWith(app, hash, { userId: "alice", token: "eth" });
    expect([answer.status, answer.body]).toEqual([
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
    expect(headerOf(answer, "payment-response")).toEqual({ ...paid, network: "eip155:8453" });
    expect(headerOf(answer, "x-payment-response")).toEqual({ ...paid, network: "base" });
    const [claim] = await app.rows("paymentClaims");
    expect(claim).toMatchObject({ state: "delivered", payer: from.address.toLowerCase() });
    const [spent] = await app.rows("transfers");
    expect(spent).toMatchObject({ txHash: hash, amount: "1000000", claimKey: claim?.key });
    const keys = (await app.rows("answers")).map(({ key }) => key);
    expect(keys.filter((key) => key.startsWith("research:"))).toEqual([]);
  });

  test("buys one report, however often and however it is written", async ({ app }) => {
    const hash = await transfer(chain, await payer(chain));
    const first = await buyWith(app, hash, { userId: "alice" });
    expect([first.status, first.body.token]).toEqual([200, ""]);
    const upper = `0x${hash.slice(2).toUpperCase()}`;
    const forms = [
      hash,
      upper,
      `${hash}:req-1`,
      Buffer.from(`${hash}:req-2`).toString("base64"),
      JSON.stringify({ txHash: upper }),
      base64({ transactionHash: hash, requestId: "req-3" }),
    ];
    for (const proof of forms) {
      const again = await buyWith(app, proof, { userId: "alice" });
      expect([proof, again.status, again.text]).toEqual([proof, 200, first.text]);
      const other = await buyWith(app, proof, { userId: "mallory" });
      expect([proof, other.status, other.body.reason]).toEqual([proof, 402, "payment_already_used"]);
    }
    expect(writings(app)).toBe(1);
  });

  test("is not worth anything after an hour of replays", async ({ app }) => {
    const hash = await transfer(chain, await payer(chain));
    await buyWith(app, hash);
    await aged(app, 3_700_000);
    const { status, body } = await buyWith(app, hash);
    expect([status, body.reason]).toEqual([402, "payment_already_used"]);
  });
});

describe("whose payment it is", () => {
  test("a registered wallet's hash serves its user alone", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 5n * ONE });
    const sent = await app.post("/mcp/defi/send", {
      userId: "alice",
      toAddress: PLATFORM,
      token: "USDC",
      amount: ONE.toString(),
    });
    const hash = String(sent.body.txHash);
    for (const body of [{}, { userId: "mallory" }]) {
      const refused = await buyWith(app, hash, body);
      expect([refused.status, refused.body.reason]).toEqual([402, "invalid_payer_signature"]);
    }
    expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
  });

  test("the payer's signature binds it to a user and token", async ({ app }) => {
    const from = await payer(chain);
    const txHash = await transfer(chain, from);
    const text = proofText(txHash, PLATFORM, { userId: "alice", focus: "BTC" });
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

  test("a bare hash is first come, first served", async ({ app }) => {
    const txHash = await transfer(chain, await payer(chain));
    expect((await buyWith(app, txHash, { userId: "alice" })).status).toBe(200);
    expect((await buyWith(app, txHash, { userId: "mallory" })).body.reason).toBe("payment_already_used");
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
    const spent = await app.rows("transfers");
    expect(new Set(spent.map(({ position }) => position)).size).toBe(2);
  });
});
