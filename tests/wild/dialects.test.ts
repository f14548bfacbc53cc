import fc from "fast-check";
import { describe, expect, test as pure } from "vitest";
import * as z from "zod";
import { parseCommand } from "../../convex/bot/commands";
import { parseAnswer } from "../../convex/figures/answers";
import { numberSources, buildCitationIndex, toSource } from "../../convex/figures/citations";
import { resolveFigures } from "../../convex/figures/placeholders";
import { indexNames } from "../../convex/figures/mentions";
import { extractJson } from "../../convex/lib/text/json";
import { asMeant } from "../../convex/lib/text/markup";
import { parseArticles } from "../../convex/providers/data/headlines";
import { cleanText } from "../../convex/providers/models/cleaning";
import { parseResponseBody } from "../../convex/providers/models/wire";

/** How models, gateways and feeds write, as reported in public: each form is read, and nothing is invented. */

const body = (message: Record<string, unknown>, finish_reason: unknown = "stop") =>
  JSON.stringify({ model: "m", choices: [{ message, finish_reason }], usage: { total_tokens: 9 } });
const shape = z.object({ signal: z.enum(["BUY", "HOLD"]), price: z.number(), note: z.string() });
const VALUE = { signal: "HOLD", price: 1_234.5, note: "Quiet." };
const WRITTEN = JSON.stringify(VALUE);
const read = (text: string) => parseAnswer(shape, text, "");

/** covan #112; llm_wiki #743; CoursIA #8454; ollama #2605; omlx #2990. */
describe("an end at the limit", () => {
  pure("of a model that only thought is no answer", () => {
    const thinking = body({ content: "", reasoning_content: "Let me see" }, "length");
    expect(parseResponseBody(thinking)).toMatchObject({ kind: "answer", text: "", isCut: true });
  });
  pure("behind a whole answer and blanks is none", () => {
    expect(parseResponseBody(body({ content: `Quiet.${" ".repeat(400)}` }, "length"))).toMatchObject({
      isCut: false,
    });
    expect(parseResponseBody(body({ content: `Quiet and${" ".repeat(400)}` }, "length"))).toMatchObject({
      isCut: true,
    });
    expect(parseResponseBody(body({ content: "Quiet. " }, "length"))).toMatchObject({ isCut: true });
  });
});

/** vllm #17357, #19839; inference #3673; litellm #6741. */
describe("the answer stands elsewhere", () => {
  pure.each([
    ["in reasoning_content", body({ content: null, reasoning_content: "Quiet." }), "Quiet."],
    ["in reasoning", body({ content: "", reasoning: "Quiet." }), "Quiet."],
    [
      "in details",
      body({ content: null, reasoning_details: [{ type: "reasoning.text", text: "Quiet." }] }),
      "Quiet.",
    ],
    ["only as thoughts with their mark", body({ content: null, reasoning: "<think>Hm</think>Quiet." }), ""],
    ["only as thoughts without an end", body({ content: null, reasoning: "Quiet." }, null), ""],
    [
      "in Anthropic's form",
      JSON.stringify({ content: [{ type: "text", text: "Quiet." }], stop_reason: "end_turn" }),
      "Quiet.",
    ],
    [
      "in Google's form",
      JSON.stringify({ candidates: [{ content: { parts: [{ text: "Quiet." }] }, finishReason: "STOP" }] }),
      "Quiet.",
    ],
    ["in Ollama's form", JSON.stringify({ message: { content: "Quiet." }, done_reason: "stop" }), "Quiet."],
  ])("%s", (_name, sent, text) => {
    expect(parseResponseBody(sent)).toMatchObject({ kind: "answer", text });
  });
  pure.each([
    [
      "as text",
      body({ content: null, tool_calls: [{ function: { name: "f", arguments: WRITTEN } }] }, "tool_calls"),
    ],
    [
      "as an object",
      body({ content: "I call it:", tool_calls: [{ function: { arguments: VALUE } }] }, "stop"),
    ],
    ["of the older form", body({ content: null, function_call: { arguments: WRITTEN } }, "function_call")],
    ["as a part", body({ content: [{ type: "tool_use", input: VALUE }] }, "tool_use")],
    ["in thoughts", body({ content: null, reasoning: `So: ${WRITTEN}` })],
    ["in marks of a tool", body({ content: `<tool_call>{"name":"f","arguments":${WRITTEN}}</tool_call>` })],
    [
      "in events",
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: WRITTEN.slice(0, 9) } }] } }] })}\n\n` +
        `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: WRITTEN.slice(9) } }] }, finish_reason: "tool_calls" }] })}\n\n`,
    ],
  ])("in a tool's arguments, %s", (_name, sent) => {
    const outcome = parseResponseBody(sent, true);
    expect(outcome.kind).toBe("answer");
    expect(outcome.kind === "answer" ? outcome.also.map(read) : []).toContainEqual({ value: VALUE });
  });
  pure("prose never does", () => {
    expect(
      parseResponseBody(
        body({ content: "I look", tool_calls: [{ function: { arguments: "{}" } }] }, "tool_calls"),
      ),
    ).toEqual({ kind: "broken" });
  });
});

/** datachain #1930; claude-agent-sdk-python #510; graphify #2286; json_repair #198; json-repair-rb #28; jaq #346. */
describe("what is nearly JSON", () => {
  pure.each([
    ["a JSON string", JSON.stringify(WRITTEN)],
    ["escaped without its marks", WRITTEN.replaceAll('"', '\\"')],
    ["curly marks", "{“signal”: “HOLD”, “price”: 1234.5, “note”: “Quiet.”}"],
    ["low marks", "{„signal“: „HOLD“, „price“: 1234.5, „note“: „Quiet.“}"],
    ["Python's dict", "{'signal': 'HOLD', 'price': 1234.5, 'note': 'Quiet.', 'more': None, 'is': True}"],
    ["comments", '{"signal": "HOLD", // why "so" {\n "price": 1234.5, # it is\n /* } */ "note": "Quiet."}'],
    ["a plus and thousands", '{"signal": "HOLD", "price": +1,234.5, "note": "Quiet."}'],
    ["a unit", '{"signal": "HOLD", "price": $1,234.5, "note": "Quiet."}'],
    ["words without marks", "{signal: HOLD, price: 1234.5, note: 'Quiet.'}"],
    ["missing and double commas", '{"signal": "HOLD"\n "price": 1234.5,, "note": "Quiet.",}'],
    ["an envelope", `{"name": "answer", "arguments": ${JSON.stringify(WRITTEN)}}`],
  ])("%s", (_name, text) => {
    expect(read(text)).toEqual({ value: VALUE });
    expect(read(`Here it is [1]:\n\`\`\`json\n${text}\n\`\`\`\nDone.`)).toEqual({ value: VALUE });
  });
  pure.each([
    ['{"note": "he said "hi", then left", "a": 1}', 'he said "hi", then left'],
    ['{"note": "so-called „moon" talk", "a": 1}', 'so-called „moon" talk'],
    ["{'note': 'it's so', 'a': 1}", "it's so"],
    ['{"note": "a\\nb \\$5", "a": 1}', "a\nb $5"],
  ])("marks in a text: %s", (text, note) => {
    expect(extractJson(text)).toEqual([{ note, a: 1 }]);
  });
  pure("lists and objects may be texts", () => {
    const nested = z.object({ list: z.array(z.object({ a: z.number() })), one: z.object({ b: z.string() }) });
    const text = JSON.stringify({ list: '[{"a": 1}]', one: "{'b': 'x'}" });
    expect(parseAnswer(nested, text, "")).toEqual({ value: { list: [{ a: 1 }], one: { b: "x" } } });
  });
  pure("a change of a negative percent is a number", () => {
    const change = z.object({ a: z.number(), b: z.number() });
    expect(parseAnswer(change, '{"a": -1.2%, "b": "+2.1 %"}', "")).toEqual({ value: { a: -1.2, b: 2.1 } });
  });
  pure.each([
    '{"signal": "HOLD", "price": 1',
    '{"signal": "HOLD", "price": 1, ...',
    "{f12}",
    "{}",
    '{"more": {"deep": 1}}',
    "[1, 2, ...]",
  ])("nothing is invented: %s", (text) => {
    expect(
      parseAnswer(z.object({ signal: z.string().nullable(), price: z.number().nullable() }), text, ""),
    ).toHaveProperty("problem");
  });

  /** A value in one of the forms in which models write it. */
  const quote = fc.constantFrom('"', "'", "“");
  const words = fc.stringMatching(/^[A-Za-z][A-Za-z .;?!]{0,20}$/).map((text) => text.trimEnd());
  const leaf = fc.oneof(words, fc.integer({ min: -9_999, max: 9_999 }), fc.boolean(), fc.constant(null));
  const value = fc.letrec<{ any: unknown; object: Record<string, unknown> }>((tie) => ({
    any: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("any"), { maxLength: 3 }), tie("object")),
    object: fc.dictionary(fc.stringMatching(/^[a-z][a-zA-Z]{0,8}$/), tie("any"), { minKeys: 1, maxKeys: 4 }),
  })).object;
  const write = (one: unknown, mark: string, isPython: boolean, noise: string): string => {
    const of = (inner: unknown) => write(inner, mark, isPython, noise);
    const close = mark === "“" ? "”" : mark;
    if (typeof one === "string") return mark + one + close;
    if (Array.isArray(one)) return `[${one.map(of).join(`,${noise}`)}${one.length > 0 ? noise : ""}]`;
    if (typeof one === "object" && one !== null)
      return `{${Object.entries(one)
        .map(([key, inner]) => `${mark}${key}${close}: ${of(inner)}`)
        .join(`,${noise}`)},${noise}}`;
    if (!isPython) return String(one);
    return one === null ? "None" : one === true ? "True" : one === false ? "False" : JSON.stringify(one);
  };
  const around = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => `Sure [1]:\n\`\`\`json\n${text}\n\`\`\`\nThat is all.`,
    (text) => `<think>{"a": 0}</think>${text}<|im_end|>`,
    (text) => `${text}${" \n".repeat(300)}`,
    (text) => `<answer>${text}</answer>`,
  );
  const noise = fc.constantFrom("", " ", "\n", " // a note\n", " /* {] */ ");
  pure("in any nesting of these forms is read, and no cut of it", () => {
    fc.assert(
      fc.property(
        value,
        quote,
        fc.boolean(),
        noise,
        around,
        fc.nat(),
        (given, mark, isPython, between, put, at) => {
          const text = write(given, mark, isPython, between);
          expect(extractJson(cleanText(put(text))).filter((one) => !Array.isArray(one))).toEqual([given]);
          const cut = text.slice(0, at % (text.length - 1));
          for (const one of extractJson(cut)) expect(one).not.toEqual(given);
        },
      ),
      { numRuns: 300 },
    );
  });
  pure("and a valid one is read as it is", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (given) => {
        const exact: unknown = JSON.parse(JSON.stringify(given));
        expect(extractJson(`Here: ${JSON.stringify(given)} ok`)).toEqual([exact]);
      }),
      { numRuns: 300 },
    );
  });
});

/** cerefox #222; lapras #6; DeepSeek-Reasonix #658; unsloth #4657; HolmesGPT #2349; nullclaw #371; LiveAgent #625; pi-web-access #340; vercel/ai #13201. */
describe("what stands between words", () => {
  pure.each([
    [String.raw`First.\n\nSecond.`, "First.\n\nSecond."],
    [String.raw`Say \"so\": it\u2019s`, 'Say "so": it’s'],
    ["A break\nand a \\n that is meant", "A break\nand a \\n that is meant"],
    [String.raw`The \nabla of C:\new`, String.raw`The \nabla of C:\new`],
    ["S&amp;P&#39;s &quot;500&quot; &#x2014; &amp;lt;", 'S&P\'s "500" — &lt;'],
    ["Bitcoin rose【12†source】.", "Bitcoin rose."],
    ["Bitcoin rose [[1]](https://x.test/a), they say [^2^].", "Bitcoin rose, they say."],
    ["Bitcoin rose [citation:3][1][2].", "Bitcoin rose."],
    ["Bitcoin rose \uE200cite\uE202turn0search1\uE201.", "Bitcoin rose."],
    ["Bitcoin rose :contentReference[oaicite:0]{index=0}.", "Bitcoin rose."],
    ["Bitcoin rose ([site.test](https://site.test/a?utm_source=x)).", "Bitcoin rose."],
    ["Bitcoin <cite>rose</cite><sup>[1]</sup>.", "Bitcoin rose."],
    ["Bitcoin rose [f12].", "Bitcoin rose [f12]."],
  ])("%s", (text, told) => {
    expect(asMeant(cleanText(text))).toBe(told);
  });
  const CALL = '{"name": "search", "arguments": {"q": "btc"}}';
  pure.each([
    `<tool_call>${CALL}</tool_call>`,
    `<function_calls><invoke name="search"><parameter name="q">btc</parameter></invoke></function_calls>`,
    `<function=search>{"q": "btc"}</function>`,
    `<|tool_calls_section_begin|><|tool_call_begin|>search<|tool_call_end|><|tool_calls_section_end|>`,
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    `[TOOL_REQUEST]${CALL}[END_TOOL_REQUEST]`,
    "```tool_code\nsearch('btc')\n```",
    `<start_function_call>${CALL}<end_function_call>`,
    `<|action_start|>${CALL}<|action_end|>`,
    `<minimax:tool_call>${CALL}</minimax:tool_call>`,
    `[TOOL_CALLS][${CALL}]\n\n`,
  ])("marks of a tool: %s", (call) => {
    expect(cleanText(`${call}\nQuiet.`)).toBe("Quiet.");
    expect(cleanText(call)).toBe("");
  });
  pure("a mark that is talked about stays", () => {
    expect(cleanText("It writes `<tool_call>` first.")).toBe("It writes `<tool_call>` first.");
  });
  /** elizaOS #30904; rakazo #416. */
  pure("halves of a pair in two events are one character", () => {
    const event = (content: string) => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;
    const sent = `${event("up \\ud83d")}${event("\\ude80")}data: [DONE]\n`;
    expect(parseResponseBody(sent)).toMatchObject({ text: "up 🚀" });
  });
});

/** robot.villas #84; FreshRSS #7736. */
describe("a headline is its words", () => {
  const feed = (title: string, more = "") =>
    `<rss><channel><item><title>${title}</title>${more}<link>https://site.test/a</link><pubDate>Mon, 05 Jan 2026 08:00:00 GMT</pubDate></item></channel></rss>`;
  pure.each([
    ["<![CDATA[S&amp;P <b>500</b> &#8217;s day]]>", "S&P 500 ’s day"],
    ["S&amp;amp;P up", "S&P up"],
    ["&lt;b&gt;Bitcoin&lt;/b&gt; &amp;lt; $100k", "Bitcoin < $100k"],
    ["AT&T & Bitcoin", "AT&T & Bitcoin"],
  ])("%s", (title, told) => {
    expect(parseArticles(feed(title))).toMatchObject([{ title: told }]);
  });
  pure("whatever its description is, and however broken the rest", () => {
    const body =
      "<description>a<br>b & c</description><content:encoded><![CDATA[<p>x</item>]]></content:encoded>";
    expect(parseArticles(feed("Quiet", body))).toMatchObject([{ title: "Quiet" }]);
    expect(parseArticles(`${feed("Quiet", body).slice(0, -10)}<item><title>half`)).toMatchObject([
      { title: "Quiet" },
    ]);
  });
});

describe("plain figures and words that count nothing", () => {
  const by = { observedAt: 0, source: "Coinbase", url: "" } as const;
  const facts = [
    { ...by, subject: "BTC", kind: "bidDepth", value: 47_712_345.6 },
    { ...by, subject: "BTC", kind: "askDepth", value: 52_298_000 },
    { ...by, subject: "BTC", kind: "funding", value: -0.00047 },
    { ...by, subject: "BTC", kind: "price", value: 102_912.4 },
    { ...by, subject: "ETH", kind: "dayVolume", value: 9_987_654 },
  ] as const;
  const ledger = buildCitationIndex(numberSources(facts.map((fact) => toSource(fact))), 0, {
    names: indexNames([...facts]),
    focus: "BTC",
  });
  pure.each([
    ["Bitcoin has $47.7m of bids against $52.3m [f1][f2].", "$47.7M"],
    ["Bitcoin funding is -0.0005% an hour [f3].", "−0.00047"],
    ["Bitcoin is at $102.9k [f4].", "$102,912.40"],
    ["ETH turned over 10.0 million ETH [f5].", "9,987,654"],
    ["Bitcoin made a third attempt at its high.", "a third attempt"],
    ["Bitcoin tested it twice.", "twice"],
    ["Bitcoin stays in the lower half of its range.", "lower half of"],
    ["Bids within one percent of Bitcoin's price [f1].", "one percent"],
  ])("stay: %s", (text, told) => {
    const { text: shown, leftovers } = resolveFigures(text, ledger);
    expect([leftovers, shown]).toEqual([[], expect.stringContaining(told)]);
  });
  pure.each([
    "Bitcoin has $48.2m of bids [f1].",
    "Bitcoin's price is over $102.9k [f4].",
    "ten grand of Bitcoin",
    "A third of Bitcoin's holders sold.",
    "Bitcoin is twice as large.",
    "Half of Bitcoin's supply moved.",
  ])("do not: %s", (text) => {
    expect(resolveFigures(text, ledger).text).toBe("");
  });
});

describe("a freeze is heard however it is spelled", () => {
  pure.each([
    "/freeze",
    "/freeze\u200b",
    "/ｆreeze",
    "/frееze",
    "/FREEZE!",
    "freeze",
    "/fréeze",
    "/freez",
    "/freeze now",
    "\u200e/freeze",
  ])("%s", (text) => {
    expect(parseCommand(text)).toMatchObject({ name: "freeze" });
  });
  pure.each(["how do I freeze it?", "freeze frame coin", "/unfreeze", "/free", "freezer"])(
    "but not in %s",
    (text) => {
      expect(parseCommand(text)?.name).not.toBe("freeze");
    },
  );
});
