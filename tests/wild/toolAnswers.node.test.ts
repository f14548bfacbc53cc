import { describe, expect, test } from "vitest";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { stdioTools as tools } from "../../convex/tools/list";
import { json, proxy, service, textOf, useProxy } from "../proxy/support";

/**
 * Clients cut an answer of a tool at some 25,000 tokens, or fail: https://github.com/dbt-labs/dbt-mcp/issues/178,
 * https://github.com/runpod/runpod-mcp/issues/3.
 */

useProxy();

/** A fair count: a word of letters is a token in four letters, digits go by three, and every mark is one of its own. */
function tokensIn(text: string): number {
  const parts = text.match(/[A-Za-z]+|\d+|[^A-Za-z\d\s]/g) ?? [];
  const cost = (part: string) =>
    /\d/.test(part) ? part.length / 3 : /[a-z]/i.test(part) ? part.length / 4 : 1;
  return parts.reduce((sum, part) => sum + Math.max(1, Math.ceil(cost(part))), 0);
}

const object = z.record(z.string(), z.unknown());
const shown = z.looseObject({ structuredContent: object });
const exampleOf = (name: string) => {
  const tool = tools.find((one) => one.name === name);
  const found = endpoints.find(({ path, methods }) => path === tool?.path && methods.includes(tool.method));
  return z.object({ input: object, output: object }).parse(found?.example);
};
const listIn = (output: Record<string, unknown>, name: string) => z.array(object).parse(output[name]);

/** What a client passes on is the text, or the data. */
async function sizeOf(name: string, input: Record<string, unknown>): Promise<number> {
  const result = await proxy.call(name, input);
  expect(result).not.toMatchObject({ isError: true });
  const { structuredContent } = shown.parse(result);
  return Math.max(tokensIn(textOf(result)), tokensIn(JSON.stringify(structuredContent)));
}

const words = (many: number) =>
  "Spot demand holds while funding cools and the trend points up. ".repeat(many / 11);
/** The service's longest answers, by how many rows were asked for. */
const LONGEST: Record<string, (rows: number) => object> = {
  get_signal_history: (rows) => {
    const { output } = exampleOf("get_signal_history");
    const [signal] = listIn(output, "signals");
    const reasoned = { ...signal, reasoning: words(120) };
    return { ...output, signals: Array.from({ length: rows }, () => reasoned), count: rows, more: 900 };
  },
  get_whale_alerts: (rows) => {
    const { output } = exampleOf("get_whale_alerts");
    const [alert] = listIn(output, "alerts");
    return { ...output, alerts: Array.from({ length: rows }, () => alert), count: rows, more: 500 - rows };
  },
  run_research: () => {
    const { output } = exampleOf("run_research");
    const result = object.parse(output.result);
    const [source] = z.array(object).parse(result.sources);
    const impact = { title: "BTC", detail: words(44), sentiment: "bullish", confidence: 0.8 };
    const fullAnalysis = words(600);
    const impacts = Array.from({ length: 6 }, () => impact);
    const sources = Array.from({ length: 30 }, (_, n) => ({ ...source, id: n + 1 }));
    return { ...output, result: { ...result, fullAnalysis, impacts, sources } };
  },
};

test("no tool's usual answer is above 6,000 tokens", async () => {
  for (const { name, list } of tools) {
    const { input, output } = exampleOf(name);
    service.answers(json(200, LONGEST[name]?.(list?.usual ?? 10) ?? output));
    expect([name, Math.max(6_000, await sizeOf(name, input))]).toEqual([name, 6_000]);
  }
});

test("none is above 24,000 at its limit, which its schema names", async () => {
  const { tools: listed } = await proxy.client.listTools();
  const limited = listed.filter(({ inputSchema }) => "limit" in (inputSchema.properties ?? {}));
  expect(limited.map(({ name }) => name).toSorted()).toEqual(["get_signal_history", "get_whale_alerts"]);
  for (const { name, inputSchema } of limited) {
    const { maximum } = z.object({ maximum: z.number() }).parse(inputSchema.properties?.limit);
    service.answers(json(200, LONGEST[name]?.(maximum)));
    expect([name, Math.max(24_000, await sizeOf(name, { limit: maximum }))]).toEqual([name, 24_000]);
  }
});

describe("a list of whales", () => {
  test("is asked for twenty, as long as nobody names another number, and says how many more there are", async () => {
    for (const limit of [undefined, null, "", "null"]) {
      service.answers(json(200, LONGEST.get_whale_alerts?.(20)));
      const result = await proxy.call("get_whale_alerts", limit === undefined ? {} : { limit });
      expect(JSON.parse(service.received[0]?.body ?? "")).toMatchObject({ limit: 20 });
      expect(textOf(result)).toContain("And 480 more");
      expect(shown.parse(result).structuredContent).toMatchObject({
        more: 480,
        notices: [expect.stringContaining("480")],
      });
    }
    await proxy.call("get_whale_alerts", { limit: 3 });
    expect(JSON.parse(service.received.at(-1)?.body ?? "")).toEqual({ limit: 3 });
  });

  test("keeps what a person asks about, and leaves out what programs verify", async () => {
    service.answers(json(200, LONGEST.get_whale_alerts?.(1)));
    const { structuredContent } = shown.parse(await proxy.call("get_whale_alerts"));
    const [row] = listIn(structuredContent, "alerts");
    expect(row).toMatchObject({
      token: "USDC",
      amount: 4_200_420,
      txHash: expect.any(String),
      verified: true,
    });
    expect(row).not.toHaveProperty("movement");
  });
});
