import { Ajv2020 } from "ajv/dist/2020";
import { expect, vi } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { buildProofText } from "../../convex/payments/proofs";
import { browserOf } from "../support/browser";
import { chain, useChain } from "../support/chain/chain";
import {
  authorize,
  buy,
  buyWith,
  createPaidApp,
  headerOf,
  owing,
  payer,
  PLATFORM,
  stranger,
  test,
  transfer,
  versionTwo,
} from "./payer";

/** What there is to buy, and what is told before anything is paid. */

useChain();

const PATH = "/agent/research/paid";
const ASSET = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const DESCRIPTION = "One market research report";
const extra = { name: "USD Coin", version: "2" };
const resource = expect.stringMatching(/^https?:\/\/[^/]+\/agent\/research\/paid$/);

/** The terms in the body, for clients of x402 version 1 and for people. */
const body = {
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
      resource,
      description: DESCRIPTION,
      mimeType: "application/json",
      asset: ASSET,
      payTo: PLATFORM,
      maxTimeoutSeconds: 300,
      extra,
      outputSchema: expect.any(Object),
    },
  ],
};

/** The terms in the header, for clients of version 2. */
const header = {
  x402Version: 2,
  error: "Payment required",
  resource: { url: resource, description: DESCRIPTION, mimeType: "application/json" },
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
};

const extension = z.object({ info: z.looseObject({}), schema: z.looseObject({}) });
const challenge = z.looseObject({ extensions: z.object({ bazaar: extension }) });

test("whoever looks is told the terms of both x402 versions, whatever they send, and nothing is begun", async () => {
  // An address in any letter case is shown checksummed.
  const app = createPaidApp(chain, { env: { PLATFORM_WALLET_ADDRESS: PLATFORM.toLowerCase() } });
  const proof = { headers: { "X-Payment": await transfer(chain, await payer(chain)) } };
  for (const [method, query, init] of [
    ["POST", "", {}],
    ["POST", "", { body: '{"token":"BTC"}' }],
    ["POST", "", { body: '{"token":"Shiba Inu"}' }],
    ["GET", "", {}],
    ["GET", "?token=%00", {}],
    ["HEAD", "", {}],
  ] as const) {
    const answer = await app.call(method, PATH + query, init);
    expect([method, answer.status, answer.body]).toEqual([method, 402, method === "HEAD" ? {} : body]);
    expect(headerOf(answer, "payment-required")).toEqual(header);
    // Clients send it back beside their payment, in one header.
    expect(answer.headers.get("payment-required")).toMatch(/^(?=.{1,1500}$)[A-Za-z0-9+/]+={0,2}$/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("payment-response")).toBeNull();
    expect(answer.headers.get("access-control-expose-headers")).toContain("Payment-Required");
  }
  // Stock clients pay with the method of their first look (coinbase/agentkit #1494).
  for (const headers of [proof.headers, versionTwo(await authorize(stranger()))])
    expect((await app.get(PATH, { headers })).body).toEqual({
      ...body,
      error: "Send this payment with POST: a GET only returns the terms",
    });
  expect((await app.call("POST", PATH, { body: "x".repeat(2 ** 20 + 1) })).status).toBe(413);
  expect([await app.rows("paymentClaims"), app.standins.sent("llm")]).toEqual([[], []]);
  expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toMatch(
    /^There is no research report on BTC yet\. .*both are free\. One of your own can be bought for 1\.00 USDC on Base: POST \S+\/agent\/research\/paid$/,
  );

  // The endpoint is described for catalogues.
  const { extensions } = challenge.parse(headerOf(await app.get(PATH), "payment-required"));
  const ajv = new Ajv2020();
  for (const [name, { info, schema }] of Object.entries(extensions))
    expect([name, ajv.validate(schema, info)]).toEqual([name, true]);
  expect(extensions.bazaar.info).toMatchObject({
    input: { type: "http", method: "POST", bodyType: "json", body: { token: "BTC" } },
  });
  expect(ajv.validate(extensions.bazaar.schema, { input: { type: "http", method: "GET" } })).toBe(false);
});

test("only the plain transfer is advertised without a relayer, and nothing is sold without a wallet or a writer", async ({
  app,
}) => {
  vi.stubEnv("X402_RELAYER_PRIVATE_KEY", "");
  const plain = await app.post(PATH);
  expect([plain.status, Object.keys(plain.body)]).toEqual([402, ["error", "paymentDetails"]]);
  expect(plain.headers.get("payment-required")).toBeNull();
  const signed = await buy(app, versionTwo(await authorize(stranger())));
  expect([signed.status, signed.body.reason]).toEqual([402, "unsupported_scheme"]);

  for (const name of ["LLM_GATEWAY_API_KEY", "PLATFORM_WALLET_ADDRESS"]) {
    vi.stubEnv(name, "");
    for (const answer of [await app.get(PATH), await app.post(PATH), await buyWith(app, "0x12")])
      expect([answer.status, answer.body]).toEqual([500, { error: `${name} is not configured` }]);
    vi.stubEnv(name, name === "LLM_GATEWAY_API_KEY" ? "key" : "");
  }
  expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toMatch(/both are free$/);
});

test("what would buy nothing is told before anything is paid: a 402 says what a proof would be refused for", async ({
  app,
}) => {
  const person = browserOf(app, "owner");
  const { userId } = await person.mutation(api.accounts.profile.signIn, {});
  const { userId: present } = await person.mutation(api.accounts.profile.replaceUserId, {});
  const from = await payer(chain);
  const txHash = await transfer(chain, from);
  const proof = { headers: { "X-Payment": txHash } };
  const UNPAID = ": correct this before you pay, because a payment would buy nothing";
  for (const [text, problem, status] of [
    ["{", 'The request body is not valid JSON, such as {"token":"BTC"}', 400],
    ['{"token":{}}', "token must be a string", 400],
    [`{"token":"${"x".repeat(61)}"}`, "token must be at most 60 characters", 400],
    ['{"symbol":"BTC"}', "symbol is not a field here, where money moves: there are userId, token", 400],
    [JSON.stringify({ userId }), expect.stringContaining("has replaced it"), 404],
  ] as const) {
    const unpaid = await app.call("POST", PATH, { body: text });
    const told = typeof problem === "string" ? problem + UNPAID : problem;
    expect([unpaid.status, unpaid.body.error]).toEqual([402, told]);
    expect(unpaid.body.paymentDetails).toMatchObject({ amount: "1.00" });
    const paid = await app.call("POST", PATH, { body: text, ...proof });
    expect([paid.status, paid.body.error]).toEqual([status, problem]);
  }

  const unknown =
    "No source knows the token FOOBARX: name it by its symbol, such as BTC, or leave token out for the whole market";
  expect((await app.post(PATH, { token: "FOOBARX" })).body).toMatchObject({ ...body, error: unknown });
  const signed = versionTwo(await authorize(await payer(chain)));
  for (const headers of [proof.headers, signed]) {
    const refused = await buy(app, headers, { token: "FOOBARX" });
    expect([refused.status, refused.body]).toEqual([404, { error: `${unknown}. The payment is not used.` }]);
  }

  // The proofs have stayed unspent: each buys a report, also for the new id, which its payer has signed.
  expect([await app.rows("paymentClaims"), await app.rows("transfers")]).toEqual([[], []]);
  const message = buildProofText(txHash, PLATFORM, { userId: present, focus: "BTC" });
  const named = JSON.stringify({ txHash, signature: await from.signMessage({ message }) });
  const bought = await buyWith(app, named, { userId: present, token: "BTC" });
  expect([bought.status, bought.body.token]).toEqual([200, "BTC"]);
  const order = { token: "shiba inu" };
  const other = await buy(app, signed, order);
  expect([other.status, other.body.token]).toEqual([200, "SHIB"]);
  expect((await buy(app, signed, order)).text).toBe(other.text);
  expect((await app.rows("paymentClaims")).map((claim) => claim.order.focus)).toEqual(["BTC", "SHIB"]);
});

test("while the sources are out of reach no token is sold, and a report on the market is owed", async ({
  app,
}) => {
  for (const source of ["coinbase", "coingecko"] as const)
    app.standins.fail(source, { mode: "status", status: 503 });
  const txHash = await transfer(chain, await payer(chain));
  const unsure = await buyWith(app, txHash, { token: "DOGE" });
  expect([unsure.status, unsure.body.error]).toEqual([
    502,
    expect.stringContaining(
      "know whether DOGE is traded cannot be reached: try again in a minute, or name the token by its symbol. The payment is not used.",
    ),
  ]);
  // It is not told apart from one that is traded.
  expect((await app.post(PATH, { token: "DOGE" })).body.error).toBe(body.error);
  expect(await app.rows("transfers")).toEqual([]);
  // Without an observed price none is written.
  const failed = await buyWith(app, txHash);
  expect([failed.status, failed.body.error]).toEqual([502, owing("CoinGecko answered with status 503")]);
  expect(headerOf(failed, "payment-response")).toMatchObject({ success: true, transaction: txHash });
  expect(await app.rows("paymentClaims")).toMatchObject([{ state: "paid" }]);
});
