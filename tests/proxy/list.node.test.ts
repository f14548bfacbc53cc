import { Ajv2020 } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { tools } from "../../scripts/proxy/tools";
import { json, textOf, service, proxy, useProxy } from "./support";

/** What clients are told of the tools, and what each makes of its endpoint's documented answer. */

useProxy();

const READ_LIVE = "read-only open";
const READ_STORED = "read-only";
const CARD = "open";

/** Each tool's endpoint, required input, all input, and annotations. */
const EXPECTED: Record<string, [endpoint: string, required: string, fields: string, hints: string]> = {
  get_market_data: ["GET /mcp/market", "", "token", READ_LIVE],
  get_token_data: ["POST /mcp/token", "question", "question", READ_LIVE],
  ask_noel: ["POST /mcp/chat", "question", "agentId messages question userId", READ_LIVE],
  get_latest_signal: ["POST /mcp/signals/latest", "", "token userId", CARD],
  get_signal_history: ["GET /mcp/signals/history", "", "before days limit token", READ_STORED],
  get_daily_recap: ["POST /mcp/signals/recap", "", "userId", CARD],
  get_whale_alerts: ["POST /mcp/whale-alerts", "", "hours userId", CARD],
  run_research: ["POST /mcp/research", "", "query token userId", READ_LIVE],
  start_research: [
    "POST /mcp/research/start",
    "userId",
    "idempotencyKey messengerChatId token userId",
    "open",
  ],
  stop_research: ["POST /mcp/research/stop", "userId", "userId", "destructive idempotent"],
  get_research_status: ["GET /mcp/research/status", "userId", "userId", READ_STORED],
  get_research_report: ["GET /mcp/research/report", "", "jobId token", READ_STORED],
  connect_wallet: ["POST /mcp/defi/connect", "userId", "userId", "idempotent"],
  swap_tokens: [
    "POST /mcp/defi/swap",
    "amount fromToken toToken userId",
    "acceptUnpriced amount dryRun fromToken idempotencyKey slippageBps toToken userId",
    "destructive open",
  ],
  send_token: [
    "POST /mcp/defi/send",
    "amount toAddress token userId",
    "amount dryRun from idempotencyKey toAddress token userId",
    "destructive open",
  ],
  get_portfolio: ["GET /mcp/defi/portfolio", "userId", "userId", "idempotent open"],
  create_wallet: ["POST /mcp/wallet/create", "userId", "userId", "idempotent"],
  get_wallet_balance: ["GET /mcp/wallet/balance", "userId", "userId", READ_LIVE],
  set_telegram: [
    "POST /user/messenger",
    "userId",
    "messengerBotToken messengerChatId userId",
    "destructive idempotent",
  ],
};

/** Of these a program needs hashes, ids and exact amounts; what the others answer is in their text. */
const STRUCTURED = new Set([
  "get_token_data",
  "get_latest_signal",
  "start_research",
  "stop_research",
  "get_research_status",
  "connect_wallet",
  "swap_tokens",
  "send_token",
  "get_portfolio",
  "create_wallet",
  "get_wallet_balance",
  "set_telegram",
]);

const words = (names: Iterable<string>) => [...names].toSorted().join(" ");

describe("the list of tools", () => {
  test("is exactly this, with these inputs and annotations", async () => {
    const listed = await proxy.client.listTools();
    const shown = listed.tools.map(({ name, inputSchema, annotations = {} }) => {
      const { method, path } = tools.find((one) => one.name === name)?.endpoint ?? {};
      const hints = [
        annotations.readOnlyHint === true ? "read-only" : "",
        annotations.destructiveHint === true ? "destructive" : "",
        annotations.idempotentHint === true ? "idempotent" : "",
        annotations.openWorldHint === true ? "open" : "",
      ];
      expect(Object.values(annotations)).toHaveLength(annotations.readOnlyHint === true ? 2 : 4);
      const fields = Object.keys(inputSchema.properties ?? {});
      const required = inputSchema.required ?? [];
      return [name, [`${method} ${path}`, words(required), words(fields), hints.filter(Boolean).join(" ")]];
    });
    expect(Object.fromEntries(shown)).toEqual(EXPECTED);
    expect(shown).toHaveLength(Object.keys(EXPECTED).length);
  });

  test("is closed where money moves: a field that means nothing there is refused, not dropped", async () => {
    const listed = await proxy.client.listTools();
    const closed = listed.tools.filter(({ inputSchema }) => inputSchema.additionalProperties === false);
    expect(closed.map(({ name }) => name).toSorted()).toEqual(["send_token", "swap_tokens"]);
  });

  test("tells models what the fields mean, in keywords that every client reads", async () => {
    const listed = await proxy.client.listTools();
    // A model reads it all at the start of a conversation; the newest protocol adds fields around it.
    expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThanOrEqual(15_750);
    for (const { name, title, description, inputSchema } of listed.tools) {
      expect([name, title]).toEqual([name, expect.stringMatching(/\S/)]);
      expect(description?.length).toBeGreaterThan(40);
      const text = JSON.stringify(inputSchema);
      expect([name, text]).not.toEqual([name, expect.stringMatching(/anyOf|allOf|\$ref|\\p\{/)]);
      for (const [field, property] of Object.entries(inputSchema.properties ?? {})) {
        expect([name, field, property]).toEqual([
          name,
          field,
          expect.objectContaining({ type: expect.any(String) }),
        ]);
      }
      if (inputSchema.required?.includes("userId") === true) expect(text).toContain("bearer secret");
    }
    expect(proxy.client.getInstructions()).toContain("bearer secret");
    expect(proxy.client.getServerCapabilities()).toEqual({ tools: {} });
  });
});

describe("the endpoints' documented examples", () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);

  test.each(tools.map((tool) => [tool.name, tool] as const))("suit %s", async (name, { endpoint }) => {
    const documented = endpoints.find(
      ({ path, methods }) => path === endpoint.path && methods.includes(endpoint.method),
    )?.example;
    if (documented === undefined) throw new Error(`${endpoint.path} has no example`);
    const { tools: listed } = await proxy.client.listTools();
    const schema = listed.find((one) => one.name === name)?.inputSchema ?? {};
    const input = z.record(z.string(), z.unknown()).parse(documented.input);
    expect([ajv.validate(schema, input), ajv.errorsText()]).toEqual([true, "No errors"]);
    service.answers(json(200, documented.output));
    const result = await proxy.call(name, input);
    expect(result.isError).not.toBe(true);
    expect(result.structuredContent).toEqual(STRUCTURED.has(name) ? documented.output : undefined);
    expect(textOf(result)).toMatchSnapshot();
  });

  test("may gain fields without becoming unreadable", async () => {
    service.answers(json(200, { success: true, stopped: 1, since: "a newer version" }));
    const { structuredContent } = await proxy.call("stop_research", { userId: "u" });
    expect(structuredContent).toEqual({ success: true, stopped: 1, since: "a newer version" });
  });
});
