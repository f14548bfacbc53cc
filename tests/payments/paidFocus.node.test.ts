import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { browserOf } from "../support/browser";
import { chain, useChain } from "../support/chain/chain";
import { authorize, buy, buyWith, payer, test, transfer, versionOne, versionTwo } from "./payer";

/** On which tokens reports are sold, and what they are written from. */

useChain();

describe("a token that no source knows", () => {
  test("is told before anything is paid, and the terms stay what they are", async ({ app }) => {
    const { status, body } = await app.post("/agent/research/paid", { token: "FOOBARX" });
    expect([status, body.error]).toEqual([
      402,
      "No source knows the token FOOBARX: name it by its symbol, such as BTC",
    ]);
    expect(body.paymentDetails).toMatchObject({ amount: "1.00" });
    for (const sold of [{ token: "Bitcoin" }, { token: "Shiba Inu" }, { token: "DOGE" }, {}]) {
      const other = await app.post("/agent/research/paid", sold);
      expect([other.status, other.body.error]).toEqual([402, "Payment required: 1.00 USDC on Base"]);
    }
  });

  test("and a body that is malformed, are told before anything is paid: a 402 says what a proof would be 400 for", async ({
    app,
  }) => {
    for (const [text, problem] of [
      ["{", "The request body is not valid JSON"],
      ['{"token":7}', "token must be a string"],
      [`{"token":"${"x".repeat(61)}"}`, "token must be at most 60 characters"],
      ['{"symbol":"BTC"}', "symbol is not a field here, where money moves: there are userId, token"],
    ] as const) {
      const { status, body } = await app.call("POST", "/agent/research/paid", { body: text });
      expect([status, body.error]).toEqual([
        402,
        `${problem}: a payment would buy nothing, and stay unspent`,
      ]);
      expect(body.paymentDetails).toMatchObject({ amount: "1.00" });
      const headers = { "X-Payment": `0x${"12".repeat(32)}` };
      const paid = await app.call("POST", "/agent/research/paid", { body: text, headers });
      expect([paid.status, paid.body.error]).toEqual([400, problem]);
    }
    expect(await app.rows("paymentClaims")).toEqual([]);
  });

  test("buys nothing with a proof: it is 404, and the same proof buys a report that there is", async ({
    app,
  }) => {
    const txHash = await transfer(chain, await payer(chain));
    const signed = versionOne(await authorize(await payer(chain)));
    for (const proof of [{ "X-Payment": txHash }, signed]) {
      const claims = await app.rows("paymentClaims");
      const refused = await buy(app, proof, { token: "FOOBARX" });
      expect([refused.status, refused.body]).toEqual([
        404,
        { error: expect.stringMatching(/^No source knows the token FOOBARX.* The payment is not used\.$/) },
      ]);
      expect(await app.rows("paymentClaims")).toEqual(claims);
      const bought = await buy(app, proof, { token: "DOGE" });
      expect([bought.status, bought.body.token]).toEqual([200, "DOGE"]);
    }
  });

  test("is not told apart while the sources are out of reach: nothing is sold, and the proof stays good", async ({
    app,
  }) => {
    for (const source of ["coinbase", "coingecko"] as const) {
      app.standins.fail(source, { mode: "status", status: 503 });
    }
    const txHash = await transfer(chain, await payer(chain));
    const refused = await buyWith(app, txHash, { token: "DOGE" });
    expect([refused.status, refused.body.error]).toEqual([
      502,
      expect.stringContaining("cannot be asked whether DOGE is traded. The payment is not used."),
    ]);
    expect(await app.rows("transfers")).toEqual([]);
    expect((await app.post("/agent/research/paid", { token: "DOGE" })).body.error).toBe(
      "Payment required: 1.00 USDC on Base",
    );
  });
});

test("an id that its owner has replaced is told before anything is paid, and with a proof, which stays unspent", async ({
  app,
}) => {
  const person = browserOf(app, "owner");
  const { userId } = await person.mutation(api.accounts.profile.signIn, {});
  const { userId: present } = await person.mutation(api.accounts.profile.replaceUserId, {});
  const unpaid = await app.post("/agent/research/paid", { userId });
  expect([unpaid.status, unpaid.body.error]).toEqual([402, expect.stringContaining("has replaced it")]);
  expect(unpaid.body.paymentDetails).toMatchObject({ amount: "1.00" });
  const txHash = await transfer(chain, await payer(chain));
  expect((await buyWith(app, txHash, { userId })).status).toBe(404);
  expect((await buyWith(app, txHash, { userId: present })).status).toBe(200);
});

test("every way to write a token buys the report on it, and joins it again with the same words", async ({
  app,
}) => {
  for (const [token, symbol] of [
    ["Bitcoin", "BTC"],
    ["$btc", "BTC"],
    ["BTC/USDT", "BTC"],
    ["Dogecoin", "DOGE"],
    ["shiba inu", "SHIB"],
  ] as const) {
    const txHash = await transfer(chain, await payer(chain));
    const bought = await buyWith(app, txHash, { token });
    expect([token, bought.status, bought.body.token]).toEqual([token, 200, symbol]);
    expect((await buyWith(app, txHash, { token })).text).toBe(bought.text);
  }
  expect((await app.rows("paymentClaims")).map(({ order }) => order.focus)).toEqual([
    "BTC",
    "BTC",
    "BTC",
    "DOGE",
    "SHIB",
  ]);
});

test("a report waits for the slowest source, however soon others have answered, and names them all", async ({
  app,
}) => {
  deadlines.researchSources = 1;
  app.standins.fail("sentiment", { mode: "slow", ms: 700, times: 1 });
  const { status, body } = await buy(app, versionTwo(await authorize(await payer(chain))));
  expect(status).toBe(200);
  expect(JSON.stringify(body.result)).not.toMatch(/"collector":"(?:market|sentiment|onchain)"/);
});

test("without an observed price no report is written, and the payment is kept", async ({ app }) => {
  const header = versionTwo(await authorize(await payer(chain)));
  for (const source of ["coingecko", "coinbase"] as const) {
    app.standins.fail(source, { mode: "status", status: 503 });
  }
  const failed = await buy(app, header);
  expect([failed.status, failed.body.error]).toEqual([502, "CoinGecko answered with status 503"]);
  expect(await app.rows("paymentClaims")).toMatchObject([{ state: "paid" }]);
});
