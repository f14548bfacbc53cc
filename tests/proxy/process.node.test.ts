import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { JSONRPCMessageSchema, LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serviceUrlOf } from "../../scripts/proxy/address";
import { buildProxy, fakeService, json, type Built, type FakeService } from "./support";

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

function start(env: Record<string, string>, words: readonly string[] = []) {
  const child = spawn(process.execPath, [built.file, ...words], {
    env: { ...getDefaultEnvironment(), ...env },
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (out.stderr += text));
  const ended = once(child, "close").then(([code]) => ({ code: Number(code), ...out }));
  return { child, ended };
}

/** Sends the messages, closes stdin, and waits for the process to end by itself. */
async function run(env: Record<string, string>, ...messages: (object | string)[]) {
  const { child, ended } = start(env);
  const lines = messages.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  return ended;
}

test("a setting that is no address is refused at the start; an empty one means the built-in address", async () => {
  for (const [address, problem] of [
    ["ftp://example.com", "must be an address that begins with http:// or https://"],
    ["example.com", "is not an address such as https://example.convex.site"],
    ["https://alice:secret@example.com", "must not hold a user name or password"],
    ["https://example.com/?key=1", "must be an address without ? and #"],
  ] as const)
    expect(() => serviceUrlOf(address, "https://built.in")).toThrow(`NOELCLAW_CONVEX_URL ${problem}`);
  for (const empty of [undefined, "", "  "])
    expect(serviceUrlOf(empty, "https://built.in/")).toBe("https://built.in");
  const { code, stdout, stderr } = await run({ NOELCLAW_CONVEX_URL: "ftp://example.com" }, HELLO);
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    expect.stringMatching(/^NOELCLAW_CONVEX_URL must be .*\n$/),
  ]);
});

describe("the protocol", () => {
  const answersOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
  const hello = (protocolVersion: string) => ({ ...HELLO, params: { ...HELLO.params, protocolVersion } });

  test("agrees on the client's version, or on the newest of the old era", async () => {
    for (const [asked, agreed] of [
      ["2024-11-05", "2024-11-05"],
      ["2199-01-01", LATEST_PROTOCOL_VERSION],
    ] as const)
      expect(answersOf((await run({}, hello(asked))).stdout)).toEqual([
        expect.objectContaining({ id: 0, result: expect.objectContaining({ protocolVersion: agreed }) }),
      ]);
  });

  test("answers a ping, and what it does not know", async () => {
    const { stdout } = await run(
      {},
      HELLO,
      { jsonrpc: "2.0", id: "p", method: "ping" },
      { jsonrpc: "2.0", id: 2, method: "resources/list" },
      { jsonrpc: "2.0", id: 4, method: "tools/call", params: { arguments: {} } },
      { jsonrpc: "2.0", method: "notifications/of-nothing" },
    );
    const answers = answersOf(stdout);
    expect(answers).toHaveLength(4);
    expect(answers).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "p", result: {} },
        expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32601 }) }),
        expect.objectContaining({ id: 4, error: expect.objectContaining({ code: -32602 }) }),
      ]),
    );
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

  test("needs so little code that Node has read it soon", async () => {
    expect((await readFile(built.file)).byteLength).toBeLessThan(335_000);
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
    expect(parsed.map((one) => ("id" in one ? one.id : null)).toSorted()).toEqual([0, 1, 2, 3, 4]);
    expect(code).toBe(0);
    expect(stderr).toBe("");
  });

  test("says how clients start it", async () => {
    const shown = async (...words: string[]) => {
      const one = start({ NOELCLAW_CONVEX_URL: service.url }, words);
      one.child.stdin.end();
      return one.ended;
    };
    const { stdout: entry } = await shown("install", "--client", "vscode");
    expect(JSON.parse(entry.slice(entry.indexOf("{")))).toEqual({
      servers: {
        "market-research": {
          type: "stdio",
          command: process.execPath,
          args: [expect.stringContaining("proxy.mjs")],
          env: { NOELCLAW_CONVEX_URL: service.url },
        },
      },
    });
    expect(await shown("install", "--client", "pen")).toMatchObject({ code: 2, stdout: "" });
    expect(await shown("dance")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not a command"),
    });
    expect((await shown("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
