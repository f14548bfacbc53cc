import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { issue, test } from "../signals/support";
import type { App } from "../support/app";
import { intercept } from "../support/outside";

/** Twelve gateways, each with the habits of some in the wild, and what users get from them. */

const requestShape = z.looseObject({ max_tokens: z.number(), response_format: z.unknown().optional() });
const completionShape = z.looseObject({
  choices: z.tuple([
    z.looseObject({ message: z.looseObject({ content: z.string() }), finish_reason: z.string() }),
  ]),
});
type Request = z.infer<typeof requestShape>;
type Completion = z.infer<typeof completionShape>;

const sent = (given: Completion, message: Record<string, unknown>, finish_reason = "stop") =>
  Response.json({
    ...given,
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
  });
const contentOf = (given: Completion) => given.choices[0].message.content;
/** The texts in an answer, changed: those of a value, or the prose itself. */
function reworded(given: Completion, change: (text: string) => string): string {
  const content = contentOf(given);
  const within = (value: unknown): unknown => {
    if (typeof value === "string") return value.includes(" ") ? change(value) : value;
    if (Array.isArray(value)) return value.map(within);
    return typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(inner)]))
      : value;
  };
  return content.startsWith("{") ? JSON.stringify(within(JSON.parse(content))) : change(content);
}
/** As Python prints it, with a comment. */
function python(value: unknown): string {
  if (typeof value === "string") return `'${value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}'`;
  if (Array.isArray(value)) return `[${value.map(python).join(", ")},]`;
  if (typeof value !== "object" || value === null)
    return value === null
      ? "None"
      : value === true
        ? "True"
        : value === false
          ? "False"
          : JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `'${key}': ${python(inner)}`)
    .join(", ")}} # done\n`;
}
const PAGE = "<!DOCTYPE html><html><head><title>Just a moment…</title></head></html>";

type Gateway = (given: Completion, request: Request, call: number) => Response;
const GATEWAYS: Readonly<Record<string, Gateway>> = {
  "thinks, until its room is used up": (given, { max_tokens }) =>
    max_tokens < 12_000
      ? sent(given, { content: "", reasoning_content: "Let me see" }, "length")
      : sent(given, { content: contentOf(given), reasoning_content: "Let me see" }),
  "answers in its reasoning": (given) => sent(given, { content: null, reasoning_content: contentOf(given) }),
  "answers in a tool's arguments": (given, { response_format }) =>
    response_format === undefined
      ? sent(given, { content: contentOf(given) })
      : sent(
          given,
          { content: null, tool_calls: [{ function: { name: "f", arguments: contentOf(given) } }] },
          "tool_calls",
        ),
  "writes lists and objects as texts": (given) => {
    const content = contentOf(given);
    if (!content.startsWith("{")) return sent(given, { content });
    const fields = Object.entries(z.record(z.string(), z.unknown()).parse(JSON.parse(content)));
    const texts = fields.map(([key, value]) => [
      key,
      typeof value === "object" && value !== null ? JSON.stringify(value) : value,
    ]);
    return sent(given, { content: JSON.stringify(JSON.stringify(Object.fromEntries(texts))) });
  },
  "writes Python": (given) => {
    const content = contentOf(given);
    return sent(given, { content: content.startsWith("{") ? python(JSON.parse(content)) : content });
  },
  "goes on with blanks": (given) =>
    sent(given, { content: contentOf(given) + " \n".repeat(2_000) }, "length"),
  "calls tools in its prose": (given) =>
    sent(given, {
      content: `<tool_call>{"name": "search", "arguments": {}}</tool_call>\n${contentOf(given)}<|im_end|>`,
    }),
  "cites its own search": (given) =>
    sent(given, {
      content: reworded(given, (text) => `${text.replace(/\.$/, "")}【3†source】[[1]](https://x.test/a).`),
    }),
  "writes entities and escapes": (given) =>
    sent(given, {
      content: reworded(given, (text) =>
        text.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll("’", "\\u2019"),
      ),
    }),
  "filters a question, and tells what it has filtered": (given, _request, call) => {
    if (call === 1)
      return Response.json(
        { error: { code: "content_filter", message: "The prompt was filtered" } },
        { status: 400 },
      );
    const event = (one: unknown) => `data: ${JSON.stringify(one)}\n\n`;
    const [first] = given.choices;
    const results = { hate: { filtered: false, severity: "safe" } };
    const text =
      event({ choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: results }] }) +
      event({
        model: "m",
        choices: [{ delta: { content: first.message.content }, content_filter_results: results }],
      }) +
      event({ choices: [{ delta: {}, finish_reason: "stop" }], usage: given["usage"] }) +
      "data: [DONE]\n\n";
    return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
  },
  "is behind a door with pages": (given, _request, call) =>
    call === 1 ? new Response(PAGE, { headers: { "Content-Type": "text/html" } }) : Response.json(given),
  "says by the clock when to come again": (given, _request, call) =>
    call === 1
      ? Response.json(
          { error: "slow down" },
          { status: 429, headers: { "Retry-After": new Date(Date.now() + 2_000).toUTCString() } },
        )
      : Response.json(given),
};

/** What users ask, and what they get. The next one asks when all that the one before has begun is done. */
async function used(app: App) {
  const done = async <Answer>(answer: Promise<Answer>) => {
    const answered = await answer;
    await app.pass(5_000, { cronsRun: false });
    return answered;
  };
  const market = await done(app.get("/mcp/market"));
  const chat = await done(app.post("/mcp/chat", { question: "How is Bitcoin?" }));
  const report = await done(app.post("/mcp/research", { token: "BTC" }));
  await issue(app);
  const signals = await app.rows("signals");
  const { checks } = z
    .object({ checks: z.object({ providers: z.record(z.string(), z.object({ works: z.boolean() })) }) })
    .parse((await app.get("/health")).body);
  return {
    statuses: [market.status, chat.status, report.status, signals.length],
    said: JSON.stringify([
      market.body,
      chat.body.answer,
      report.body,
      signals.map(({ reasoning }) => reasoning),
    ]),
    works: checks.providers["llm"]?.works,
  };
}

describe("market, chat, report and signals from a gateway that", () => {
  let good = 0;
  test("is a good one", async ({ app }) => {
    const { statuses } = await used(app);
    expect(statuses).toEqual([200, 200, 200, 2]);
    good = app.standins.sent("llm").length;
  });
  for (const [name, gateway] of Object.entries(GATEWAYS))
    test(name, async ({ app }) => {
      let calls = 0;
      intercept(async ({ url, body }, pass) => {
        if (!url.includes("/chat/completions")) return pass();
        calls += 1;
        const call = calls;
        const given = completionShape.parse(await (await pass()).json());
        return gateway(given, requestShape.parse(JSON.parse(body)), call);
      });
      const { statuses, said, works } = await used(app);
      expect([statuses, works]).toEqual([[200, 200, 200, 2], true]);
      expect(said).not.toMatch(/tool_call|†|\[\[|&amp;|&#39;|\\\\u2019|<\||Let me see|DOCTYPE/);
      expect(calls).toBeLessThanOrEqual(good + 1);
    });
});

test("thirty wrong questions of one user say nothing about the service", async ({ app }) => {
  const REFUSALS = [
    { status: 400, body: { error: { code: "content_filter", message: "The prompt was filtered" } } },
    { status: 403, body: { error: { message: "Your input was flagged by moderation" } } },
    { status: 400, body: { error: { message: "This model's maximum context length is 8192 tokens" } } },
  ];
  for (let n = 0; n < 30; n++) {
    const refusal = REFUSALS[n % REFUSALS.length];
    app.standins.clear();
    app.standins.fail("llm", { mode: "status", status: 400, ...refusal, schema: "chat" });
    const { status, body } = await app.post("/mcp/chat", {
      question: `wrong ${n}`,
      userId: "a-user-of-thirty-wrong-questions",
    });
    const words = n % REFUSALS.length === 2 ? /longer than the model can read/ : /declined to answer this/;
    if (status !== 429) expect([status, body.error]).toEqual([400, expect.stringMatching(words)]);
  }
  expect((await app.get("/health")).body).toMatchObject({ status: "ok", reasons: [] });
});

test("an empty account is said to be empty, and not asked again for an hour", async ({ app }) => {
  const body = { error: { code: "insufficient_quota", message: "You exceeded your current quota" } };
  app.standins.fail("llm", { mode: "status", status: 429, body });
  for (let n = 0; n < 3; n++) {
    const { body: told } = await app.post("/mcp/chat", { question: "hello" });
    expect(told.error).toBe("The LLM gateway reports that this service's credits are used up");
  }
  expect(app.standins.sent("llm")).toHaveLength(1);
  app.standins.clear();
  await app.pass(61 * 60_000, { cronsRun: false });
  expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(200);
});

test("a question about a token that its model declines is refused as that, and others are answered", async ({
  app,
}) => {
  const body = { error: { code: "content_filter", message: "The prompt was filtered" } };
  app.standins.fail("llm", { mode: "status", status: 400, body, schema: "token_answer" });
  const refused = await app.get("/mcp/token?question=SOL");
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringMatching(/declined to answer/)]);
  app.standins.clear();
  expect((await app.get("/mcp/token?question=ETH")).status).toBe(200);
});

test.for([
  ["sentiment", "sentiment", { code: "insufficient_quota", message: "no credits" }, 429],
  ["agentApi", "agent", "Insufficient credits", 402],
] as const)(
  "an empty account of %s is said to be empty, and not asked again for an hour",
  async ([provider, standin, error, status], { app }) => {
    app.standins.fail(standin, { mode: "status", status, body: { error } });
    const ask = async () => {
      const work =
        provider === "sentiment"
          ? app.post("/mcp/research", { token: "BTC" })
          : app.t.action(internal.whales.actions.askForAlerts, {});
      await app.pass(16 * 60_000, { cronsRun: false });
      await work;
    };
    await ask();
    await ask();
    expect(app.standins.sent(standin)).toHaveLength(1);
    const { body } = await app.get("/health");
    expect(body).toMatchObject({
      checks: { providers: { [provider]: { works: false, refuses: "account" } } },
    });
    expect(body["reasons"]).toEqual([
      expect.stringMatching(
        new RegExp(`^calls of ${provider} fail since .*: this service's account has no credits left$`),
      ),
    ]);
    app.standins.clear();
    await app.pass(61 * 60_000, { cronsRun: false });
    await ask();
    expect(app.standins.sent(standin).length).toBeGreaterThan(1);
    expect((await app.get("/health")).body["reasons"]).toEqual([]);
  },
);

/** rotki #10292; assets_tracker #649. */
test("a source that refuses, is gone or has changed its shape is named", async ({ app }) => {
  const LIST = /coingecko|\/api\/v3\//;
  const silent = () => new Response('{"status":{"error_code":10010}}', { status: 400 });
  intercept(({ url }, pass) => (LIST.test(url) ? Promise.resolve(silent()) : pass()));
  for (let n = 0; n < 3; n++) {
    await app.get("/mcp/market");
    await app.pass(11 * 60_000, { cronsRun: false });
  }
  expect(JSON.stringify((await app.get("/health")).body["reasons"])).toContain("coingecko");
  const page = await app.get("/status", { headers: { Accept: "text/html" } });
  expect(page.text).toContain("CoinGecko does not answer");
});

test("a key is sent to its provider's address and to no other", async ({ app }) => {
  const redirects: unknown[] = [];
  const inner = globalThis.fetch;
  Object.assign(globalThis, {
    fetch: (input: RequestInfo | URL, init?: RequestInit) => {
      const headers = new Headers(init?.headers);
      const isKeyed = ["authorization", "x-api-key", "0x-api-key", "x-cg-demo-api-key"].some((name) =>
        headers.has(name),
      );
      if (isKeyed) redirects.push(init?.redirect);
      return inner(input, init);
    },
  });
  await app.post("/mcp/chat", { question: "hello" });
  await app.post("/mcp/research", { token: "BTC" });
  Object.assign(globalThis, { fetch: inner });
  expect(redirects.length).toBeGreaterThan(3);
  expect(new Set(redirects)).toEqual(new Set(["error"]));
});
