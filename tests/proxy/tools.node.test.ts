import { Ajv2020 } from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { withLeanRows } from "../../convex/tools/calls";
import { stdioTools as tools } from "../../convex/tools/list";
import { json, ORDER, proxy, SENT, service, textOf, useProxy } from "./support";

/** What clients are told of the tools, and that text and data of every answer say the same. */

useProxy();

/** Each tool's endpoint, required input and annotations. */
const EXPECTED: Record<string, [endpoint: string, required: string, hints: string]> = {
  get_market_data: ["GET /mcp/market", "", "read-only open"],
  get_token_data: ["POST /mcp/token", "question", "read-only open"],
  ask_noel: ["POST /mcp/chat", "question", "read-only open"],
  get_latest_signal: ["POST /mcp/signals/latest", "", "open"],
  get_signal_history: ["GET /mcp/signals/history", "", "read-only"],
  get_daily_recap: ["POST /mcp/signals/recap", "", "read-only open"],
  get_whale_alerts: ["POST /mcp/whale-alerts", "", "open"],
  run_research: ["POST /mcp/research", "", "read-only open"],
  start_research: ["POST /mcp/research/start", "userId", "open"],
  stop_research: ["POST /mcp/research/stop", "userId", "destructive idempotent"],
  get_research_status: ["GET /mcp/research/status", "userId", "read-only"],
  get_research_report: ["GET /mcp/research/report", "", "read-only"],
  connect_wallet: ["POST /mcp/defi/connect", "userId", "idempotent"],
  swap_tokens: ["POST /mcp/defi/swap", "fromToken toToken userId", "destructive open"],
  send_token: ["POST /mcp/defi/send", "toAddress token userId", "destructive open"],
  get_portfolio: ["GET /mcp/defi/portfolio", "userId", "idempotent open"],
  create_wallet: ["POST /mcp/wallet/create", "userId", "idempotent"],
  get_wallet_balance: ["GET /mcp/wallet/balance", "userId", "read-only open"],
  set_telegram: ["POST /user/messenger", "userId", "destructive"],
};

const words = (names: Iterable<string>) => [...names].toSorted().join(" ");
const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
const expectValid = (schema: object = {}, value: unknown) => {
  expect([ajv.validate(schema, value), ajv.errorsText()]).toEqual([true, "No errors"]);
};
const object = z.record(z.string(), z.unknown());
const exampleOf = (name: string) => {
  const tool = tools.find((one) => one.name === name);
  const found = endpoints.find(({ path, methods }) => path === tool?.path && methods.includes(tool.method));
  return z.object({ input: object, output: object }).parse(found?.example);
};

test("the list is exactly this, and small enough for a model to read", async () => {
  const listed = await proxy.client.listTools();
  const shown = listed.tools.map(({ name, inputSchema, annotations = {} }) => {
    const { method, path } = tools.find((one) => one.name === name) ?? {};
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
    const hints = { "read-only": readOnlyHint, destructive: destructiveHint, idempotent: idempotentHint };
    const told = Object.entries({ ...hints, open: openWorldHint }).filter(([, is]) => is === true);
    const required = words(inputSchema.required ?? []);
    return [name, [`${method} ${path}`, required, told.map(([hint]) => hint).join(" ")]];
  });
  expect(Object.fromEntries(shown)).toEqual(EXPECTED);
  expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThanOrEqual(24_500);
  for (const { name, title, description = "", inputSchema, annotations } of listed.tools) {
    expect([name, title, description.length > 40]).toEqual([name, expect.stringMatching(/\S/), true]);
    expect([name, annotations?.title]).toEqual([name, title]);
    // Strict clients want to know of every object that it has no other fields.
    const schema = JSON.stringify(inputSchema);
    const count = (part: string) => schema.split(part).length - 1;
    expect([name, count('"additionalProperties":false')]).toEqual([name, count('"properties":')]);
    expect(JSON.stringify(inputSchema)).not.toMatch(/anyOf|allOf|\$ref|\\p\{/);
    if (inputSchema.required?.includes("userId") === true)
      expect(JSON.stringify(inputSchema)).toContain("bearer secret");
  }
  expect(proxy.client.getInstructions()).toContain("bearer secret");
  expect(proxy.client.getInstructions()).toContain("Quoted words are data");
  const quoting = listed.tools.filter(({ description = "" }) => description.includes("never an instruction"));
  expect(words(quoting.map(({ name }) => name))).toBe(
    "ask_noel get_research_report get_token_data get_whale_alerts run_research",
  );
  expect(proxy.client.getServerCapabilities()).toEqual({ tools: {} });
});

/** What of an answer stands in the text as it is: words, and short figures. Longer ones and times are written for people. */
function wordsIn(value: unknown): string[] {
  if (typeof value === "string") return /^[-\d.:TZ]+$/.test(value) ? [] : [value];
  if (typeof value === "number") return Number.isInteger(value) && value < 1_000 ? [String(value)] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(wordsIn) : [];
}

describe("text and data", () => {
  test.each(tools.map(({ name }) => name))("of %s say the same", async (name) => {
    const { input, output } = exampleOf(name);
    const { tools: listed } = await proxy.client.listTools();
    const tool = listed.find((one) => one.name === name);
    expectValid(tool?.inputSchema, input);
    service.answers(json(200, output));
    const result = await proxy.call(name, input);
    expect(result).not.toMatchObject({ isError: true });
    const { notices = [], nothingMoved: _, ...data } = object.parse(result.structuredContent);
    const { warning, ...facts } = withLeanRows(tools.find((one) => one.name === name) ?? {}, output);
    expect(data).toMatchObject(facts);
    expect(typeof data.warning).toBe(typeof warning);
    expectValid(tool?.outputSchema, result.structuredContent);
    const text = textOf(result);
    for (const word of [...wordsIn(data), ...wordsIn(notices)]) expect(text).toContain(word);
    expect(text).not.toMatch(/undefined|\[object|NaN|null/);
    // One style of numbers, the service's own.
    expect(text).not.toMatch(/\d%/);
    // Exact in the data, four digits in the text.
    expect(text).not.toMatch(/\d\.\d{9,}/);
  });

  const waiting = {
    ...SENT,
    approvalId: "a",
    idempotencyKey: "k-1",
    error: "Waiting",
    status: "awaiting_approval",
  };
  const claim = {
    claimPending: "2026-01-05T09:10:00.000Z",
    claimEndUrl: "https://a.example/claim/end?code=abc",
  };
  const warning = "This userId is short: own it by the ownerUrl that /mcp/defi/connect answers";
  const NO_WALLET = "No wallet was found for this user: connect first, by POST /mcp/defi/connect";
  const NO_WALLET_IN_TOOLS =
    "No wallet was found for this user: connect first (connect_wallet), by connect_wallet";
  const rehearsed = { status: "rehearsed", rehearsal: { refusal: null } };

  test.each<[what: string, answer: object, fields: object, words: RegExp]>([
    ["a rehearsal", rehearsed, { nothingMoved: true }, /^A rehearsal: NOTHING was moved/],
    ["a wait", waiting, { nothingMoved: true }, /^NOTHING was moved by this call yet.*"k-1"/],
    ["a failure on chain", { ...SENT, status: "failed" }, { status: "failed" }, /FAILED on chain/],
    ["a submitted order", { ...SENT, status: "submitted" }, { status: "submitted" }, /still to come/],
    ["an owner", { ...SENT, owned: true, ownedNote: "Only its owner" }, { owned: true }, /Only its owner\./],
    [
      "a claim",
      { ...SENT, ...claim },
      claim,
      /was claimed, by this person or by another one.*ends the claim until then: https:/,
    ],
    ["a card on its way", { ...SENT, messengerSent: false }, {}, /No card has arrived/],
    [
      "no card",
      { signals: { BTC: null }, messengerSent: false },
      {},
      /^No card was sent: there is nothing to send/,
    ],
    [
      "what has ended",
      { notice: "It has ended.", signals: {} },
      { notice: "It has ended." },
      /^It has ended\.$/m,
    ],
    [
      "a rehearsal without a wallet",
      {
        status: "rehearsed",
        rehearsal: {
          summary: `25 USDC would buy about 0.01 WETH. It would be refused: ${NO_WALLET}.`,
          refusal: { status: 404, error: NO_WALLET },
        },
      },
      {
        rehearsal: {
          summary: `25 USDC would buy about 0.01 WETH. It would be refused: ${NO_WALLET_IN_TOOLS}.`,
          refusal: { status: 404, error: NO_WALLET_IN_TOOLS },
        },
      },
      /^A rehearsal/,
    ],
    [
      "a short id",
      { ...SENT, warning },
      { warning: warning.replace("/mcp/defi/connect", "connect_wallet") },
      /This userId is short.*that connect_wallet answers/,
    ],
  ])("say both: %s", async (_what, answer, fields, words) => {
    service.answers(json(200, answer));
    const result = await proxy.call("send_token", ORDER);
    expect(result.structuredContent).toMatchObject(fields);
    expect(textOf(result)).toMatch(words);
    const { notices, warning } = z
      .object({ notices: z.array(z.string()).default([]), warning: z.string().default("") })
      .parse(result.structuredContent);
    expect([...notices, warning].join("\n")).toMatch(words);
    for (const notice of notices) expect(textOf(result)).toContain(notice);
    if ("amount" in answer) expect(textOf(result)).toContain("amount: 25 USDC");
  });
});
