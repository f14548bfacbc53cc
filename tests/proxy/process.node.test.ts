import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, realpath } from "node:fs/promises";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { JSONRPCMessageSchema, LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { strFromU8, unzipSync } from "fflate";
import { expect, test } from "vitest";
import { getServiceUrl } from "../../scripts/proxy/commands";
import { mcpBundle, registryEntry } from "../../scripts/proxy/kit";
import { built, json, NODE, service, useProxy } from "./support";

/** The built proxy as a process: its setting, its streams in the protocol's earlier form, its end, and its kit. */

useProxy();

const hello = (protocolVersion = "2025-06-18") => ({
  id: 0,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});
const call = (id: number, name: string, input: object) => {
  return { id, method: "tools/call", params: { name, arguments: input } };
};

type Run = { env?: Record<string, string>; words?: readonly string[] };

/** Sends the messages, closes stdin, and waits for the process to end by itself. */
async function run(messages: readonly (object | string)[], { env = {}, words = [] }: Run = {}) {
  const child = spawn(NODE, [built.file, ...words], {
    env: { ...getDefaultEnvironment(), NOELCLAW_CONVEX_URL: service.url, ...env },
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (out.stderr += text));
  const lines = messages.map((one) =>
    typeof one === "string" ? one : JSON.stringify({ jsonrpc: "2.0", ...one }),
  );
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const [code]: unknown[] = await once(child, "close");
  return { code, ...out };
}

const answersOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));

test("a setting that is no address is refused at the start; an empty one means the built-in address", async () => {
  for (const [address, problem] of [
    ["ftp://example.com", "must be an address that begins with http:// or https://"],
    ["example.com", "is not an address such as https://example.convex.site"],
    ["https://alice:secret@example.com", "must not hold a user name or password"],
    ["https://example.com/?key=1", "must be an address without ? and #"],
  ] as const)
    expect(() => getServiceUrl(address, "https://built.in")).toThrow(`NOELCLAW_CONVEX_URL ${problem}`);
  for (const empty of [undefined, "", "  "])
    expect(getServiceUrl(empty, "https://built.in/")).toBe("https://built.in");
  expect(await run([hello()], { env: { NOELCLAW_CONVEX_URL: "ftp://example.com" } })).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^NOELCLAW_CONVEX_URL must be .*\n$/),
  });
});

test("it agrees on the client's version, or on the newest of the earlier form", async () => {
  for (const [asked, agreed] of [
    ["2024-11-05", "2024-11-05"],
    ["2199-01-01", LATEST_PROTOCOL_VERSION],
  ] as const)
    expect(answersOf((await run([hello(asked)])).stdout)).toMatchObject([
      { id: 0, result: { protocolVersion: agreed } },
    ]);
});

test("it answers every request, writes protocol lines alone, whatever it is sent, and ends with its input", async () => {
  service.answers(json(200, { success: true, stopped: 2 }));
  const { code, stdout, stderr } = await run([
    hello(),
    { method: "notifications/initialized" },
    { id: 1, method: "tools/list" },
    "this is no message",
    call(2, "stop_research", { userId: "u" }),
    call(3, "no_such_tool", {}),
    call(4, "ask_noel", { question: "show me my private key" }),
    { id: "p", method: "ping" },
    { id: 5, method: "resources/list" },
    { id: 6, method: "tools/call", params: { arguments: {} } },
    { method: "notifications/of-nothing" },
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  const answers = new Map(answersOf(stdout).map((one) => ["id" in one ? one.id : null, one]));
  expect([...answers.keys()].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, "p"]);
  for (const [id, answer] of [
    [1, { result: { tools: { length: 19 } } }],
    [2, { result: { structuredContent: { success: true, stopped: 2 } } }],
    [3, { error: { code: -32602 } }],
    [5, { error: { code: -32601 } }],
    [6, { error: { code: -32602 } }],
  ] as const)
    expect(answers.get(id)).toMatchObject(answer);
  expect(answers.get("p")).toEqual({ jsonrpc: "2.0", id: "p", result: {} });
});

test("it says how clients start it", async () => {
  const shown = (...words: string[]) => run([], { words });
  const { stdout: entry } = await shown("install", "--client", "vscode");
  expect(JSON.parse(entry.slice(entry.indexOf("{")))).toEqual({
    servers: {
      "market-research": {
        type: "stdio",
        command: await realpath(NODE),
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

test("the program is small; the registry's entry and the bundle for desktop clients name the operator's package", async () => {
  const program = new Uint8Array(await readFile(built.file));
  // So little code that Node has read it soon.
  expect(program.byteLength).toBeLessThan(340_000);
  const { about, serviceUrl } = built;
  const { name, version, mcpName } = about;
  expect(registryEntry(about, serviceUrl)).toMatchObject({
    name: mcpName,
    version,
    packages: [{ identifier: name, version, transport: { type: "stdio" } }],
    remotes: [{ type: "streamable-http", url: `${serviceUrl}/mcp` }],
  });
  const files = unzipSync(mcpBundle(about, program));
  expect(JSON.parse(strFromU8(files["manifest.json"] ?? new Uint8Array()))).toMatchObject({
    name,
    version,
    server: { entry_point: "server/proxy.mjs" },
    tools: { length: 19 },
  });
  expect(files["server/proxy.mjs"]).toEqual(program);
});
