import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { endpoints } from "../../convex/endpoints";
import { sha256Hex } from "../../convex/lib/crypto";
import { callTool } from "../../convex/tools/calls";
import { stdioTools, tools } from "../../convex/tools/list";
import { readAnswer, buildRequest } from "../../convex/tools/requests";
import { chain, useChain, usdcOf } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { keyOf, newest, owner, say, send, signed, tap, test } from "../support/owners";

/** The tools at an address, as clients reach them: by the official ones, and by the wire. */

useChain();

const URL_OF = "https://some.convex.site/mcp";
const fetchFrom =
  (app: WalletApp, ip = "192.0.2.7") =>
  (url: string | URL, init?: RequestInit) => {
    const { pathname, search } = new URL(url);
    return app.t.withRequestMetadata({ ip, userAgent: null }).fetch(pathname + search, init);
  };

const resultShape = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string() })),
  structuredContent: z.record(z.string(), z.unknown()),
});
type Options = { userId?: string; headers?: Record<string, string>; ip?: string };

/** One message by the wire, as of November 2025. */
async function post(app: WalletApp, message: unknown, { userId, headers = {}, ip }: Options = {}) {
  const url = userId === undefined ? URL_OF : `${URL_OF}?userId=${userId}`;
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const response = await fetchFrom(app, ip)(url, { method: "POST", headers, body });
  const text = await response.text();
  const json = text.replace(/^event: message\ndata: /, "");
  const answer = json === "" ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(json));
  return { status: response.status, type: response.headers.get("content-type"), answer };
}

const rpc = (method: string, params?: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });

async function call(app: WalletApp, name: string, input: object = {}, options: Options = {}) {
  const { status, answer } = await post(app, rpc("tools/call", { name, arguments: input }), options);
  const { isError = false, content, structuredContent } = resultShape.parse(answer.result);
  return { status, isError, text: content.map(({ text }) => text).join("\n"), data: structuredContent };
}

const listed = z.object({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      inputSchema: z.looseObject({ properties: z.record(z.string(), z.unknown()) }),
    }),
  ),
});
const list = async (app: WalletApp, options?: Options) =>
  listed.parse((await post(app, rpc("tools/list"), options)).answer.result).tools;

test("a new person's session: a wallet, an owner, an order that waits for a tap, one transaction", async ({
  app,
}) => {
  expect((await list(app)).map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  expect((await call(app, "get_market_data")).isError).toBe(false);
  const made = await call(app, "connect_wallet");
  const { userId, toolsUrl, address } = z
    .object({ userId: z.string().min(22), toolsUrl: z.string(), address: z.string() })
    .parse(made.data);
  expect(toolsUrl).toBe(`${URL_OF}?userId=${userId}`);
  expect(made.text).toContain(toolsUrl);
  expect(made.text).toMatch(/\bown/i);
  const alert = { text: "BTC above 150k" };
  expect((await call(app, "set_alert", alert, { userId })).text).toContain("nobody yet: set_telegram says");
  // From then on no tool asks for the id.
  const own = await list(app, { userId });
  expect(own.filter(({ inputSchema }) => "userId" in inputSchema.properties)).toEqual([]);
  const order = { fromToken: "USDC", toToken: "DAI", amount: "5000000" };
  const poor = await call(app, "swap_tokens", order, { userId });
  expect([poor.isError, poor.text]).toEqual([true, expect.stringContaining("5")]);
  const others = await call(app, "swap_tokens", { ...order, userId: "alice" }, { userId });
  expect([others.isError, others.text]).toEqual([true, expect.stringContaining("names another userId")]);
  expect(poor.data).toMatchObject({ nothingMoved: true });
  await chain.fund(z.templateLiteral(["0x", z.string()]).parse(address), {
    ETH: 10n ** 18n,
    USDC: 9_000_000n,
  });
  const done = await call(app, "swap_tokens", order, { userId });
  expect(done.data).toMatchObject({ success: true });
  const again = await call(app, "swap_tokens", order, { userId });
  expect(again.data).toMatchObject({ repeated: true, txHash: done.data.txHash });
  expect(again.text).toContain("idempotencyKey");
  expect(await signed(app)).toHaveLength(1);
  expect(JSON.stringify(app.logged)).not.toContain(userId);
});

test("with an owned id in the address the owner's tap decides; a key needs no id, and opens what it may", async ({
  app,
}) => {
  const { userId, browser } = await owner(app);
  const order = { token: "USDC", amount: "25000000", toAddress: send(userId).toAddress };
  const [first, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => call(app, "send_token", order, { userId })),
  );
  expect([first?.isError, first?.data.status]).toEqual([false, "awaiting_approval"]);
  // An owned id has ten places to wait in.
  const refusals = others.filter(({ isError }) => isError).map(({ text }) => text);
  expect(refusals.filter((text) => !text.includes("waiting for an answer"))).toEqual([]);
  await tap(app, "✅ Approve");
  await app.settle();
  const after = await call(app, "send_token", order, { userId });
  expect(after.data).toMatchObject({ success: true, repeated: true });
  expect(await usdcOf(order.toAddress)).toBe(25_000_000n);

  const alert = await call(app, "set_alert", { text: "BTC above 150k" }, { userId });
  expect([alert.isError, alert.text]).toEqual([false, expect.stringContaining("asked in their chat")]);
  // What is to be known of an owned id is said once.
  const asked = await call(app, "get_wallet_balance", {}, { userId });
  expect(asked.text.split(String(asked.data.ownedNote))).toHaveLength(2);
  expect(await newest(app)).toContain("Somebody who knows your account id");
  await tap(app, "Set");

  const { key } = await keyOf(app, browser, ["read"]);
  const reading = { headers: { authorization: `Bearer ${key}` } };
  const seen = await list(app, reading);
  const withheld = tools.map(({ name }) => name).filter((name) => !seen.some((one) => one.name === name));
  const withoutScope =
    "start_research stop_research connect_wallet swap_tokens send_token create_wallet set_telegram set_paper set_alert set_standing_order stop_alert";
  expect(withheld.join(" ")).toBe(withoutScope);
  for (const name of ["get_wallet_balance", "get_portfolio", "get_latest_signal", "get_whale_alerts"])
    expect([name, (await call(app, name, {}, reading)).isError]).toEqual([name, false]);
  const alerts = await call(app, "list_alerts", {}, reading);
  expect(alerts.data).toMatchObject({
    alerts: [{ state: "active", words: expect.stringContaining("150,000") }],
  });
  expect(alerts.text).toContain("standing: none");
  const refused = await call(app, "send_token", order, reading);
  expect([refused.status, refused.isError, refused.text]).toEqual([
    200,
    true,
    expect.stringContaining("only reads"),
  ]);
  const other = await call(
    app,
    "get_wallet_balance",
    { userId: (await owner(app, { ETH: 1n }, 43)).userId },
    reading,
  );
  expect([other.isError, other.text]).toEqual([true, expect.stringContaining("belongs to another user")]);
  const wrong = { headers: { authorization: `Bearer mk_${"0".repeat(64)}` } };
  expect(await list(app, wrong)).toHaveLength(tools.length);
  expect(await call(app, "get_market_data", {}, wrong)).toMatchObject({ status: 200, isError: true });
});

test("both official clients, in both eras, are told what the stdio proxy's are", async ({ app }) => {
  const fetch = fetchFrom(app);
  const url = new URL(`${URL_OF}?userId=alice`);
  const old = new Client({ name: "tests", version: "1.0.0" });
  await old.connect(new StreamableHTTPClientTransport(url, { fetch }));
  const clients = [old];
  const modes = [undefined, { mode: "auto" as const }, { mode: { pin: "2026-07-28" } }];
  const newClients = await Promise.all(
    modes.map(async (versionNegotiation) => {
      const options = versionNegotiation === undefined ? {} : { versionNegotiation };
      const client = new NewClient({ name: "tests", version: "1.0.0" }, options);
      await client.connect(new NewTransport(url, { fetch }));
      return client;
    }),
  );
  await app.fundedWallet("alice", { ETH: 10n ** 18n });
  const overStdio = (name: string, input: object) => {
    const tool = stdioTools.find((one) => one.name === name);
    if (tool === undefined) throw new Error(name);
    return callTool(tool, { ...input, userId: "alice" }, async (request) => {
      const { url: path, init } = buildRequest("", request);
      return readAnswer(await app.t.fetch(path, init), String);
    });
  };
  for (const [name, input] of [
    ["get_wallet_balance", {}],
    ["get_research_status", {}],
    ["get_signal_history", {}],
    ["get_research_report", { token: "BTC" }],
    ["swap_tokens", { fromToken: "USDC", toToken: "DAI", amount: "1" }],
    ["send_token", { token: "XYZ" }],
  ] as const) {
    const expected = await overStdio(name, input);
    for (const client of clients) expect(await client.callTool({ name, arguments: input })).toEqual(expected);
    for (const client of newClients)
      expect(await client.callTool({ name, arguments: input })).toMatchObject(expected);
  }
  for (const client of [...clients, ...newClients]) await client.close();
});

describe("by the wire", () => {
  test("any Accept, content type and null is understood; lists, GET and DELETE are refused; nothing is a 401", async ({
    app,
  }) => {
    const initialize = rpc("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "wire", version: "1" },
      _meta: null,
    });
    for (const [accept, type] of [
      [undefined, "application/json"],
      ["application/json", "application/json"],
      ["text/event-stream", "text/event-stream"],
      ["text/event-stream, application/json", "application/json"],
      ["*/*", "application/json"],
    ] as const) {
      const headers = {
        "content-type": "text/plain",
        origin: "https://claude.ai",
        ...(accept === undefined ? {} : { accept }),
      };
      const { status, answer, type: told } = await post(app, initialize, { headers });
      expect([accept, status, told]).toEqual([accept, 200, expect.stringContaining(type)]);
      expect(answer.result).toMatchObject({ protocolVersion: "2025-06-18" });
    }
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized", params: null };
    expect((await post(app, initialized)).status).toBe(202);
    expect((await post(app, [rpc("tools/list")])).status).toBe(400);
    expect((await post(app, "{")).status).toBe(400);
    const version = { headers: { "mcp-protocol-version": "1999-01-01" } };
    expect((await post(app, rpc("tools/list"), version)).status).toBe(400);
    const large = JSON.stringify(rpc("tools/call", { name: "x".repeat(1_100_000) }));
    expect((await post(app, large)).status).toBe(413);
    for (const method of ["GET", "DELETE"]) {
      const response = await fetchFrom(app)(URL_OF, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([
        405,
        expect.stringContaining("POST"),
      ]);
    }
    const unknown = await post(app, rpc("tools/call", { name: "print_keys", arguments: null }));
    expect([unknown.status, unknown.answer.error]).toMatchObject([200, { code: -32_602 }]);
    expect(await call(app, "get_portfolio", { userId: "" })).toMatchObject({ status: 200, isError: true });
    // What a client has not filled in names nothing and nobody.
    const blank = { headers: { authorization: "Bearer ", "x-user-id": " " } };
    expect((await call(app, "connect_wallet", { userId: "null" }, blank)).data).toHaveProperty("toolsUrl");
    const beside = await call(app, "get_wallet_balance", {}, { userId: "alice", ...blank });
    expect(beside.text).toContain("No wallet was found");
  });

  test("strangers who wait behind an address refuse nobody who shows an owned id or a key", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const { key } = await keyOf(app, browser, ["read"]);
    await app.t.run(async ({ db }) => {
      const { sha256Hex } = await import("../../convex/lib/crypto");
      const address = sha256Hex("address:192.0.2.7");
      for (let shard = 0; shard < 30; shard++)
        await db.insert("slots", { shard, address, until: Date.now() + 60_000 });
    });
    const question = { question: "How is BTC?" };
    const stranger = await call(app, "ask_noel", question);
    expect([stranger.isError, stranger.text]).toEqual([true, expect.stringContaining("network address")]);
    expect((await call(app, "ask_noel", question, { userId })).isError).toBe(false);
    const headers = { authorization: `Bearer ${key}` };
    expect((await call(app, "ask_noel", question, { headers })).isError).toBe(false);
    // A key says nothing about an id that is none of its account's, however that is written.
    const mayAct = await keyOf(app, browser, ["withdraw"]);
    const wallets = { name: "wallet" as const, caller: { address: "192.0.2.7" } };
    for (let n = 0; n < 60; n++) await app.t.mutation(internal.platform.limits.charges.takeCharge, wallets);
    for (const other of [7, ["a"], "7"]) {
      const { isError, text } = await call(app, "get_portfolio", { userId: other }, mayAct.init);
      expect([other, isError, text]).toEqual([other, true, expect.stringContaining("new wallets")]);
    }
  });
});

test("the id of an owned account alone uses up no share of its owner's, and asks ten times a day for alerts", async ({
  app,
}) => {
  const { userId } = await owner(app);
  expect((await call(app, "ask_noel", { question: "How is BTC?" }, { userId })).isError).toBe(false);
  await app.settle();
  const holders = (await app.rows("spending")).map(({ of }) => of);
  expect(holders).toContain(sha256Hex(`named:${userId}`));
  expect(holders).not.toContain(sha256Hex(`own:${userId}`));

  await say(app, "tell me when ETH is above 9000");
  const until = new Date(Date.now() + 60_000).toISOString();
  const same = await call(app, "set_alert", { text: "ETH above 9000", once: true, until }, { userId });
  expect(same.isError).toBe(false);
  await tap(app, "Set");
  const [alert] = await app.rows("alerts");
  expect(alert).toMatchObject({ state: "active" });
  expect([alert?.once, alert?.until]).toEqual([undefined, undefined]);
  // What would take its place says how it differs.
  await call(app, "set_alert", { text: "ETH above 9000", once: true, until }, { userId });
  expect(await newest(app)).toMatch(/asks for an alert[^]*I'll tell you once\.\nIt ends on /);
  await tap(app, "No");
  const answers: string[] = [];
  for (let level = 200; level < 210; level++) {
    const { text } = await call(app, "set_alert", { text: `BTC above ${level}k` }, { userId });
    answers.push(text.includes("asked in their chat") ? "asked" : text);
    for (const { _id: alertId, state } of await app.rows("alerts"))
      if (state === "proposed") await app.t.mutation(internal.alerts.proposals.endAlert, { userId, alertId });
  }
  expect(answers).toEqual([
    ...Array<string>(9).fill("asked"),
    expect.stringContaining("ten alerts in a day"),
  ]);
  await app.settle();
});

test("each tool's endpoint exists", () => {
  for (const { name, method, path } of tools)
    expect([name, endpoints.some((one) => one.path === path && one.methods.includes(method))]).toEqual([
      name,
      true,
    ]);
});
