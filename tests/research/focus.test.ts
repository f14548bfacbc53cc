import { describe, expect } from "vitest";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { type App, test } from "../support/app";

/** What research is about: a token however it is written, or a question. */

const MINUTE = 60_000;
const WAYS = ["btc", "$BTC", "BTC/USDT", "Bitcoin", "$bitcoin", " btc/usd "];
const UNKNOWN = { error: "No source knows the token FOOBARX: name it by its symbol, such as BTC" };

const writings = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "research_result");
/** The foci of the results that are kept. */
const foci = async (app: App) =>
  (await app.rows("answers")).flatMap(({ key }) => (/^research:(.*)/.exec(key) ?? []).slice(1));

describe("a token", () => {
  test("means one focus, however it is written, in research, shifts, reports, signals and the market", async ({
    app,
  }) => {
    for (const token of WAYS) {
      expect([token, (await app.post("/mcp/research", { token })).status]).toEqual([token, 200]);
    }
    expect(await foci(app)).toEqual(["BTC"]);
    expect(writings(app)).toHaveLength(1);
    for (const token of WAYS) {
      const key = token.trim().toLowerCase();
      await app.post("/mcp/research/start", { userId: `a-user-of-${key}`, token });
      const query = `token=${encodeURIComponent(token)}`;
      expect(Object.keys((await app.get(`/mcp/signals/latest?${query}`)).body.signals ?? {})).toEqual([
        "BTC",
      ]);
      expect((await app.get(`/mcp/signals/history?${query}`)).status).toBe(200);
    }
    expect((await app.rows("shifts")).map(({ token }) => token)).toEqual(WAYS.map(() => "BTC"));
    await app.pass(2.75 * 60 * MINUTE, { cronsRun: false });
    for (const token of WAYS) {
      const { body } = await app.get(`/mcp/research/report?token=${encodeURIComponent(token)}`);
      expect(body.jobToken).toBe("BTC");
    }
  });

  test("of any listed coin may be named in words", async ({ app }) => {
    for (const token of [
      "Dogecoin",
      "DOGE",
      "doge/usdt",
      "shibainu",
      " Shiba  Inu",
      "bitcoin cash",
      "Pepe Coin",
    ]) {
      expect([token, (await app.post("/mcp/research", { token })).status]).toEqual([token, 200]);
    }
    expect(await foci(app)).toEqual(["DOGE", "SHIB", "BCH", "PEPE"]);
    for (const token of ["Dogecoin", "internet computer"])
      await app.post("/mcp/research/start", { userId: "alice", token });
    expect((await app.rows("shifts")).map(({ token }) => token)).toEqual(["DOGE", "ICP"]);
    for (const [name, symbol] of [
      ["Shiba%20Inu", "SHIB"],
      ["dogecoin", "DOGE"],
    ] as const) {
      expect((await app.get(`/research?token=${name}`)).text).toContain(`<h1>Research on ${symbol}</h1>`);
    }
  });

  test("named in words that no source knows is 404 everywhere, and no exchange is asked for it", async ({
    app,
  }) => {
    const unknown = { error: "No source knows the token FOO BAR X: name it by its symbol, such as BTC" };
    for (const { status, body } of [
      await app.post("/mcp/research", { token: "foo bar x" }),
      await app.post("/mcp/research/start", { userId: "alice", token: "Foo Bar X" }),
      await app.get("/mcp/research/report?token=foo%20bar%20x"),
    ])
      expect([status, body]).toEqual([404, unknown]);
    expect(app.standins.sent("llm")).toEqual([]);
    expect(app.standins.sent("coinbase").filter(({ path }) => path.includes("FOO"))).toEqual([]);
    expect(await app.rows("shifts")).toEqual([]);
  });

  test("that no source knows is 404, nothing is made, and the exchanges are asked once an hour", async ({
    app,
  }) => {
    const ask = async () => [
      await app.post("/mcp/research", { token: "foobarx" }),
      await app.post("/mcp/research/start", { userId: "alice", token: "$FOOBARX" }),
      await app.get("/mcp/research/report?token=FOOBARX/USDT"),
    ];
    for (const { status, body } of await ask()) expect([status, body]).toEqual([404, UNKNOWN]);
    expect(app.standins.sent("llm")).toEqual([]);
    expect(await app.rows("shifts")).toEqual([]);
    const asked = () => app.standins.sent("coinbase").filter(({ path }) => path.includes("FOOBARX"));
    expect(asked()).toHaveLength(1);
    await app.pass(50 * MINUTE, { cronsRun: false });
    expect((await ask()).map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(asked()).toHaveLength(1);
  });

  test("is taken as it is asked for while the sources that would know are out of reach", async ({ app }) => {
    for (const source of ["coinbase", "coingecko"] as const) {
      app.standins.fail(source, { mode: "status", status: 503 });
    }
    expect((await app.post("/mcp/research/start", { userId: "alice", token: "FOOBARX" })).status).toBe(200);
    expect((await app.get("/mcp/research/report?token=FOOBARX")).body).toEqual({
      error: expect.stringMatching(/^There is no research report on FOOBARX yet\./),
    });
    // A name is no focus: without a source nobody can say whose it is.
    const named = await app.post("/mcp/research/start", { userId: "alice", token: "Shiba Inu" });
    expect([named.status, named.body.error]).toEqual([
      502,
      "The market's sources cannot be asked whether SHIBA INU is traded",
    ]);
  });
});

test("a request for a private key gets the security message, and reaches no model", async ({ app }) => {
  const { status, body } = await app.post("/mcp/research", { token: "show me my private key" });
  expect([status, body]).toMatchObject([
    200,
    {
      answer: SECURITY_MESSAGE,
      result: { fullAnalysis: SECURITY_MESSAGE, marketOutlook: "neutral" },
    },
  ]);
  expect(app.standins.sent("llm")).toEqual([]);
});
