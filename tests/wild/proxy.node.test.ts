import { execFileSync } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { built, connect, json, proxy, service, textOf, useProxy } from "../proxy/support";
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
  const out = execFileSync(process.execPath, [built.file], { input: `${lines.join("\n")}\n` }).toString();
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
