import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, readlink } from "node:fs/promises";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { JSONRPCMessageSchema, LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { until } from "../support/waits";
import { buildProxy, fakeService, hang, HASTENED, json, type Built, type FakeService } from "./support";

/** The built proxy as a process: its setting, its streams, its end. */

let built: Built;
let service: FakeService;
beforeAll(async () => {
  built = await buildProxy();
  service = await fakeService();
});
afterAll(async () => {
  await service.stop();
  await built.remove();
});

const HELLO = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const READY = { jsonrpc: "2.0", method: "notifications/initialized" };
const call = (id: number, name: string, input: object) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input },
});

function start(env: Record<string, string>, nodeOptions: readonly string[] = []) {
  const child = spawn(process.execPath, [...nodeOptions, built.file], {
    env: { ...getDefaultEnvironment(), ...env },
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (out.stderr += text));
  const ended = once(child, "close").then(([code]) => ({ code: Number(code), ...out }));
  return { child, out, ended };
}

/** Sends the messages, closes stdin, and waits for the process to end by itself. */
async function run(env: Record<string, string>, ...messages: (object | string)[]) {
  const { child, ended } = start(env);
  const lines = messages.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  return ended;
}

describe("the setting", () => {
  test.each([
    ["ftp://example.com", "must be an address that begins with http:// or https://"],
    ["not an address", "is not an address such as https://example.convex.site"],
    ["example.com", "is not an address such as https://example.convex.site"],
    ["https://alice:secret@example.com", "must not hold a user name or password"],
    ["https://example.com/?key=1", "must be an address without ? and #"],
  ])("%s is refused at the start", async (address, problem) => {
    const { code, stdout, stderr } = await run({ NOELCLAW_CONVEX_URL: address }, HELLO);
    expect([code, stdout, stderr]).toEqual([1, "", `NOELCLAW_CONVEX_URL ${problem}\n`]);
  });

  test.each([{}, { NOELCLAW_CONVEX_URL: "" }, { NOELCLAW_CONVEX_URL: "  " }])(
    "left empty means the address in package.json: %j",
    async (env: Record<string, string>) => {
      const file = await readFile(new URL("../../package.json", import.meta.url), "utf8");
      expect(file).toContain('"serviceUrl": "http://127.0.0.1:3211"');
      expect(await readFile(built.file, "utf8")).toContain("http://127.0.0.1:3211");
      const { code, stderr } = await run(env, HELLO, READY);
      expect([code, stderr]).toEqual([0, ""]);
    },
  );
});

describe("the protocol", () => {
  const answersOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
  const hello = (protocolVersion: string) => ({ ...HELLO, params: { ...HELLO.params, protocolVersion } });

  test.each([
    ["2024-11-05", "2024-11-05"],
    [LATEST_PROTOCOL_VERSION, LATEST_PROTOCOL_VERSION],
    ["2199-01-01", LATEST_PROTOCOL_VERSION],
  ])("asked for version %s agrees on %s", async (asked, agreed) => {
    const { stdout } = await run({}, hello(asked));
    expect(answersOf(stdout)).toEqual([
      expect.objectContaining({ id: 0, result: expect.objectContaining({ protocolVersion: agreed }) }),
    ]);
  });

  test("answers a ping, and tells what it does not know or cannot read", async () => {
    const { stdout } = await run(
      {},
      HELLO,
      { jsonrpc: "2.0", id: "p", method: "ping" },
      { jsonrpc: "2.0", id: 2, method: "resources/list" },
      { jsonrpc: "2.0", id: 3, method: "constructor" },
      { jsonrpc: "2.0", id: 4, method: "tools/call", params: { arguments: {} } },
      { jsonrpc: "2.0", method: "notifications/of-nothing" },
      { jsonrpc: "2.0", id: 9, result: {} },
    );
    expect(answersOf(stdout)).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "p", result: {} },
        { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "There is no method resources/list" } },
        { jsonrpc: "2.0", id: 3, error: { code: -32601, message: "There is no method constructor" } },
        {
          jsonrpc: "2.0",
          id: 4,
          error: { code: -32602, message: "Invalid parameters: name is missing or wrong" },
        },
      ]),
    );
    expect(answersOf(stdout)).toHaveLength(5);
  });

  test("answers whatever asks something, also what it cannot read, and batches with one line", async () => {
    const ping = (id: unknown) => ({ jsonrpc: "2.0", id, method: "ping" });
    const { stdout } = await run(
      {},
      JSON.stringify([ping(1), { jsonrpc: "2.0", method: "notifications/of-nothing" }, 5, ping("two")]),
      JSON.stringify([{ jsonrpc: "2.0", method: "notifications/of-nothing" }]),
      "[]",
      "",
      "{ half",
      { ...ping(3), params: null },
      { ...ping(4), params: [1] },
      { ...ping(5), jsonrpc: "1.0" },
      { jsonrpc: "2.0", id: 6 },
      ping(null),
      "7",
      JSON.stringify(ping(7)).replace("7", "9007199254740993"),
    );
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => z.unknown().parse(JSON.parse(line)));
    const failure = (code: number, id?: number) => ({
      jsonrpc: "2.0",
      ...(id === undefined ? {} : { id }),
      error: { code, message: expect.any(String) },
    });
    const pong = (id: number | string) => ({ jsonrpc: "2.0", id, result: {} });
    expect(lines).toHaveLength(10);
    expect(lines).toEqual(
      expect.arrayContaining([
        [pong(1), failure(-32600), pong("two")],
        failure(-32700),
        failure(-32602, 3),
        failure(-32602, 4),
        failure(-32600, 5),
        failure(-32600, 6),
        // To what has no id that could be repeated: [], an id that is null or would be rounded, and a number.
        failure(-32600),
      ]),
    );
  });

  test("serves each request of 2026-07-28 by itself, and the older versions beside it", async () => {
    const modern = (id: number, method: string, params: object = {}, version = "2026-07-28") => ({
      jsonrpc: "2.0",
      id,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": version,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    const { stdout } = await run(
      {},
      modern(1, "tools/list"),
      modern(2, "server/discover", {}, "1900-01-01"),
      { jsonrpc: "2.0", id: 3, method: "server/discover" },
      modern(4, "ping"),
      modern(5, "initialize", HELLO.params),
      HELLO,
    );
    const answers = new Map(answersOf(stdout).map((one) => ["id" in one ? one.id : null, one]));
    expect(answers.get(1)).toMatchObject({
      result: {
        resultType: "complete",
        ttlMs: 3_600_000,
        cacheScope: "public",
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "market-research-signals-wallets" } },
      },
    });
    expect(answers.get(2)).toMatchObject({
      error: {
        code: -32022,
        data: { supported: expect.arrayContaining(["2026-07-28", "2025-11-25"]), requested: "1900-01-01" },
      },
    });
    expect(answers.get(3)).toMatchObject({ error: { code: -32602 } });
    expect(answers.get(4)).toMatchObject({ error: { code: -32601 } });
    expect(answers.get(5)).toMatchObject({ error: { code: -32601 } });
    expect(answers.get(0)).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    expect(answers.get(0)).not.toHaveProperty("result.resultType");
  });

  test("a client that is pinned to 2026-07-28 discovers, lists and calls", async () => {
    service.answers(json(200, { success: true, stopped: 2 }));
    const client = new ModernClient(
      { name: "tests", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(
      new ModernTransport({
        command: process.execPath,
        args: [built.file],
        env: { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: service.url },
      }),
    );
    try {
      expect(client.getDiscoverResult()).toMatchObject({ capabilities: { tools: {} } });
      expect((await client.listTools()).tools).toHaveLength(19);
      const result = await client.callTool({ name: "stop_research", arguments: { userId: "u" } });
      expect(result).toMatchObject({ structuredContent: { success: true, stopped: 2 } });
    } finally {
      await client.close();
    }
  });

  test("takes messages in pieces, cut inside a character too", async () => {
    service.answers(json(200, { success: true, stopped: 1 }));
    const { child, out, ended } = start({ NOELCLAW_CONVEX_URL: service.url });
    const bytes = Buffer.from(`${JSON.stringify(call(1, "stop_research", { userId: "ü" }))}\r\n`);
    const inside = bytes.indexOf("ü") + 1;
    child.stdin.write(bytes.subarray(0, inside));
    await new Promise((resolve) => setImmediate(resolve));
    child.stdin.write(bytes.subarray(inside));
    await until(() => out.stdout.includes('"stopped":1'));
    expect(service.received[0]?.body).toBe('{"userId":"ü"}');
    child.stdin.end();
    await ended;
  });

  test("refuses a message that is too long, and answers those behind it, the last one without a line end too", async () => {
    const { child, ended } = start({});
    const ping = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
    child.stdin.end(`\ufeff${ping(1)}\n${"x".repeat(11_000_000)}\n${ping(2)}\n${ping(3)}`);
    const { code, stdout } = await ended;
    expect([code, answersOf(stdout)]).toEqual([
      0,
      [
        { jsonrpc: "2.0", id: 1, result: {} },
        { jsonrpc: "2.0", error: { code: -32600, message: "A message has at most 10000000 characters" } },
        { jsonrpc: "2.0", id: 2, result: {} },
        { jsonrpc: "2.0", id: 3, result: {} },
      ],
    ]);
    const half = start({});
    half.child.stdin.end('{"jsonrpc":"2.0","id":1,"met');
    expect(answersOf((await half.ended).stdout)).toMatchObject([{ error: { code: -32700 } }]);
  });

  test("needs so little code that Node has read it at once", async () => {
    expect((await readFile(built.file)).byteLength).toBeLessThan(250_000);
  });
});

describe("the process", () => {
  test("writes protocol lines alone, whatever it is sent", async () => {
    service.answers(json(200, { success: true, stopped: 2 }));
    const { code, stdout, stderr } = await run(
      { NOELCLAW_CONVEX_URL: service.url },
      HELLO,
      READY,
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      "this is no message",
      call(2, "stop_research", { userId: "u" }),
      call(3, "no_such_tool", {}),
      call(4, "ask_noel", { question: "show me my private key" }),
    );
    const messages = stdout.trimEnd().split("\n");
    const parsed = messages.map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
    expect(parsed.map((one) => ("id" in one ? one.id : null)).toSorted()).toEqual([0, 1, 2, 3, 4, null]);
    expect(code).toBe(0);
    expect(stderr).toBe("");
  });

  test("ends when its client closes stdin, some seconds after a call that hangs at the latest", async () => {
    service.answers(hang);
    // Its grace is over at once; the tool's own deadline, which would end it as well, never comes.
    const { child, ended } = start({ NOELCLAW_CONVEX_URL: service.url }, HASTENED);
    const order = { userId: "u", toAddress: `0x${"1".repeat(40)}`, token: "ETH", amount: "1" };
    const asked = [HELLO, READY, call(1, "run_research", {}), call(2, "send_token", order)];
    child.stdin.write(`${asked.map((one) => JSON.stringify(one)).join("\n")}\n`);
    await until(() => service.received.length === 2);
    child.stdin.end();
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    // Nothing that was asked stays without an answer, and what may have moved has a key to find out with.
    const [key = "none"] = service.received.flatMap(({ headers }) => headers["idempotency-key"] ?? []);
    const answers = stdout.trimEnd().split("\n");
    const toSend = answers.find((line) => line.includes("Whether it was carried out is not known"));
    expect(toSend).toContain(key);
    expect(answers.some((line) => line.includes('"error":{"code":-32603'))).toBe(true);
  });

  test.runIf(process.platform === "linux")("listens nowhere", async () => {
    service.answers(json(200, { success: true, stopped: 0 }));
    const { child, out, ended } = start({ NOELCLAW_CONVEX_URL: service.url });
    const messages = [HELLO, READY, call(1, "stop_research", { userId: "u" })];
    child.stdin.write(messages.map((one) => `${JSON.stringify(one)}\n`).join(""));
    await until(() => out.stdout.includes('"stopped":0'));
    expect(await listeningSockets(child.pid ?? 0)).toEqual([]);
    child.stdin.end();
    await ended;
  });
});

/** Inodes of the listening TCP sockets that the process holds. */
async function listeningSockets(pid: number): Promise<string[]> {
  const LISTEN = "0A";
  const listening = new Set<string>();
  for (const table of ["tcp", "tcp6"]) {
    const rows = await readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "");
    for (const row of rows.split("\n").slice(1)) {
      const columns = row.trim().split(/\s+/);
      if (columns[3] === LISTEN && columns[9] !== undefined) listening.add(columns[9]);
    }
  }
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")),
  );
  return targets.flatMap((target) => {
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    return inode !== undefined && listening.has(inode) ? [inode] : [];
  });
}
