import { describe, expect, test as pure } from "vitest";
import * as z from "zod";
import { parseAnswer } from "../../convex/figures/answers";
import { cleanText } from "../../convex/providers/models/cleaning";
import { parseResponseBody } from "../../convex/providers/models/wire";
import { createApp, test } from "../support/app";
import { intercept } from "../support/outside";

/** How gateways and models in the wild answer, as reported in public. */

const body = (content: unknown, more: Record<string, unknown> = {}, choice: Record<string, unknown> = {}) =>
  JSON.stringify({
    model: "m",
    choices: [{ message: { role: "assistant", content }, finish_reason: "stop", ...choice }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ...more,
  });
const shape = z.object({ signal: z.enum(["BUY", "SELL", "HOLD"]) });
const HOLD = '{"signal":"HOLD"}';
const BUY = '{"signal":"BUY", "why": "a long draft that is longer than the answer itself"}';

/** DeepTutor #675, #1388; flight-finder #208; OpenMAIC #750; openclaw #69843; hermes-agent #59461. */
describe("what a model thinks is not its answer", () => {
  pure.each([
    ["closed", `<think>${BUY}</think>${HOLD}`],
    ["with attributes, in capitals", `<THINKING lang="en">\n${BUY}\n</THINKING>\n${HOLD}`],
    ["of another name", `<reasoning>${BUY}</reasoning>${HOLD}`],
    ["with a vendor's prefix", `<thinking>${BUY}</thinking>${HOLD}`],
    ["nested", `<think>${BUY}<think>no</think>more</think>${HOLD}`],
    ["twice", `<think>${BUY}</think><think>${BUY}</think>${HOLD}`],
    ["only a bare end", `${BUY} so\n</think>\n${HOLD}`],
    ["never closed, behind the answer", `${HOLD}\n<think>or rather ${BUY}`],
    ["in brackets", `[THINK]${BUY}[/THINK]${HOLD}`],
    ["between triangles", `◁think▷${BUY}◁/think▷${HOLD}`],
    ["between pipes", `<|begin_of_thought|>${BUY}<|end_of_thought|>${HOLD}`],
    [
      "in a channel",
      `<|channel|>analysis<|message|>${BUY}<|end|><|start|>assistant<|channel|>final<|message|>${HOLD}<|return|>`,
    ],
    ["in a channel of another form", `<|channel>thought\n${BUY}<channel|>${HOLD}`],
    ["in a channel without its marks", `analysis${BUY}assistantfinal${HOLD}`],
    ["in a fence", "```thinking\n" + BUY + "\n```\n" + HOLD],
    ["folded away", `<details type="reasoning" done="true">${BUY}</details>${HOLD}`],
    ["as a corrected draft", `${BUY}\nOn reflection:\n${HOLD}`],
    [
      "as a draft in fences",
      "```json\n" + BUY + "\n```\nCorrected:\n```json\n" + HOLD + "\n```\nSource [1].",
    ],
    ["in an answer's tag", `<think>${BUY}</think>\n<answer>${HOLD}</answer>`],
  ])("%s", (_name, text) => {
    expect(parseAnswer(shape, cleanText(text), "")).toEqual({ value: { signal: "HOLD" } });
  });

  pure.each([
    `<think>${HOLD}`,
    `<think>${HOLD}</think>`,
    "<|channel|>analysis<|message|>hm",
    "thinking…</think>",
  ])("only thoughts are no answer: %s", (text) => {
    const read = parseResponseBody(body(text));
    expect(read.kind === "answer" ? parseAnswer(shape, read.text, "") : read).toHaveProperty("problem");
  });

  pure("a mark that is talked about stays", () => {
    const text = "Models write `<think>` before and `</think>` behind it.";
    expect(cleanText(text)).toBe(text);
  });

  pure("a long answer takes no longer than its length", () => {
    // Where the time grows with the square of the length, this one hangs.
    const text = "A word. ".repeat(100_000).trim();
    expect(cleanText(text)).toBe(text);
  });

  test("in a chat", async ({ app }) => {
    app.standins.fail("llm", {
      mode: "reply",
      content: "<think>The user greets.</think>Hello.",
      schema: "chat",
      times: 1,
    });
    expect((await app.post("/mcp/chat", { question: "hello" })).body.answer).toBe("Hello.");
    app.standins.fail("llm", { mode: "reply", content: "<think>The user greets.", schema: "chat" });
    expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(502);
  });
});

/** bifrost #5425; arbr #34, #253. */
describe("only a good end is an end", () => {
  const ended = (finish_reason: unknown, more: Record<string, unknown> = {}) =>
    parseResponseBody(body("Half a", {}, { finish_reason, ...more }));
  pure.each(["stop", "STOP", "end_turn", "stop_sequence", "eos", "FINISH_REASON_STOP", null, ""])(
    "whole: %s",
    (end) => {
      expect(ended(end)).toMatchObject({ kind: "answer", isCut: false });
    },
  );
  pure.each([
    "length",
    "MAX_TOKENS",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "token_limit",
    "incomplete",
  ])("cut: %s", (end) => {
    expect(ended(end)).toMatchObject({ kind: "answer", isCut: true });
  });
  pure("cut in the model's own word only", () => {
    expect(ended("stop", { native_finish_reason: "MAX_TOKENS" })).toMatchObject({ isCut: true });
  });
  pure.each([
    "error",
    "tool_calls",
    "function_call",
    "abort",
    "MALFORMED_FUNCTION_CALL",
    "other",
    "unheard of",
  ])("none: %s", (end) => {
    expect(ended(end)).toEqual({ kind: "broken" });
  });
  pure.each(["content_filter", "SAFETY", "refusal", "RECITATION"])("declined: %s", (end) => {
    expect(ended(end)).toEqual({ kind: "declined" });
  });
  pure("declined in a field of its own: an empty answer, which may be repaired once", () => {
    const message = { content: null, refusal: "I cannot help with that." };
    expect(parseResponseBody(body(null, {}, { message }))).toMatchObject({ kind: "answer", text: "" });
  });

  test("half a sentence is no answer of a chat", async ({ app }) => {
    intercept(({ url }, pass) =>
      url.includes("/chat/completions")
        ? Promise.resolve(new Response(body("Bitcoin is at", {}, { finish_reason: "error" })))
        : pass(),
    );
    const { status, body: told } = await app.post("/mcp/chat", { question: "hello" });
    expect([status, told.error]).toEqual([502, "The LLM gateway broke off its answer"]);
  });
});

/** litellm #18468; vercel/ai #17779; unsloth #6570; mistral.rs #79. */
describe("an accessory does not decide over the content", () => {
  pure.each([
    ["no total", body("Hi", { usage: { prompt_tokens: 10, completion_tokens: 5 } }), 15],
    ["other names", body("Hi", { usage: { input_tokens: "10", output_tokens: 5 } }), 15],
    ["a broken count", body("Hi", { usage: { prompt_tokens: -1, total_tokens: 15 } }), 15],
  ])("usage: %s", (_name, sent, total) => {
    expect(parseResponseBody(sent)).toMatchObject({ kind: "answer", text: "Hi", usage: { total } });
  });
  pure.each([
    ["no usage", body("Hi", { usage: null })],
    ["an empty model", body("Hi", { model: "" })],
    ["no model", body("Hi", { model: undefined })],
    [
      "parts",
      body([
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "H" },
        { type: "output_text", text: "i" },
      ]),
    ],
    ["strings as parts", body(["H", "i"])],
    ["one part", body({ type: "text", text: "Hi" })],
    ["a text", JSON.stringify({ choices: [{ text: "Hi" }] })],
    ["an envelope", JSON.stringify({ success: true, data: JSON.parse(body("Hi")) })],
    ["a list of one", `[${body("Hi")}]`],
    ["a mark before it", `\uFEFF  ${body("Hi")}`],
    [
      "a comment and events",
      ': ping\n\ndata: {"choices":[{"delta":{"content":"H"}}]}\n\ndata: {"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n',
    ],
    [
      "events with an empty last",
      'data: {"choices":[{"delta":{"content":"Hi"}}]}\r\n\r\ndata: {"choices":[],"usage":{"total_tokens":3}}\r\n\r\ndata: [DONE]',
    ],
    [
      "lines",
      '{"choices":[{"delta":{"content":"H"}}]}\n{"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}',
    ],
    ["a null error beside it", body("Hi", { error: null })],
  ])("%s", (_name, sent) => {
    expect(parseResponseBody(sent)).toMatchObject({ kind: "answer", text: "Hi", isCut: false });
  });
  pure("a stream without an end broke off", () => {
    expect(parseResponseBody('data: {"choices":[{"delta":{"content":"Half"}}]}\n\n')).toEqual({
      kind: "broken",
    });
  });
  pure.each([
    "",
    "<html>busy</html>",
    "null",
    "[]",
    "{}",
    '{"choices":[]}',
    '{"choices":[null]}',
    "7",
    '"text"',
  ])("no completion at all: %s", (sent) => {
    const read = parseResponseBody(sent);
    expect(read.kind === "answer" ? read.text : "").toBe("");
  });

  test("a chat is answered", async ({ app }) => {
    intercept(({ url }, pass) =>
      url.includes("/chat/completions")
        ? Promise.resolve(
            new Response(body("Hello.", { usage: {}, model: "" }), {
              headers: { "Content-Type": "text/plain" },
            }),
          )
        : pass(),
    );
    const { status, body: told } = await app.post("/mcp/chat", { question: "hello" });
    expect([status, told.answer, told.model]).toEqual([200, "Hello.", expect.stringMatching(/./)]);
  });
});

/** nodetool #5755; inspect_ai #5528. */
describe("the bill follows what was written", () => {
  pure.each([
    ['{"error":{"code":429,"message":"slow down"}}', 429],
    ['{"error":{"code":"rate_limit_exceeded"}}', 429],
    ['[{"error":{"code":503,"status":"UNAVAILABLE"}}]', 503],
    ['{"error":"Insufficient credits"}', 402],
    ['{"error":{"message":"something"},"choices":[]}', 502],
    ['{"choices":[{"error":{"code":502},"finish_reason":"error","message":{"content":"half"}}]}', 502],
    ['data: {"error":{"code":429}}\n\n', 429],
  ])("a failure inside a success: %s", (sent, status) => {
    expect(parseResponseBody(sent)).toEqual({ kind: "failure", status });
  });
  pure("what a model thinks is output", () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 410 };
    expect(parseResponseBody(body("Hi", { usage }))).toMatchObject({
      usage: { input: 100, output: 310, total: 410 },
    });
  });
});

/** nanobot #100; dsh-telegram #19, #33; ironclaw #7072. */
describe("words are cleaned before they are judged", () => {
  pure.each([
    "\u200B\u2060\uFEFF",
    " \u2800 ",
    "\u200D",
    "\u0000",
    "\u001B[31m\u001B[0m",
    "\u3164",
    "<|im_end|>",
    "</s>",
    "\uFE0F",
  ])("nothing: %j", (content) => {
    expect(parseResponseBody(body(content))).toMatchObject({ kind: "answer", text: "" });
  });
  pure.each([
    ["a\u0000b\u001B[1mc\u0007", "abc"],
    ["a\r\nb\tc", "a\nb\tc"],
    ["right\u202Eleft", "rightleft"],
    ["family 👨‍👩‍👧", "family 👨‍👩‍👧"],
    ["half \uD83D", "half \uFFFD"],
    ["<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nmore", "Hello"],
    ["Hello<|eot_id|><|start_header_id|>user", "Hello"],
    ["<s> Hello </s>", "Hello"],
    ["<start_of_turn>model\nHello<end_of_turn>", "Hello"],
  ])("%j", (content, text) => {
    expect(cleanText(content)).toBe(text);
  });

  test("an answer of nothing is no answer", async ({ app }) => {
    app.standins.fail("llm", { mode: "reply", content: "\u200B\u2060", schema: "chat" });
    expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(502);
  });
});

/** gdelt-doc-api #26; SICTIC-AI #37; best-effort-json-parser #4. */
describe("one slip does not spoil an answer", () => {
  const noted = z.object({ note: z.string(), list: z.array(z.number()) });
  pure.each([
    ["a trailing comma", '{"note": "a", "list": [1, 2,],}', "a"],
    ["a raw line break", '{"note": "a\nb", "list": [1, 2]}', "a\nb"],
    ["a tab", '{"note": "a\tb", "list": [1, 2]}', "a\tb"],
    ["an escaped quote of another kind", String.raw`{"note": "it\'s", "list": [1, 2]}`, "it's"],
    ["an escaped dollar", String.raw`{"note": "\$5 \_x\_", "list": [1, 2]}`, "$5 _x_"],
    ["half an escape", String.raw`{"note": "a\u12", "list": [1, 2]}`, "au12"],
    ["a comma in a text", '{"note": "a,}", "list": [1, 2,]}', "a,}"],
    ["a fence and words", 'Here:\n```json\n{"note": "a", "list": [1, 2,]}\n```\nAsk me more!', "a"],
  ])("%s", (_name, text, note) => {
    expect(parseAnswer(noted, text, "")).toEqual({ value: { note, list: [1, 2] } });
  });
});

/** Addresses as Z.ai, Gemini, Groq and Azure document them. */
test.for([
  ["https://gateway.test", "https://gateway.test/v1/chat/completions"],
  ["https://gateway.test/v1/", "https://gateway.test/v1/chat/completions"],
  ["https://gateway.test/openai/v1", "https://gateway.test/openai/v1/chat/completions"],
  ["https://gateway.test/api/paas/v4", "https://gateway.test/api/paas/v4/chat/completions"],
  ["https://gateway.test/v1beta/openai/", "https://gateway.test/v1beta/openai/chat/completions"],
  ["https://gateway.test/v1/chat/completions", "https://gateway.test/v1/chat/completions"],
] as const)("%s is asked at the version that it names", async ([endpoint, address]) => {
  const app = createApp({ env: { LLM_ENDPOINT: endpoint } });
  const asked: string[] = [];
  intercept(({ url }, pass) => {
    if (!url.startsWith("https://gateway.test")) return pass();
    asked.push(url);
    return Promise.resolve(new Response(body("Hello there.")));
  });
  expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(200);
  expect(asked).toEqual([address]);
});
