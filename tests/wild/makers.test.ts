import { describe, expect, test } from "vitest";
import * as z from "zod";
import { parseAmountText, parseAnswer } from "../../convex/figures/answers";
import { asMeant, decodeText } from "../../convex/lib/text/markup";
import { readRawInput } from "../../convex/platform/http/request";
import { parseArticles } from "../../convex/providers/data/headlines";
import { cleanText } from "../../convex/providers/models/cleaning";
import { parseResponseBody } from "../../convex/providers/models/wire";

/**
 * Forms of every maker beyond those of public reports: chat templates as they are published with the models, answers as
 * the makers' own interfaces have them. A kind is described once, so a form that is in no list is read as well.
 */

const read = (text: string) => asMeant(cleanText(text)).trim();
const CALL = '{"name": "search", "arguments": {"q": "btc"}}';

describe("a text is", () => {
  test.each([
    ["of DeepSeek", "<think>\nhm\n</think>\n\nQuiet.<｜end▁of▁sentence｜>"],
    ["of DeepSeek, from its template", "<｜begin▁of▁sentence｜><｜Assistant｜>Quiet."],
    ["of Cohere", "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Quiet.<|END_RESPONSE|>"],
    ["of Skywork", "<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Quiet.<|end_of_solution|>"],
    ["of Seed", "<seed:think>hm<seed:cot_budget_reflect>x</seed:cot_budget_reflect></seed:think>Quiet."],
    ["of MiniMax", "<mm:think>hm</mm:think>Quiet."],
    ["of MiniMax, from its template", "]~b]ai\nQuiet.[e~["],
    ["of Magistral", "[BEGIN_THOUGHT]hm[END_THOUGHT]Quiet."],
    ["of GLM", "<think>hm</think>\n<|begin_of_box|>Quiet.<|end_of_box|><|user|>"],
    ["of Kimi", "◁think▷hm◁/think▷Quiet.<|im_end|>"],
    ["of gpt-oss", "<|channel|>final <|constrain|>json<|message|>Quiet.<|return|>"],
    [
      "of gpt-oss, with words before a call",
      "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Quiet.",
    ],
    ["of Gemma", "<|turn>model\n<|channel>thought\nhm<channel|>Quiet.<turn|>"],
    ["of MedGemma", "<unused94>thought\nhm<unused95>Quiet."],
    ["of Llama", "<|header_start|>assistant<|header_end|>\n\nQuiet.<|eot|>"],
    ["of Ling", "<role>ASSISTANT</role>Quiet.<|role_end|>"],
    ["of Nemotron", "<extra_id_1>Assistant\nQuiet."],
    ["of SmolVLM", "Quiet.<end_of_utterance>"],
    ["of Functionary", ">>>all\nQuiet."],
    ["of Qwen, in another turn", "<|im_start|>think\nhm<|im_end|>\n<|im_start|>assistant\nQuiet.<|im_end|>"],
    ["of an agent", "Thought: I look\nAction: search\nFinal Answer: Quiet."],
    ["named by its role", "Assistant: Quiet."],
    ["under a heading", "### Response:\nQuiet."],
    ["behind a process", "<thinking_process>hm</thinking_process>Quiet."],
    ["behind a plan", "<analysis>hm</analysis>Quiet."],
    ["with marks escaped by a page", "&lt;think&gt;hm&lt;/think&gt;Quiet."],
    ["with marks escaped by JSON", "<think>hm<\\/think>Quiet."],
    ["before thoughts without an end", "Quiet.<think>more"],
    ["in a tag without an end", "<think>hm</think><answer>Quiet."],
    ["in a tag behind words", "I think so. <answer>Quiet.</answer>"],
    ["behind an empty mark", "<think/>Quiet."],
  ])("%s", (_name, text) => {
    expect(read(text)).toBe("Quiet.");
  });

  test.each([
    `<｜DSML｜tool_calls>\n<｜DSML｜invoke name="s">\n<｜DSML｜parameter name="q">b</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>`,
    "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>x<｜tool▁output▁end｜><｜tool▁outputs▁end｜>",
    "<tool_call>\n<function=search>\n<parameter=q>\nbtc\n</parameter>\n</function>\n</tool_call>\n",
    "<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>btc</arg_value>\n</tool_call>\n",
    '<|tool_calls_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|>{"q":"b"}<|tool_call_end|><|tool_calls_section_end|>',
    '<|python_tag|>brave_search.call(query="btc")<|eom_id|>',
    '<|python_start|>[search(q="btc")]<|python_end|>',
    '[TOOL_CALLS]search[ARGS]{"q": "btc"}\n\n',
    '<|channel|>commentary to=functions.s <|constrain|>json<|message|>{"q":"b"}<|call|>',
    `<|START_ACTION|>[${CALL}]<|END_ACTION|>`,
    '<|tool_call>call:search{q:<|"|>btc<|"|>}<tool_call|>',
    '<|tool_call_start|>[search(q="btc")]<|tool_call_end|>',
    `<|tools_prefix|>[${CALL}]<|tools_suffix|>`,
    `<TOOLCALL>[${CALL}]</TOOLCALL>`,
    `<longcat_tool_call>${CALL}</longcat_tool_call>`,
    `<functioncall>${CALL}</functioncall>`,
    "<start_function_response>response:x{a:1}<end_function_response>",
    `<seed:tool_call>\n<function=s>\n<parameter=q>b</parameter>\n</function>\n</seed:tool_call>`,
    '✿FUNCTION✿: search\n✿ARGS✿: {"q":"b"}\n✿RESULT✿: x\n✿RETURN✿: ',
    "<web_search>btc</web_search>",
    `\`\`\`xml\n<tool_call>${CALL}</tool_call>\n\`\`\`\n`,
  ])("without the call %s", (call) => {
    expect(read(`${call}Quiet.`)).toBe("Quiet.");
  });

  test.each([
    ...[
      "Quiet【turn0search1】.",
      "Quiet 【4:0†report.pdf】.",
      "Quiet [1†L3-L7].",
      "Quiet [[2, 3]].",
      "Quiet ［1］.",
    ],
    ...[
      "Quiet [1](https://x.test/a).",
      "Quiet ([1](https://x.test/a)).",
      "Quiet [\\[1\\]](https://x.test/a).",
    ],
    ...["Quiet [web:1][web:2].", "Quiet [post:12].", "Quiet [Source 1].", "Quiet [doc1].", "Quiet [ref_1]."],
    ...[
      "Quiet [1:0].",
      "Quiet [1-3].",
      "Quiet [#1].",
      "Quiet \\[1\\].",
      "Quiet 〔1〕.",
      "Quiet (Source: [1]).",
    ],
    ...[
      "[cite_start]Quiet [cite: 1, 2].",
      "Quiet [^source1].",
      "Quiet.¹",
      "Quiet {{cite:1}}.",
      "Quiet (cite: 1).",
    ],
    ...["Quiet [^1].\n\n[^1]: https://x.test/a", 'Quiet <citation index="1"/>.', "Quiet <|citation|>."],
    "Quiet [1].\n\n**Sources:**\n1. [CoinDesk](https://x.test/a)\n2. https://x.test/b",
    'Quiet <grok:render type="x"><argument name="citation_id">1</argument></grok:render>.',
  ])("without the citation in %s", (text) => {
    expect(read(text)).toBe("Quiet.");
  });

  test.each([
    ...[
      "Bitcoin rose [f12].",
      "BTC [f1][f2] is up.",
      "S1 at [S1] holds.",
      "5 < 6 and 7 > 3",
      "a <b and c> d",
    ],
    ...[
      "Use `<think>` and `<|im_end|>` here.",
      "[see docs](https://a.test)",
      "It's 10² wide.",
      "AI: a sector",
    ],
    "Sources: the miners sold.\n- Fees fell.",
  ])("itself: %s", (text) => {
    expect(read(text)).toBe(text);
  });
});

describe("an answer is found", () => {
  const message = (content: unknown) =>
    JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }] });
  test.each([
    ["in Ollama's other form", JSON.stringify({ response: "Quiet.", done: true, done_reason: "stop" })],
    ["in Cohere's", JSON.stringify({ text: "Quiet.", finish_reason: "COMPLETE" })],
    [
      "in Cloudflare's",
      JSON.stringify({ result: { response: "Quiet." }, success: true, errors: [], messages: [] }),
    ],
    ["in Hugging Face's", JSON.stringify([{ generated_text: "Quiet." }])],
    [
      "in Bedrock's",
      JSON.stringify({ output: { message: { content: [{ text: "Quiet." }] } }, stopReason: "end_turn" }),
    ],
    [
      "in DashScope's",
      JSON.stringify({ output: { choices: [{ message: { content: "Quiet." }, finish_reason: "stop" }] } }),
    ],
    [
      "in Google's stream, as a list",
      JSON.stringify([
        { candidates: [{ content: { parts: [{ text: "Qui" }] } }] },
        { candidates: [{ content: { parts: [{ text: "et." }] }, finishReason: "STOP" }] },
      ]),
    ],
    [
      "in Anthropic's stream",
      'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Quiet."}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
    ],
    [
      "in an event of several lines",
      'data: {"choices":[{"delta":\ndata: {"content":"Quiet."},"finish_reason":"stop"}]}\n\n',
    ],
    [
      "in events that end with carriage returns",
      'data: {"choices":[{"delta":{"content":"Quiet."}}]}\r\rdata: [DONE]\r\r',
    ],
    ["in a body that is text", JSON.stringify(message("Quiet."))],
    ["behind a guard", `)]}',\n${message("Quiet.")}`],
    [
      "in the second choice",
      JSON.stringify({
        choices: [{ message: { content: "" } }, { message: { content: "Quiet." }, finish_reason: "stop" }],
      }),
    ],
    [
      "in other reasoning",
      JSON.stringify({ choices: [{ message: { reasoning: { content: "Quiet." } }, finish_reason: "stop" }] }),
    ],
    ["in JSON that nobody wanted", message('{"answer": "Quiet."}')],
    ["in a fence of it", message('```json\n{"response": "Quiet."}\n```')],
    ["in a fence", message("```markdown\nQuiet.\n```")],
    ["in quotation marks", message('"Quiet."')],
  ])("%s", (_name, sent) => {
    expect(parseResponseBody(sent)).toMatchObject({ kind: "answer", text: "Quiet.", isCut: false });
  });

  test.each([
    ['{"detail":"Rate limit exceeded"}', { kind: "failure", status: 429 }],
    ['{"message":"Internal error","code":500}', { kind: "failure", status: 500 }],
    ['{"errors":[{"message":"x","code":429}]}', { kind: "failure", status: 429 }],
    [
      '{"base_resp":{"status_code":1002,"status_msg":"rate limit"},"choices":null}',
      { kind: "failure", status: 429 },
    ],
    ["event: error\ndata: overloaded\n\n", { kind: "failure", status: 502 }],
    ['{"promptFeedback":{"blockReason":"SAFETY"}}', { kind: "declined" }],
    [message('{"name": "search", "parameters": {"q": "b"}}'), { kind: "answer", text: "" }],
    [message(`[${CALL}]`), { kind: "answer", text: "" }],
  ])("nowhere in %s", (sent, outcome) => {
    expect(parseResponseBody(sent)).toMatchObject(outcome);
  });

  const shape = z.object({
    ...{ signal: z.enum(["BUY", "HOLD"]), price: z.number(), note: z.string() },
    ...{ list: z.array(z.string()), more: z.string().nullable(), ok: z.boolean() },
  });
  const VALUE = { signal: "HOLD", price: 1234.5, note: "Quiet.", list: ["a", "b"], more: null, ok: true };
  const WRITTEN = JSON.stringify(VALUE);
  const given = (fields: object) => JSON.stringify({ ...VALUE, ...fields });
  test.each([
    ...["1 234.5", "1'234.5", "1_234.5", "１２３４.５", "= 1234.5"].map((price) => given({ price })),
    ...["1234.5.", "Decimal('1234.5')", "np.float64(1234.5)", "1234.5 [1]"].map((price) =>
      WRITTEN.replace("1234.5", price),
    ),
    ...[
      given({ price: { value: 1234.5, unit: "USD" } }),
      given({ price: [1234.5] }),
      given({ price: "1234.5 [f3]" }),
    ],
    ...[given({ list: "a, b" }), given({ list: "- a\n- b" }), given({ list: { 0: "a", 1: "b" } })],
    ...[given({ list: { items: ["a", "b"] } }), given({ list: [{ text: "a" }, { text: "b" }] })],
    ...[given({ ok: "true" }), given({ ok: "yes" }), given({ note: ["Quiet."] })],
    ...[
      given({ note: { text: "Quiet." } }),
      given({ signal: ["HOLD"] }),
      given({ signal: { value: "HOLD" } }),
    ],
    ...[
      `[${WRITTEN}]`,
      `[[${WRITTEN}]]`,
      JSON.stringify([WRITTEN]),
      JSON.stringify({ tool: "x", args: VALUE }),
    ],
    JSON.stringify({ tool_calls: [{ function: { name: "x", arguments: WRITTEN } }] }),
    JSON.stringify(Object.fromEntries(Object.entries(VALUE).map(([name, value]) => [name, { value }]))),
    ...["：", " =", " =>"].map((colon) => WRITTEN.replaceAll('":', `"${colon}`)),
    ...["，", ";", ",\u2028", ",\u00a0"].map((comma) => WRITTEN.replaceAll(",", comma)),
    ...["″", "»", "＂", "&quot;"].map((mark) => WRITTEN.replaceAll('"', mark)),
    ...['"Quiet." [1]', '"""Quiet."""', '"Qui" + "et."', '"Quiet."【1†source】'].map((note) =>
      WRITTEN.replace('"Quiet."', note),
    ),
    WRITTEN.replace('["a","b"]', '("a", "b")'),
  ])("in %s", (text) => {
    expect(parseAnswer(shape, cleanText(text), "")).toEqual({ value: VALUE });
  });

  test.each([
    ...[given({ price: { value: 1.2, unit: "billion" } }), given({ price: "10²" }), given({ price: "1-2" })],
    ...[`{"a": ${WRITTEN}, "b": ${WRITTEN}}`, `${WRITTEN.slice(0, -1)}, ...}`],
    JSON.stringify(z.toJSONSchema(shape)),
  ])("and not invented: %s", (text) => {
    expect(parseAnswer(shape, text, "")).toHaveProperty("problem");
  });
  test.each(["1,234M", "1.234,5", "1 2", "12 34", "5 EUR", "1e400"])("and %s is no number", (text) => {
    expect(parseAmountText(text)).toBeUndefined();
  });
});

describe("a feed is read", () => {
  const DATE = "2026-01-05T08:00:00Z";
  const HREF = "https://site.test/a";
  test.each([
    `<rdf:RDF xmlns:rdf="x" xmlns:dc="y"><item rdf:about="${HREF}"><title>Quiet</title><dc:date>${DATE}</dc:date></item></rdf:RDF>`,
    `<rdf:RDF xmlns:rss="x"><rss:item><rss:title>Quiet</rss:title><rss:link>${HREF}</rss:link><dc:date>${DATE}</dc:date></rss:item></rdf:RDF>`,
    `<atom:feed xmlns:atom="x"><atom:entry><atom:title>Quiet</atom:title><atom:link href="${HREF}"/><atom:published>${DATE}</atom:published></atom:entry></atom:feed>`,
    `<feed><entry><title>Quiet</title><id>${HREF}</id><updated>${DATE}</updated></entry></feed>`,
    `<RSS><CHANNEL><ITEM><TITLE>Quiet</TITLE><LINK>${HREF}</LINK><PUBDATE>${DATE}</PUBDATE></ITEM></CHANNEL></RSS>`,
    `<rss><channel><item><title>Quiet</title><link/><guid>${HREF}</guid><pubDate>${DATE}</pubDate></item></channel></rss>`,
    `<rss><channel><item><title>Quiet</title><link>//site.test/a</link><pubDate>${DATE}</pubDate></item></channel></rss>`,
    `<rss><channel><item><title><![CDATA[<script>x</script>Quiet]]></title><link>${HREF}</link><pubDate>${DATE}</pubDate></item></channel></rss>`,
  ])("%s", (feed) => {
    expect(parseArticles(feed)).toMatchObject([{ title: "Quiet", url: HREF }]);
  });
});

describe("a text is decoded", () => {
  const utf16 = (text: string) => new Uint8Array(Buffer.from(text, "utf16le"));
  const latin = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
  test.each<[string, Uint8Array, string, string]>([
    ["by its type", latin("Köln"), "application/json; charset=iso-8859-1", "Köln"],
    ["by its mark", utf16("\uFEFFKöln"), "application/json", "Köln"],
    ["by its zeros", utf16("Köln"), "application/json", "Köln"],
    ["by its declaration", latin('<?xml version="1.0" encoding="ISO-8859-1"?>Köln'), "text/xml", "Köln"],
    ["as Windows writes it", latin("\x93Köln\x94"), "text/plain; charset=windows-1252", "“Köln”"],
    ["where its type is wrong", new TextEncoder().encode("Köln"), "text/xml; charset=iso-8859-1", "Köln"],
  ])("%s", (_name, bytes, type, text) => {
    expect(decodeText(bytes, type)).toMatchObject({ text: expect.stringContaining(text), isBroken: false });
  });
  test("or said to be none", () => {
    expect(decodeText(latin("Köln"), "text/plain; charset=nonsense").isBroken).toBe(true);
  });
});

test("the fields of a form are an input, and JSON under its name is JSON", () => {
  const post = (body: string, type = "application/x-www-form-urlencoded; charset=UTF-8") =>
    readRawInput(
      new Request("https://x.test/a", { method: "POST", headers: { "Content-Type": type } }),
      body,
      false,
    );
  expect(post("question=Was+kostet+K%C3%B6ln%3F&userId=a")).toEqual({
    question: "Was kostet Köln?",
    userId: "a",
  });
  expect(post('{"question":"a=b"}')).toEqual({ question: "a=b" });
  expect(() => post("question=a", "application/json")).toThrow(/JSON/);
  const copied = new Request("https://x.test/a?token=BTC&amp;userId=a");
  expect(readRawInput(copied, "", false)).toEqual({ token: "BTC", userId: "a" });
});
