import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { getServiceUrl } from "../../scripts/proxy/commands";
import {
  built,
  connect,
  fakeService,
  hang,
  json,
  NODE,
  proxy,
  service,
  textOf,
  useProxy,
} from "../proxy/support";
import { temporaryDirectory } from "../stack/processes";

/** What clients of others were reported to do, each tried with the built proxy. */

useProxy();

const order = { userId: "u", token: "USDC", toAddress: `0x${"5".repeat(40)}`, amount: "25000000" };
const sent = { success: true, status: "confirmed", txHash: `0x${"ab".repeat(32)}`, ...order };

/** https://github.com/anthropics/claude-code/issues/79944 */
test("a client that passes only structuredContent to its model learns that a repeat moved nothing", async () => {
  service.answers(json(200, { ...sent, repeated: true, repeatedNote: "The same order was made" }));
  const { structuredContent } = await proxy.call("send_token", order);
  expect(structuredContent).toMatchObject({
    repeated: true,
    nothingMoved: true,
    notices: ["NOTHING was moved by this call. The same order was made."],
  });
});

/** https://github.com/anthropics/claude-code/issues/95239 and 91803 */
test.each(["null", "undefined", "None", "", " "])("%j for a key is no key", async (idempotencyKey) => {
  service.answers(json(200, sent));
  await proxy.call("send_token", { ...order, idempotencyKey });
  const [request] = service.received;
  expect(request?.headers.has("idempotency-key")).toBe(false);
  expect(request?.body).not.toContain("idempotencyKey");
});

/** https://github.com/chaitin/MonkeyCode/issues/1268 */
test("null in the envelope is as if it were left out", () => {
  const lines = [
    {
      id: 0,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "a", version: "1" },
        _meta: null,
      },
    },
    { method: "notifications/initialized", params: null },
    { id: 1, method: "tools/list", params: null },
    { id: 2, method: "tools/call", params: { name: "get_private_key", arguments: null, _meta: null } },
  ].map((one) => JSON.stringify({ jsonrpc: "2.0", ...one }));
  const out = execFileSync(NODE, [built.file], { input: `${lines.join("\n")}\n` }).toString();
  expect(out).toContain('"name":"set_telegram"');
  expect(out).toContain("There is no tool named get_private_key");
  expect(out.trim().split("\n")).toHaveLength(3);
});

/** https://github.com/modelcontextprotocol/servers/issues/3466 */
test("npx, which Windows cannot start by itself, is started by its shell there", async () => {
  const folder = path.join(await temporaryDirectory(), "_npx", "1");
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, "proxy.mjs");
  await copyFile(built.file, file);
  const shown = (platform: string) =>
    execFileSync(process.execPath, [
      ...["--import", `data:text/javascript,Object.defineProperty(process,"platform",{value:"${platform}"})`],
      ...[file, "install", "--client", "claude"],
    ]).toString();
  expect(shown("linux")).toContain('"command": "npx"');
  expect(shown("win32")).toMatch(/"command": "cmd",\s+"args": \[\s+"\/c",\s+"npx"/);
});

test("text and data of a failure say the same", async () => {
  service.answers(
    json(404, {
      error:
        "There is no report on SOL yet. POST /mcp/research answers at once, and POST /mcp/research/start has reports written over 8 hours; both are free. One of your own can be bought for 1.00 USDC on Base: POST https://a.example/agent/research/paid",
    }),
  );
  const result = await proxy.call("get_research_report", { token: "SOL" });
  expect(result.structuredContent).toEqual({ error: textOf(result) });
  expect(textOf(result)).toBe(
    "There is no report on SOL yet. run_research answers at once, and start_research has reports written over 8 hours; both are free",
  );
});

const questionShape = z.object({ question: z.string() });

describe("a line is what ends with a line feed:", () => {
  const HELLO = {
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "a", version: "1" } },
  };
  const calls = (id: number, name: string, input: object) => ({
    ...{ id, method: "tools/call" },
    params: { name, arguments: input },
  });
  const withVersion = (one: object) => ({ jsonrpc: "2.0", ...one });

  /** What the proxy answers to these bytes, by the ids. */
  async function answersTo(...lines: string[]): Promise<Map<unknown, Record<string, unknown>>> {
    const env = { ...process.env, NOELCLAW_CONVEX_URL: service.url };
    const child = spawn(NODE, [built.file], { env, stdio: ["pipe", "pipe", "ignore"] });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stdin.end(lines.join("\n"));
    await once(child, "close");
    const found = out
      .trim()
      .split("\n")
      .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
    return new Map(found.map((one) => [one["id"], one]));
  }

  /** https://github.com/openai/codex/issues/33617 and 45727: from Node 24 on, `readline` splits at U+2028, too. */
  test("texts with other marks of a line's end in them are answered", async () => {
    service.answers(json(200, { answer: "Fine.", agentId: "a", model: "m" }));
    const questions = ["\u2028", "\u2029", "\u0085", "\v", "\f"].map((mark) => `One${mark}two`);
    // JSON escapes the last two; the others stand there as they are.
    const lines = questions.map((question, at) =>
      JSON.stringify(withVersion(calls(at + 1, "ask_noel", { question }))),
    );
    const answers = await answersTo(JSON.stringify(withVersion(HELLO)), ...lines, "");
    for (const [at] of questions.entries())
      expect(answers.get(at + 1)).toMatchObject({ result: { structuredContent: { answer: "Fine." } } });
    const asked = service.received.map(({ body }) => questionShape.parse(JSON.parse(body)).question);
    expect(asked.toSorted()).toEqual(questions.toSorted());
  });

  /** https://github.com/modelcontextprotocol/typescript-sdk/issues/2796 */
  test("a byte order mark before any of them, carriage returns and a last line without its end are no hindrance", async () => {
    const answers = await answersTo(
      `\uFEFF${JSON.stringify(withVersion(HELLO))}\r`,
      `\uFEFF${JSON.stringify(withVersion({ id: 1, method: "ping" }))}\r`,
      "",
      JSON.stringify(withVersion({ id: 2, method: "ping" })),
    );
    expect([...answers.keys()]).toEqual([0, 1, 2]);
  });

  /** The protocol of 2025-03-26, to which the proxy agrees, has lists of messages. */
  test("each message of a list is answered", async () => {
    service.answers(json(200, { success: true, stopped: 2 }));
    const list = [calls(1, "stop_research", { userId: "u" }), { id: 2, method: "ping" }].map(withVersion);
    const answers = await answersTo(
      JSON.stringify(withVersion(HELLO)),
      JSON.stringify(list),
      "[]",
      "[1,",
      "",
    );
    expect(answers.get(0)).toMatchObject({ result: { protocolVersion: "2025-03-26" } });
    expect(answers.get(1)).toMatchObject({ result: { structuredContent: { stopped: 2 } } });
    expect(answers.get(2)).toMatchObject({ result: {} });
  });
});

/** https://github.com/geelen/mcp-remote/issues/319: of two long ids the last digits are lost before the proxy reads them. */
test.each(["get_portfolio", "create_wallet"])("%s refuses an id that no number can hold", async (name) => {
  service.answers(json(200, {}));
  const result = await proxy.call(name, { userId: Number("12345678901234567890") });
  expect([result.isError, textOf(result)]).toEqual([
    true,
    expect.stringMatching(/^userId is too large .* as text/),
  ]);
  expect(service.received).toEqual([]);
});

/** https://github.com/anthropics/claude-code/issues/80197 */
test.each([
  "${NOELCLAW_CONVEX_URL}",
  "${env:NOELCLAW_CONVEX_URL}",
  "$NOELCLAW_CONVEX_URL",
  "%NOELCLAW_CONVEX_URL%",
  "${user_config.service_url}",
  "{{url}}",
  "<your address>",
])("a placeholder that the client did not fill in is as if it were unset: %s", (setting) =>
  expect(getServiceUrl(setting, "https://built.in")).toBe("https://built.in"),
);

/** https://github.com/rollbar/rollbar-mcp-server/issues/83 */
test("where this machine has a proxy, what cannot be reached says how to use it", async () => {
  const gone = await fakeService();
  await gone.stop();
  const told: string[] = [];
  for (const used of ["0", "1"]) {
    const settings = `process.env.HTTPS_PROXY="http://127.0.0.1:9";process.env.NODE_USE_ENV_PROXY="${used}"`;
    const behind = await connect(built.file, gone.url, ["--import", `data:text/javascript,${settings}`]);
    told.push(textOf(await behind.call("get_market_data")));
    await behind.client.close();
  }
  expect(told[0]).toMatch(/could not be reached.*HTTPS_PROXY.*Node 24.*NODE_USE_ENV_PROXY=1/);
  expect(told[1]).toMatch(/could not be reached.*Set NOELCLAW_CONVEX_URL/);
});

/** https://github.com/livery-sh/livery/issues/47: what stands before a service answers in pages of its own. */
describe("a status without the service's words", () => {
  const page =
    (status: number, headers: Record<string, string> = {}) =>
    () =>
      new Response("<html>Oh no</html>", { status, headers: { "Content-Type": "text/html", ...headers } });
  test.each([
    [302, /^The service's address leads elsewhere \(302\)\. Set NOELCLAW_CONVEX_URL/, false],
    [403, /^Something before the service refuses/, false],
    [404, /^There is no such service at its address \(404\)\. Set NOELCLAW_CONVEX_URL/, false],
    [413, /^The input is too large \(413\): send less of it/, false],
    [429, /^The service gets too many requests \(429\)/, false],
    [502, /^The service is not available at the moment \(502\)/, true],
    [524, /^The service is not available at the moment \(524\)/, true],
  ] as const)(
    "%i is said in words, and blames the address only where it may be wrong",
    async (status, words, inDoubt) => {
      service.answers(page(status, status < 400 ? { Location: "https://example.com/" } : {}));
      const result = await proxy.call("send_token", order);
      const told = textOf(result);
      expect(told).toMatch(words);
      expect([told.includes("NOELCLAW_CONVEX_URL"), told.includes("is not known")]).toEqual([
        status === 302 || status === 404,
        inDoubt,
      ]);
    },
  );

  test("a date to come back is told in seconds, and one that has passed is not told", async () => {
    const at = (ms: number) => ({ "Retry-After": new Date(Date.now() + ms).toUTCString() });
    service.answers(json(429, { error: "Too many" }, at(90_000)));
    expect(textOf(await proxy.call("get_market_data"))).toMatch(/^Too many \(try again in (?:8\d|9\d) s\)$/);
    service.answers(json(429, { error: "Too many" }, at(-90_000)));
    expect(textOf(await proxy.call("get_market_data"))).toBe("Too many");
    service.answers(page(503, { "Retry-After": "7" }));
    expect(textOf(await proxy.call("get_market_data"))).toMatch(
      /^The service is not .* \(try again in 7 s\)$/,
    );
  });
});

test("a client that asks for it is told that a long call goes on", async () => {
  service.answers(hang);
  const controller = new AbortController();
  const seen: unknown[] = [];
  const onprogress = (progress: unknown) => {
    seen.push(progress);
    controller.abort("Seen enough");
  };
  const options = { signal: controller.signal, onprogress };
  await expect(proxy.client.callTool({ name: "run_research", arguments: {} }, options)).rejects.toThrow(
    "Seen enough",
  );
  expect(seen).toEqual([{ progress: expect.any(Number), total: 28, message: "Research now: at work" }]);
});

test.each([
  ["codex", '[mcp_servers.market-research]\ncommand = "'],
  ["gemini", '"mcpServers": {'],
  ["zed", '"context_servers": {\n    "market-research": {\n      "source": "custom"'],
])("install says what %s takes", (name, words) => {
  const env = { ...process.env, NOELCLAW_CONVEX_URL: "https://a.example" };
  const shown = execFileSync(NODE, [built.file, "install", "--client", name], { env }).toString();
  expect(shown).toContain(words);
  expect(shown).toContain(
    name === "codex" ? '[mcp_servers.market-research.env]\nNOELCLAW_CONVEX_URL = "https://a' : '"env": {',
  );
});
