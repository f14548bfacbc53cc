import { describe, expect } from "vitest";
import { test } from "../support/app";

/** Public bug reports about servers that refuse a good request for how its client writes it, each tried here. */

/** https://github.com/eXist-db/exist/issues/1698, https://github.com/gocd/gocd/issues/7480: Java's own `Accept`. */
describe("a failure is JSON for a program, whatever its library accepts by default, and a page for a browser:", () => {
  const JAVA = "text/html, image/gif, image/jpeg, */*; q=.2";
  const BROWSERS = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  test.for([
    ["Java's HttpURLConnection", { Accept: JAVA }, "application/json"],
    ["a script that wants text", { Accept: "text/html,*/*;q=0.8" }, "application/json"],
    ["a script in a page", { Accept: "*/*", "Sec-Fetch-Mode": "cors" }, "application/json"],
    ["an earlier browser", { Accept: BROWSERS }, "text/html; charset=utf-8"],
    [
      "a browser that names no type",
      { Accept: "*/*", "Sec-Fetch-Mode": "navigate" },
      "text/html; charset=utf-8",
    ],
  ] as const)("%s", async ([, headers, media], { app }) => {
    const failed = await app.get("/mcp/token", { headers });
    expect([failed.status, failed.headers.get("content-type")]).toEqual([400, media]);
  });
});

/** https://github.com/PowerShell/PowerShell/issues/7618: a body that is not in UTF-8, with its charset and without. */
describe("a body in another charset", () => {
  const QUESTION = "Was kostet ein Kaffee in Köln, in Bitcoin?";
  const latin1 = Uint8Array.from(JSON.stringify({ question: QUESTION }), (char) => char.charCodeAt(0));
  const utf16 = Uint8Array.from(
    Array.from(`\ufeff${JSON.stringify({ question: QUESTION })}`).flatMap((char) => [
      char.charCodeAt(0) & 0xff,
      char.charCodeAt(0) >> 8,
    ]),
  );
  test.for([
    ["application/json; charset=ISO-8859-1", latin1],
    ['application/json;charset="windows-1252"', latin1],
    ["application/json; charset=utf-16", utf16],
    ["application/json", utf16],
    ["application/json; charset=utf8mb4", new TextEncoder().encode(JSON.stringify({ question: QUESTION }))],
  ] as const)("is read as %s", async ([type, body], { app }) => {
    const { status } = await app.post("/mcp/chat", undefined, { body, headers: { "Content-Type": type } });
    const isRead = JSON.stringify(app.standins.sent("llm")).includes(QUESTION);
    expect([status, isRead]).toEqual([200, true]);
  });

  test("that it does not name is refused, and reaches no model", async ({ app }) => {
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "text/plain; charset=nonsense",
    ]) {
      const headers = { "Content-Type": type };
      const { status, body } = await app.post("/mcp/chat", undefined, { body: latin1, headers });
      expect([status, body.error]).toEqual([
        400,
        expect.stringMatching(
          /^The request body is not readable as .*: send it in UTF-8, or name its charset/,
        ),
      ]);
    }
    expect(app.standins.sent("llm")).toEqual([]);
  });
});

/**
 * https://github.com/anthropics/claude-code/issues/22394 (lists as text), https://github.com/geelen/mcp-remote/issues/319
 * (numbers for text), https://github.com/steipete/mcporter/issues/63 (text for all).
 */
describe("a value in another JSON type means what it says:", () => {
  const turns = [{ role: "user", content: "What of the halving?" }];
  test("a list as text, a list of texts, and a number in a turn", async ({ app }) => {
    for (const messages of [
      JSON.stringify(turns),
      ` ${JSON.stringify(turns, null, 2)}\n`,
      turns.map((turn) => JSON.stringify(turn)),
      [{ role: "user", content: 2024 }],
    ]) {
      const { status, body } = await app.post("/mcp/chat", { question: "And now?", messages });
      expect([messages, status, body.error]).toEqual([messages, 200, undefined]);
    }
    const asked = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
    expect(asked.filter((one) => JSON.stringify(one).includes("What of the halving?"))).toHaveLength(3);
  });

  test("a whole number is its digits, in the body as in the query: one id, one wallet", async ({ app }) => {
    const { body } = await app.post("/mcp/wallet/create", { userId: 424242 });
    expect(body).toMatchObject({ existing: false });
    const again = await app.post("/mcp/wallet/create", { userId: "424242" });
    expect(again.body).toMatchObject({ address: body.address, existing: true });
    const connected = await app.get("/mcp/defi/connect?userId=424242");
    const posted = await app.post("/mcp/defi/connect", { userId: 424242 });
    expect(posted.body).toMatchObject({ address: connected.body.address, existing: true });
  });

  test("of an amount, too; what no JSON number can hold, or no amount is, says what to send", async ({
    app,
  }) => {
    const to = { userId: "alice", token: "USDC", toAddress: `0x${"5".repeat(40)}` };
    const send = (amount: string) =>
      app.call("POST", "/mcp/defi/send", { body: JSON.stringify(to).replace(/\}$/, `,"amount":${amount}}`) });
    expect(await send("1000000")).toMatchObject({ status: 404 });
    for (const amount of ["9007199254740993", "1e21", "100000000000000000000"])
      expect(await send(amount)).toMatchObject({
        status: 400,
        body: {
          error:
            "amount is too large for a JSON number, which loses its last digits: send it as text, in quotes",
        },
      });
    expect(await send("2.5")).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^amount must be a whole number of digits/) },
    });
    const long = await app.call("POST", "/mcp/wallet/create", { body: '{"userId":12345678901234567890}' });
    expect([long.status, long.body.error]).toEqual([
      400,
      expect.stringMatching(/^userId is too large .* as text/),
    ]);
  });

  test("true and false, numbers and lists as text, in whatever depth", async ({ app }) => {
    const swap = { userId: "alice", fromToken: "USDC", toToken: "ETH", amount: 25_000_000 };
    const rehearsal = await app.post("/mcp/defi/swap", { ...swap, slippageBps: "50", dryRun: "true" });
    expect([rehearsal.status, rehearsal.body.error]).not.toEqual([400, expect.anything()]);
    const condition = { kind: "price", token: "btc", direction: "above", levelUsd: "120000" };
    for (const sent of [condition, JSON.stringify(condition)]) {
      const { status, body } = await app.post("/alerts", { userId: "alice", condition: sent, once: "false" });
      expect([status, body]).toMatchObject([
        200,
        { alert: { condition: { levelUsd: 120_000 }, once: false } },
      ]);
    }
  });

  test("a token is a question about it", async ({ app }) => {
    const asked = await app.get("/mcp/token?token=SOL");
    expect([asked.status, asked.body]).toMatchObject([200, { question: "SOL", token: { symbol: "SOL" } }]);
  });

  test("what is no such value is refused as before", async ({ app }) => {
    for (const [fields, error] of [
      [{ userId: "a", messages: "hello" }, "messages must be an array of turns"],
      [{ messages: "[1, 2" }, "messages must be an array of turns"],
      [{ messages: '["hello"]' }, "messages.0 must be an object with role and content"],
      [{ userId: true }, "userId must be a string"],
      [{ userId: 1.5 }, "userId must be a string"],
    ] as const) {
      const { status, body } = await app.post("/mcp/chat", { question: "q", ...fields });
      expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
    }
  });
});

test("an alert's field that is wrong is named, with what it may be", async ({ app }) => {
  const refused = async (condition: object) =>
    (await app.post("/alerts", { userId: "user-of-wrong-alerts-6f1c0a", condition })).body.error;
  const price = { kind: "price", token: "BTC", direction: "above", levelUsd: 1 };
  expect(await refused({ ...price, kind: "prize" })).toBe(
    "condition.kind must be one of price, change, funding, flow, digest, research",
  );
  expect(await refused({ ...price, direction: "up" })).toBe(
    "condition.direction must be one of above, below",
  );
  expect(await refused({ ...price, more: 1 })).toBe("more is not a field of condition");
  expect(
    (await app.post("/webhooks", { userId: "user-of-wrong-alerts-6f1c0a", url: "http://localhost:3000" }))
      .body.error,
  ).toMatch(/^url must be an https address with a public name: .* tunnel/);
});
