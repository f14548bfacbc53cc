import { parseTolerantly } from "../../lib/text/json";
import { isPage, parseRefusal } from "../rejections";
import {
  cleanText,
  createFieldReader,
  extractText,
  getList,
  hasThoughts,
  joinWords,
  parseUsage,
  removeThoughts,
  unwrapProse,
} from "./cleaning";

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
      /** The model says that it will not answer: the same question, put otherwise, may be answered. */
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
 * @param isValue Whether a value was requested by a schema: it may stand where prose never does.
 */
export function parseResponseBody(body: string, isValue = false): ModelOutcome {
  const text = body.replace(/^[\uFEFF\s]*(?:\)\]\}',?)?/, "").trim();
  if (isPage(text)) return { kind: "page" };
  if (/^(?:data|event|id|retry)?:/.test(text)) return readStream(text, isValue);
  try {
    const whole = parseWhole(text);
    const value = typeof whole === "string" ? parseWhole(whole) : whole;
    if (!Array.isArray(value)) return readCompletion(value, isValue);
    return value.length > 1 ? joinChunks(value, isValue) : readCompletion(value[0], isValue);
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

/** The JSON values of a stream: of server-sent events, whose data may have several lines, or one in each line. */
function readStream(text: string, isValue: boolean): ModelOutcome {
  const chunks: unknown[] = [];
  for (const event of text.split(/(?:\r\n|\r|\n){2,}/)) {
    const lines = event.split(/\r\n|\r|\n/).map((line) => line.replace(/^data:\s*/, "").trim());
    const data = lines.filter((line) => line !== "" && !/^(?:event|id|retry)?:/.test(line));
    if (/^event:\s*error\b/m.test(event)) return { kind: "failure", status: guessStatus(data.join(" ")) };
    try {
      chunks.push(...parseEvent(data));
    } catch {
      return { kind: "broken" };
    }
  }
  return joinChunks(chunks, isValue);
}

/** @throws SyntaxError */
function parseEvent(lines: readonly string[]): unknown[] {
  try {
    return lines.map((line) => (line === DONE ? DONE : parseWhole(line)));
  } catch {
    return [parseWhole(lines.join("\n"))];
  }
}

const DONE = "[DONE]";

/** The parts of a streamed completion, joined. One without an end broke off. */
function joinChunks(chunks: readonly unknown[], isValue: boolean): ModelOutcome {
  const joined = { content: "", reasoning: "", refusal: "" };
  const calls = new Map<unknown, string>();
  let end: unknown;
  let model: unknown;
  let usage: unknown;
  let wasRead = false;
  for (const chunk of chunks) {
    const [found] = findMessages(chunk);
    const failure = findFailure(chunk, found);
    if (failure !== null) return failure;
    const field = createFieldReader(chunk);
    end = found?.end ?? getEndWord(field("delta")) ?? end;
    model = field("model") ?? model;
    usage = field("usage") ?? field("usageMetadata") ?? usage;
    if (found === undefined) continue;
    wasRead = true;
    const { message } = found;
    joined.content += getText(message);
    joined.reasoning += getThoughts(message);
    joined.refusal += joinWords(createFieldReader(message)("refusal"));
    for (const call of getList(message, "tool_calls")) {
      const key = createFieldReader(call)("index") ?? 0;
      calls.set(key, (calls.get(key) ?? "") + parseArguments(call));
    }
  }
  if (!wasRead) return { kind: "unreadable" };
  if (end === undefined && !chunks.includes(DONE)) return { kind: "broken" };
  const tool_calls = [...calls.values()].map((written) => ({ function: { arguments: written } }));
  const message = { ...joined, tool_calls };
  return readCompletion({ model, usage, choices: [{ message, finish_reason: end }] }, isValue);
}

/** A message in the form of any maker, with the word for its end and the choice that holds it. */
type Found = { message: unknown; end: unknown; choice: unknown };

/**
 * The fields that hold messages, in the order of trust; a gateway may put the completion into an envelope of its own.
 */
const HOLDERS = [
  "choices",
  "candidates",
  "delta",
  "message",
  "messages",
  "output",
  "data",
  "result",
  "response",
];
/** Fields that only a message has. */
const PARTS = [
  ...["role", "content", "parts", "tool_calls", "function_call", "refusal", "parsed", "audio"],
  ...["reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thoughts", "thinking"],
];
/** Names of a text that is the whole answer. */
const TEXTS = ["text", "generated_text", "output_text", "completion", "response"];
const MAX_DEPTH = 5;

function findMessages(value: unknown, outer: Omit<Found, "message"> = NO_CHOICE, depth = 0): Found[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value))
    return value.flatMap((one: unknown) =>
      typeof one === "string" && depth > 0
        ? [{ ...outer, message: { content: one } }]
        : findMessages(one, outer, depth + 1),
    );
  const field = createFieldReader(value);
  const end = getEndWord(value);
  const within = end === undefined ? outer : { end, choice: value };
  for (const name of HOLDERS) {
    const inner = field(name);
    if (typeof inner !== "object") continue;
    // The rest of a stream's message is in the other events.
    if (name === "delta") return [{ ...within, message: inner }];
    const found = findMessages(inner, within, depth + 1);
    if (found.length > 0) return found;
  }
  const isObject = typeof value === "object" && value !== null;
  const isMessage =
    (isObject && PARTS.some((name) => Object.hasOwn(value, name))) ||
    TEXTS.some((name) => typeof field(name) === "string");
  return isMessage && field("type") !== "reasoning" ? [{ ...within, message: value }] : [];
}

const NO_CHOICE = { end: undefined, choice: undefined };

/** The word with which a maker says why an answer ended. */
function getEndWord(value: unknown): unknown {
  const field = createFieldReader(value);
  const names = ["finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"];
  return names.map(field).find((one) => one !== undefined);
}

function getText(message: unknown): string {
  const field = createFieldReader(message);
  const text = extractText(field("content") ?? field("parts"));
  if (text !== "") return text;
  return (
    TEXTS.map(field).find((one) => typeof one === "string") ??
    joinWords(createFieldReader(field("audio"))("transcript"))
  );
}

function readCompletion(body: unknown, isValue: boolean): ModelOutcome {
  const all = findMessages(body);
  const found = all.find(({ message }) => getText(message).trim() !== "") ?? all[0];
  const failure = findFailure(body, found);
  if (failure !== null) return failure;
  const field = createFieldReader(body);
  if (found === undefined)
    return createFieldReader(field("promptFeedback"))("blockReason") === undefined
      ? { kind: "unreadable" }
      : { kind: "declined" };
  const { message, end: reason, choice } = found;
  const raw = getText(message);
  const cleaned = cleanText(raw);
  const text = isValue ? cleaned : unwrapProse(cleaned);
  const calls = listCalls(message).filter((written) => written.trim() !== "");
  const isCalled = isValue && calls.length > 0 && /^(?:tool|function)/.test(toBareWord(reason));
  const end = isCalled ? "whole" : classifyEnd(reason, createFieldReader(choice)("native_finish_reason"));
  if (end === "broken") return findFailure(choice, found) ?? { kind: "broken" };
  if (end === "declined") return { kind: "declined" };
  const thoughts = getThoughts(message);
  const isThoughtOnly =
    cleaned === "" && calls.length === 0 && !isValue && isStop(reason) && !hasThoughts(thoughts);
  const model = field("model");
  return {
    kind: "answer",
    text: isThoughtOnly ? cleanText(thoughts) : text,
    also: isValue ? [...calls, removeThoughts(raw), thoughts].filter((one) => one.trim() !== "") : [],
    model: typeof model === "string" && model.trim() !== "" ? model.toWellFormed().trim() : null,
    usage: parseUsage(field("usage") ?? field("usageMetadata")),
    isCut: end === "cut" && !isPadded(raw),
    isRefused: text === "" && joinWords(createFieldReader(message)("refusal")).trim() !== "",
  };
}

const isStop = (reason: unknown): boolean => /^(?:stop|endturn|eos|completed?)/.test(toBareWord(reason));

/** So many blanks at the end are no answer that goes on. */
const PADDING = 24;

/** Whether a text had ended when its writer went on with blanks up to the limit. */
function isPadded(raw: string): boolean {
  const text = raw.trimEnd();
  return raw.length - text.length >= PADDING && /[.!?…。！？"”»)\]}`]$/.test(text.slice(-1));
}

/** A model's reasoning, where a gateway sends it apart. */
function getThoughts(message: unknown): string {
  const names = ["reasoning_content", "reasoning", "reasoning_text", "thinking", "thoughts"];
  const apart = names
    .map((name) => joinWords(createFieldReader(message)(name)))
    .find((words) => words !== "");
  if (apart !== undefined) return apart;
  const parts = listParts(message).filter((part) =>
    /^(?:thinking|reasoning)/.test(String(createFieldReader(part)("type"))),
  );
  return joinWords([...getList(message, "reasoning_details"), ...parts]);
}

/** The parts of a content in the form of any maker. */
function listParts(message: unknown): unknown[] {
  const own = [...getList(message, "content"), ...getList(message, "parts")];
  return own.length > 0 ? own : getList(createFieldReader(message)("content"), "parts");
}

/** Values that a model would hand to tools, or that its gateway has read already. */
function listCalls(message: unknown): string[] {
  const field = createFieldReader(message);
  const parts = listParts(message).map((part) => {
    const inner = createFieldReader(part);
    return /^(?:tool|function)/.test(String(inner("type")))
      ? part
      : (inner("functionCall") ?? inner("toolUse"));
  });
  const listed = [field("tool_calls")].flat();
  const calls = [...listed, field("function_call"), ...parts];
  return [...calls.map(parseArguments), parseArguments({ arguments: field("parsed") })];
}

function parseArguments(call: unknown): string {
  const inner = createFieldReader(createFieldReader(call)("function") ?? call);
  const given = inner("arguments") ?? inner("input") ?? inner("args");
  if (typeof given === "string") return given;
  return typeof given === "object" ? JSON.stringify(given) : "";
}

/** A failure that came as a success: `error` where the answer should be, or a message in its place. */
function findFailure(body: unknown, found?: Found): ModelOutcome | null {
  const field = createFieldReader(body);
  const instead = found === undefined ? ["detail", "message", "msg", "base_resp"].map(field) : [];
  const error = [field("error"), getList(body, "errors")[0], ...instead].find(
    (one) => one !== undefined && one !== false && one !== "",
  );
  if (error === undefined) return null;
  if (found !== undefined && getText(found.message).trim() !== "" && found.end !== "error") return null;
  const inside = createFieldReader(error);
  const names = ["code", "status", "type", "status_code"];
  const codes = [...names.map(inside), field("status"), field("code")]
    .map(Number)
    .filter((code) => Number.isInteger(code) && code >= 400 && code <= 599);
  const text = typeof error === "string" ? error : JSON.stringify(error);
  const about = parseRefusal(codes[0] ?? 400, text);
  if (about === "filter") return { kind: "declined" };
  return { kind: "failure", status: STATUSES[about ?? ""] ?? codes[0] ?? guessStatus(text) };
}

const STATUSES: Readonly<Record<string, number>> = { account: 402, length: 413 };

/** A failure without a number is the gateway's own. */
function guessStatus(words: string): number {
  if (/rate.?limit|too many requests|RESOURCE_EXHAUSTED/i.test(words)) return 429;
  if (/insufficient|quota|credit|billing/i.test(words)) return 402;
  if (/unauthori|invalid.{0,10}key|authentication/i.test(words)) return 401;
  if (/invalid_request|bad.?request|INVALID_ARGUMENT/i.test(words)) return 400;
  return 502;
}

const WHOLE =
  /^(?:|stop|endturn|stop(?:token|sequence|string|word)s?|eos|eostoken|endofsequence|completed?|done|end|finish|finished|success|unspecified)$/;

/** The meaning of a finish reason; an unknown one is no good end. */
function classifyEnd(reason: unknown, native: unknown): "whole" | "cut" | "declined" | "broken" {
  const word = toBareWord(reason);
  const nativeWord = toBareWord(native);
  // A gateway may call everything `stop`, and keep the model's own word beside it.
  if (isLimit(word) || isLimit(nativeWord)) return "cut";
  if (/filter|safety|refus|recitation|blocklist|prohibited|spii|blocked|moderation|sensitive/.test(word))
    return "declined";
  return WHOLE.test(word) ? "whole" : "broken";
}

function toBareWord(word: unknown): string {
  if (typeof word !== "string") return "";
  const letters = word.toLowerCase().replace(/[^a-z]/g, "");
  return /^(?:null|none)$/.test(letters) ? "" : letters.replace(/^finishreason/, "");
}

function isLimit(word: string): boolean {
  return !/^(?:eos|stop)/.test(word) && /length|token|limit|truncat|incomplete|contextwindow|^max/.test(word);
}
