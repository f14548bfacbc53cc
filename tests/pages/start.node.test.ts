import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { bundle } from "../../scripts/proxy/bundle";
import { startStack, type Stack } from "../../scripts/stack/stack";

/**
 * Somebody who has never seen the service, and has only the words of `/start`: what stands in its blocks is run as it
 * stands there.
 */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let stack: Stack;
let folder: string;
let blocks: ReadonlyMap<string, string>;

beforeAll(async () => {
  // What a deployment has is what was built last.
  await bundle(join(ROOT, "dist/proxy.js"));
  stack = await startStack({ ephemeral: true, envFile: "/dev/null" });
  // Beside the packages that the page has one install.
  folder = await mkdtemp(join(ROOT, "node_modules/.start-"));
  const page = await (await fetch(`${stack.siteUrl}/start`)).text();
  blocks = new Map(
    Array.from(
      page.matchAll(/<pre[^>]*aria-label="([^"]+)"[^>]*><code>([^<]*)<\/code>/g),
      ([, label, text]) => [read(label ?? ""), read(text ?? "")],
    ),
  );
});

afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

const read = (text: string) =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

function block(label: string): string {
  const found = blocks.get(label);
  if (found === undefined)
    throw new Error(`The page has no block ${label}, but ${[...blocks.keys()].join(", ")}`);
  return found;
}

const shell = (line: string, env: NodeJS.ProcessEnv = {}) =>
  run("sh", ["-c", line], { cwd: folder, env: { ...process.env, ...env } });

test("a report is bought by a real x402 client, with the code of the page", async () => {
  const key = generatePrivateKey();
  await stack.chain?.fund(privateKeyToAccount(key).address, { USDC: 1_000_000n });
  await writeFile(join(folder, "buy.mjs"), block("buy.mjs"));
  const { stdout } = await shell(block("Run it").replace("0x…", key));
  expect(stdout).toContain('"fullAnalysis":');
});

test("an AI client starts the program of the page, and its tools answer", async () => {
  await shell(block("The program"));
  const shape = z.record(
    z.string(),
    z.object({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  );
  const { mcpServers } = z.object({ mcpServers: shape }).parse(JSON.parse(block("The client's block")));
  const [server] = Object.values(mcpServers);
  if (server === undefined) throw new Error("The block has a server");
  const args = server.args.map((one) => one.replace("/path/to", folder));
  const client = new Client({ name: "somebody", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ ...server, args, cwd: tmpdir() }));
  try {
    expect((await client.listTools()).tools).toHaveLength(19);
    const answer = await client.callTool({ name: "get_market_data", arguments: {} });
    expect([answer.isError ?? false, JSON.stringify(answer.content)]).toEqual([
      false,
      expect.stringContaining("Bitcoin"),
    ]);
  } finally {
    await client.close();
  }
});

test("the first calls answer, and an id of the page gets its wallet and the link that makes it somebody's own", async () => {
  for (const line of block("First calls").split("\n")) {
    expect(JSON.parse((await shell(line)).stdout)).not.toHaveProperty("error");
  }
  const id = (await shell(block("A long id"))).stdout.trim();
  expect(id.length).toBeGreaterThan(30);
  const { stdout } = await shell(block("Its wallet").replace("YOUR-LONG-ID", id));
  expect(JSON.parse(stdout)).toMatchObject({
    address: expect.stringMatching(/^0x/),
    ownerUrl: expect.stringMatching(/^https:\/\/t\.me\//),
  });
});
