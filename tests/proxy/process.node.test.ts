import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, readlink } from "node:fs/promises";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { JSONRPCMessageSchema, LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/waits";
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

  test("ends when its client closes stdin, with what it was asked answered", async () => {
    service.answers(json(200, { success: true, stopped: 3 }));
    const { code, stdout } = await run(
      { NOELCLAW_CONVEX_URL: service.url },
      HELLO,
      READY,
      call(1, "stop_research", { userId: "u" }),
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining('"stopped":3')]);
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
