import { parseTolerantly } from "../../lib/text/json";
import { withoutBetween, withoutCalls, withoutCitationMarks } from "../../lib/text/markup";
import { isPage, parseRefusal } from "../call";

/**
 * What gateways send, in the many forms in which they send it, as one outcome. Nothing here asks anybody: texts in, an
 * outcome out. Only the answer itself decides whether there is one; whatever stands beside it is estimated if it lacks.
 */

export type ModelOutcome =
  | {
      kind: "answer";
      /** Clean: no thoughts, no marks of a model's own format, nothing invisible. Empty if nothing else was sent. */
      text: string;
      /** Where else a value that was asked for may stand: arguments of tools, thoughts. */
      also: string[];
      /** The model that answered; `null` if the gateway does not say. */
      model: string | null;
      /** Tokens; `null` if the gateway does not say. What a model thinks counts as output. */
      usage: { input: number; output: number; total: number } | null;
      /** It ended at a limit, not where the model would have ended. */
      isCut: boolean;
      /** The model says that it will not answer. */
      isRefused: boolean;
    }
  /** A failure inside a successful response. */
  | { kind: "failure"; status: number }
  /** The model or its vendor's filter will not answer. */
  | { kind: "declined" }
  /** The stream broke off, or the model ended for another reason than that it was done. The same request may succeed. */
  | { kind: "broken" }
  /** A page for people, from a door before the gateway. */
  | { kind: "page" }
  /** No chat completion in any form. */
  | { kind: "unreadable" };

/**
 * Reads the body of a successful response, whatever its content type says.
 * @param isValue Whether a value was asked for, by a schema: it may stand where prose never does.
 */
export function parseResponseBody(body: string, isValue = false): ModelOutcome {
  const text = body.replace(/^\uFEFF/, "").trim();
  if (isPage(text)) return { kind: "page" };
  if (/^(?:data|event|id|retry)?:/.test(text)) return readStream(text, isValue);
  try {
    return readCompletion(parseWhole(text), isValue);
  } catch {
    // One JSON value a line is a stream as well.
    return /^\{.*\}[^\S\n]*\n\s*\{/.test(text) ? readStream(text, isValue) : { kind: "unreadable" };
  }
}

/** Halves of a pair stay halves until they are joined: `cleanText` makes the words well-formed. @throws SyntaxError */
function parseWhole(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parseTolerantly(text);
  }
}

/** A stream of events, joined. One that has no end broke off. */
function readStream(text: string, isValue: boolean): ModelOutcome {
  const joined = { content: "", reasoning: "", refusal: "" };
  const calls = new Map<unknown, string>();
  let end: unknown;
  let model: unknown;
  let usage: unknown;
  let isWhole = false;
  let wasRead = false;
  for (const line of text.split(/\r?\n/)) {
    const data = line.replace(/^data:\s*/, "").trim();
    if (data === "[DONE]") isWhole = true;
    if (!data.startsWith("{")) continue;
    let chunk: unknown;
    try {
      chunk = parseWhole(data);
    } catch {
      return { kind: "broken" };
    }
    const failure = findFailure(chunk);
    if (failure !== null) return failure;
    const choice = fieldReader(choicesIn(chunk)[0]);
    const part = choice("delta") ?? choice("message");
    if (part !== undefined) wasRead = true;
    joined.content += extractText(fieldReader(part)("content"));
    joined.reasoning += thoughtsIn(part);
    joined.refusal += wordsIn(fieldReader(part)("refusal"));
    for (const call of listAt(part, "tool_calls")) {
      const key = fieldReader(call)("index") ?? 0;
      calls.set(key, (calls.get(key) ?? "") + parseArguments(call));
    }
    end = choice("finish_reason") ?? end;
    model = fieldReader(chunk)("model") ?? model;
    usage = fieldReader(chunk)("usage") ?? usage;
  }
  if (!wasRead) return { kind: "unreadable" };
  if (end === undefined && !isWhole) return { kind: "broken" };
  const tool_calls = [...calls.values()].map((written) => ({ function: { arguments: written } }));
  const message = { ...joined, tool_calls };
  return readCompletion({ model, usage, choices: [{ message, finish_reason: end }] }, isValue);
}

/** The choices of a completion in the form of any maker. */
function choicesIn(body: unknown): unknown[] {
  const field = fieldReader(body);
  const choices = [...listAt(body, "choices"), ...listAt(body, "candidates")];
  if (choices.length > 0) return choices;
  const end = field("stop_reason") ?? field("done_reason");
  const isItself = end !== undefined && field("content") !== undefined;
  const message = isItself ? body : field("message");
  return typeof message === "object" ? [{ message, finish_reason: end }] : [];
}

function readCompletion(body: unknown, isValue: boolean): ModelOutcome {
  if (Array.isArray(body) && body.length === 1) return readCompletion(body[0], isValue);
  const field = fieldReader(body);
  const [first] = choicesIn(body);
  const failure = findFailure(body);
  if (failure !== null) return failure;
  if (first === undefined) {
    // Some gateways put the completion into an envelope of their own.
    const inner = field("data") ?? field("result") ?? field("response");
    return choicesIn(inner).length > 0 ? readCompletion(inner, isValue) : { kind: "unreadable" };
  }
  const choice = fieldReader(first);
  const message = choice("message") ?? choice("content");
  const raw = extractText(
    Array.isArray(message) ? message : (fieldReader(message)("content") ?? message ?? choice("text")),
  );
  const text = cleanText(raw);
  const reason = choice("finish_reason") ?? choice("finishReason");
  const calls = callsIn(message).filter((written) => written.trim() !== "");
  const isCalled = isValue && calls.length > 0 && /^(?:tool|function)/.test(bare(reason));
  const end = isCalled ? "whole" : classifyEnd(reason, choice("native_finish_reason"));
  if (end === "broken") return findFailure(first) ?? { kind: "broken" };
  if (end === "declined") return { kind: "declined" };
  const thoughts = thoughtsIn(message);
  const isThoughtOnly =
    text === "" && calls.length === 0 && !isValue && isStop(reason) && !isMarked(thoughts);
  const model = field("model");
  return {
    kind: "answer",
    text: isThoughtOnly ? cleanText(thoughts) : text,
    also: isValue ? [...calls, removeThoughts(raw), thoughts].filter((one) => one.trim() !== "") : [],
    model: typeof model === "string" && model.trim() !== "" ? model.toWellFormed().trim() : null,
    usage: parseUsage(field("usage") ?? field("usageMetadata")),
    isCut: end === "cut" && !isPadded(raw),
    isRefused: text === "" && wordsIn(fieldReader(message)("refusal")).trim() !== "",
  };
}

const isStop = (reason: unknown): boolean => /^(?:stop|endturn|eos|completed?)/.test(bare(reason));

/** So many blanks at the end are no answer that goes on. */
const PADDING = 24;

/** Whether a text had ended when its writer went on with blanks up to the limit. */
function isPadded(raw: string): boolean {
  const text = raw.trimEnd();
  return raw.length - text.length >= PADDING && /[.!?…。！？"”»)\]}`]$/.test(text.slice(-1));
}

/** The words in a value that holds them somewhere. */
function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(wordsIn).join("");
  const part = fieldReader(value);
  return value == null ? "" : wordsIn(part("text") ?? part("thinking") ?? part("summary") ?? part("refusal"));
}

/** What a model thought, where a gateway sends it apart. */
function thoughtsIn(message: unknown): string {
  const field = fieldReader(message);
  const apart = wordsIn(field("reasoning_content") ?? field("reasoning") ?? field("thinking"));
  if (apart !== "") return apart;
  const parts = listAt(message, "content").filter((part) =>
    /^(?:thinking|reasoning)/.test(String(fieldReader(part)("type"))),
  );
  return wordsIn([...listAt(message, "reasoning_details"), ...parts]);
}

/** What a model would hand to tools. */
function callsIn(message: unknown): string[] {
  const parts = listAt(message, "content").filter((part) =>
    /^(?:tool|function)/.test(String(fieldReader(part)("type"))),
  );
  const calls = [...listAt(message, "tool_calls"), fieldReader(message)("function_call"), ...parts];
  return calls.map(parseArguments);
}

function parseArguments(call: unknown): string {
  const inner = fieldReader(fieldReader(call)("function") ?? call);
  const given = inner("arguments") ?? inner("input") ?? inner("args");
  if (typeof given === "string") return given;
  return typeof given === "object" ? JSON.stringify(given) : "";
}

/** A failure that came as a success: `error` where the answer should be. */
function findFailure(body: unknown): ModelOutcome | null {
  const error = fieldReader(body)("error");
  if (error == null || error === false || error === "") return null;
  const [choice] = listAt(body, "choices");
  const message = fieldReader(choice)("message");
  if (
    extractText(fieldReader(message)("content")).trim() !== "" &&
    fieldReader(choice)("finish_reason") !== "error"
  )
    return null;
  const inside = fieldReader(error);
  const said = [
    inside("code"),
    inside("status"),
    inside("type"),
    fieldReader(body)("status"),
    fieldReader(body)("code"),
  ];
  const codes = said.map(Number).filter((code) => Number.isInteger(code) && code >= 400 && code <= 599);
  const text = typeof error === "string" ? error : JSON.stringify(error);
  const about = parseRefusal(codes[0] ?? 400, text);
  if (about === "filter") return { kind: "declined" };
  return { kind: "failure", status: STATUSES[about ?? ""] ?? codes[0] ?? statusIn(text) };
}

const STATUSES: Readonly<Record<string, number>> = { account: 402, length: 413 };

/** A failure without a number is the gateway's own. */
function statusIn(words: string): number {
  if (/rate.?limit|too many requests|RESOURCE_EXHAUSTED/i.test(words)) return 429;
  if (/insufficient|quota|credit|billing/i.test(words)) return 402;
  if (/unauthori|invalid.{0,10}key|authentication/i.test(words)) return 401;
  if (/invalid_request|bad.?request|INVALID_ARGUMENT/i.test(words)) return 400;
  return 502;
}

const WHOLE =
  /^(?:|stop|endturn|stopsequence|eos|eostoken|endofsequence|completed?|done|end|finish|finished|success|unspecified)$/;

/** What the word for an answer's end means; an unknown word is no good end. */
function classifyEnd(reason: unknown, native: unknown): "whole" | "cut" | "declined" | "broken" {
  const word = bare(reason);
  const nativeWord = bare(native);
  // A gateway may call everything `stop`, and keep the model's own word beside it.
  if (isLimit(word) || isLimit(nativeWord)) return "cut";
  if (/filter|safety|refus|recitation|blocklist|prohibited|spii|blocked|moderation|sensitive/.test(word))
    return "declined";
  return WHOLE.test(word) ? "whole" : "broken";
}

function bare(word: unknown): string {
  if (typeof word !== "string") return "";
  const letters = word.toLowerCase().replace(/[^a-z]/g, "");
  return /^(?:null|none)$/.test(letters) ? "" : letters.replace(/^finishreason/, "");
}

function isLimit(word: string): boolean {
  return !/^(?:eos|stop)/.test(word) && /length|token|limit|truncat|incomplete|contextwindow|^max/.test(word);
}

/** The text of a content: a string, or parts of which only those that are text count. */
export function extractText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(extractText).join("");
  const part = fieldReader(content);
  const type = part("type");
  if (typeof type === "string" && !/^(?:output_)?text$/.test(type)) return "";
  if (part("thought") === true) return "";
  const text = part("text") ?? part("content") ?? part("parts");
  return typeof text === "object" && text !== null && !Array.isArray(text)
    ? extractText(fieldReader(text)("value"))
    : extractText(text ?? "");
}

/** Tokens as any of the usual names give them. Whatever is in the total beside the prompt was written by the model. */
export function parseUsage(usage: unknown): { input: number; output: number; total: number } | null {
  const field = fieldReader(usage);
  const first = (...names: string[]) => names.map((name) => count(field(name))).find((one) => one !== null);
  const input = first("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "promptTokenCount");
  const output = first(
    "completion_tokens",
    "output_tokens",
    "completionTokens",
    "outputTokens",
    "candidatesTokenCount",
  );
  const total = first("total_tokens", "totalTokens", "totalTokenCount");
  if (input === undefined && output === undefined && total === undefined) return null;
  const written = Math.max(output ?? 0, (total ?? 0) - (input ?? 0));
  return { input: input ?? 0, output: written, total: Math.max(total ?? 0, (input ?? 0) + written) };
}

export function count(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? Math.ceil(number) : null;
}

/** Names of the tags between which models think. */
const THOUGHT =
  "(?:antml:|seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|inner_monologue)";
/** The opening and the closing mark of each way to set thoughts apart. A mark in backticks is talked about. */
const MARKS = (
  [
    [`<\\|?${THOUGHT}(?:\\s[^<>]*)?\\|?>`, `<\\|?/\\|?\\s{0,9}${THOUGHT}\\s{0,9}\\|?>`],
    [`\\[${THOUGHT}\\]`, `\\[/${THOUGHT}\\]`],
    ["◁think▷", "◁/think▷"],
    ["<\\|begin_of_thought\\|>", "<\\|end_of_thought\\|>"],
    ["<\\|?channel\\|?>\\s{0,9}(?:thought|analysis)\\b", "<channel\\|>"],
    ["<details\\s+type=[\"']?reasoning[\"']?[^<>]*>", "</details>"],
    ["```(?:think(?:ing)?|thoughts?|reasoning)[ \\t]*\\n", "\\n```"],
  ] as const
).map(([open, close]) => ({
  open: new RegExp(`(?<!\`)${open}`, "gi"),
  close: new RegExp(`(?<!\`)${close}`, "gi"),
  /** At the beginning of a line it opens what nothing closes. */
  opensLine: new RegExp(`(?:^|(?<=\\n))[ \\t]{0,99}${open}`, "i"),
  /** What stands before a bare end was thought; the end of a fence alone means nothing. */
  isTold: !close.endsWith("```") && close !== "</details>",
}));

/** Whether a text has a mark of thoughts. */
const isMarked = (text: string): boolean =>
  MARKS.some(({ open, close, isTold }) => text.search(open) !== -1 || (isTold && text.search(close) !== -1));

/** The beginning of an answer in a channel of its own. */
const FINAL = /<\|channel\|>\s{0,9}final\b[^<]{0,60}<\|message\|>/gi;

/** The text without what the model thought: closed, never closed, never opened, or in a channel of its own. */
function removeThoughts(text: string): string {
  const final = [...text.matchAll(FINAL)].at(-1);
  if (final !== undefined) return removeThoughts(text.slice(final.index + final[0].length));
  // The same with its marks lost on the way.
  const spoken = /^\s*analysis[^]*?assistantfinal/i.exec(text);
  if (spoken !== null) return removeThoughts(text.slice(spoken[0].length));
  let remaining = text;
  for (const { open, close, opensLine, isTold } of MARKS) {
    remaining = withoutBetween(remaining, open, close, false);
    const last = isTold ? [...remaining.matchAll(close)].at(-1) : undefined;
    if (last !== undefined) remaining = remaining.slice(last.index + last[0].length);
    const opened = remaining.search(opensLine);
    if (opened !== -1) remaining = remaining.slice(0, opened);
  }
  return remaining;
}

/** Marks at which a model ends a turn: what follows is not its answer. */
const STOP =
  /<\|(?:im_end|eot_id|endoftext|end_of_text|end|return|eom_id|END_OF_TURN_TOKEN|im_start\|>\s*user|start\|>user)\|?>|<\/s>|<end_of_turn>|<｜end▁of▁sentence｜>|\[\/INST\]/;
/** Marks before an answer. */
const START =
  /^\s*(?:(?:<s>|<\|im_start\|>\s*assistant|<\|start\|>\s*assistant|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>|<start_of_turn>\s*model|<\|message\|>|<\|assistant\|>)\s*)+/;
/** A tag around the whole answer. */
const WRAPPED = /^\s*<(answer|final_answer|final|response|output|result)>([^]*)<\/\1>\s*$/i;
/** Escapes of terminals, control characters but line feed and tab, and what is invisible or turns the direction. */
const ANSI = new RegExp(String.raw`\u001B(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])`, "g");
const INVISIBLE =
  /[\p{Cc}\u00AD\u115F\u1160\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E001F}]/gu;

/** A model's words as a reader should get them. Every text of a model passes here once, before anything judges it. */
export function cleanText(raw: string): string {
  let text = raw
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(ANSI, "")
    .replace(INVISIBLE, (one) => (one === "\n" || one === "\t" ? one : ""));
  text = removeThoughts(text).replace(START, "");
  const stop = STOP.exec(text);
  if (stop !== null) text = text.slice(0, stop.index);
  text = withoutCitationMarks(withoutCalls(WRAPPED.exec(text)?.[2] ?? text)).trim();
  // Joiners, selectors and blanks alone are no words.
  return text.replace(/\s|\u{200C}|\u{200D}|\u{2800}|\p{Variation_Selector}/gu, "") === "" ? "" : text;
}

/** Reads fields of a value that may be anything. */
export function fieldReader(value: unknown): (name: string) => unknown {
  const isObject = typeof value === "object" && value !== null;
  const fields = new Map<string, unknown>(isObject ? Object.entries(value) : []);
  return (name) => fields.get(name) ?? undefined;
}

export function listAt(value: unknown, name: string): unknown[] {
  const list = fieldReader(value)(name);
  return Array.isArray(list) ? list : [];
}

/**
 * What a refusal blames that the request can do without: `schema`, `max_tokens`, `system`, `stream`, or `limit 1000`, the
 * longest answer that the gateway allows; `null` if it blames nothing of these.
 */
export function findBlamedField(words: string): string | null {
  if (
    words.includes("max_completion_tokens") &&
    /unsupported|not supported|instead|unknown|unrecognized/i.test(words)
  )
    return "max_tokens";
  const [, whole, given] =
    /maximum context length (?:is|of) (\d{1,9}) tokens[^]{0,200}?(\d{1,9})(?: tokens)? (?:in|from|of) (?:the |your )?(?:messages|prompt|input|text)/i.exec(
      words,
    ) ?? [];
  if (Number(whole) - Number(given) > 0) return `limit ${Number(whole) - Number(given)}`;
  const most =
    /(?:max_(?:completion_|output_)?tokens|maximum|output tokens)[^]{0,200}?(?:at most|less than or equal to|<=|no more than|maximum (?:value|allowed)(?: is| of)?:?|up to|cannot exceed|supports? only|range is? ?[[(]\d+, ?)\s{0,5}`?(\d[\d,]*)/i.exec(
      words,
    );
  const limit = Number(most?.[1]?.replaceAll(",", "") ?? 0);
  if (limit > 0) return `limit ${limit}`;
  if (/stream.{0,40}(?:must|required|only)|only.{0,20}stream/i.test(words)) return "stream";
  const system =
    /developer instruction|system (?:role|message|instruction|prompt).{0,60}(?:not|un)|role.{0,20}system.{0,40}not/i;
  if (system.test(words)) return "system";
  const schema = /response[_ ]?format|json[_ ]?schema|schema|grammar|structured[_ ]?output|json mode/i;
  return schema.test(words) ? "schema" : null;
}

/** What a model wrote for a schema that its gateway refused to pass on; `null` if this is no such refusal. */
export function extractRejectedAnswer(words: string): string | null {
  if (!/json_validate_failed|failed_generation|failed to (?:generate|validate) json/i.test(words))
    return null;
  try {
    const body = fieldReader(parseTolerantly(words));
    const written = fieldReader(body("error"))("failed_generation") ?? body("failed_generation");
    return typeof written === "string" ? cleanText(written) : "";
  } catch {
    return "";
  }
}
