import { parseTolerantly } from "../../lib/text/json";
import { withoutBetween, withoutCitationMarks } from "../../lib/text/markup";

/**
 * Reads the fields and texts of what gateways send, which each writes its own way, and cleans the text of a model: thoughts,
 * tool calls, the tokens of its chat template and its citation marks are removed. Makers name the same few things and put
 * them into the same few brackets, so names and brackets are described apart.
 */

/** Prefixes of a name: `mm:think`, `longcat_tool_call`, `antThinking`. */
const PREFIX = "(?:ant|[a-z]{1,12}[:_|｜])?";

/**
 * The opening and the closing mark of some names, in every maker's brackets: `<think>`, `<|START_THINKING|>`,
 * `[BEGIN_THOUGHT]`, `<|begin_of_thought|>`, `<｜tool▁calls▁begin｜>`, `<|tool_call>` with `<tool_call|>`. A mark in
 * backticks is quoted.
 */
function createMarks(names: string): { open: string; close: string } {
  const name = `${PREFIX}(?:${names.replaceAll("_", "[_▁]")})`;
  const opened = `(?:(?:begin|start)(?:[_▁]of)?[_▁])?${name}(?:[_▁](?:begin|start|prefix))?`;
  const closed = `(?:\\\\?/[|｜]?\\s{0,9}${name}|end(?:[_▁]of)?[_▁]${name}|${name}[_▁](?:end|suffix))`;
  const rest = "(?:\\s[^<>]{0,300})?";
  return {
    open: `(?<!\`)(?:<[|｜]${opened}${rest}[|｜]?>|<${opened}${rest}>|\\[${opened}\\]|◁${opened}▷)`,
    close: `(?<!\`)(?:<[|｜]?${closed}\\s{0,9}[|｜]?>|<${name}[|｜]>|\\[${closed}\\]|◁${closed}▷)`,
  };
}

const THOUGHT = createMarks(
  "think(?:ing)?(?:_process)?|thoughts?|reasoning(?:_content)?|reflection|scratchpad|internal_?monologue|inner_?monologue|chain_of_thought|cot(?:_budget_reflect)?",
);
/** The marks of thoughts. */
const THOUGHTS = (
  [
    [THOUGHT.open, THOUGHT.close],
    ["<\\|?channel\\|?>\\s{0,9}(?:thought|analysis)\\b", "<channel\\|>"],
    ["<\\|im_start\\|>\\s{0,9}(?:think(?:ing)?|thoughts?|analysis)\\b", "<\\|im_end\\|>"],
    ["<unused\\d{1,3}>\\s{0,9}thought\\b", "<unused\\d{1,3}>"],
    ["<details\\s+type=[\"']?reasoning[\"']?[^<>]*>", "</details>"],
    ["```(?:think(?:ing)?|thoughts?|reasoning)[ \\t]*\\n", "\\n```"],
  ] as const
).map(([open, close], index) => ({
  open: new RegExp(open, "gi"),
  close: new RegExp(close, "gi"),
  /** At the beginning of a line or behind a sentence it opens a thought that nothing closes. */
  opensLine: new RegExp(`(?:^|(?<=[\\n.!?}\\]]))[ \\t]{0,99}${open}`, "i"),
  /** The text before a bare end is a thought, too; the end of a fence alone means nothing. */
  isTold: index < 2,
}));

/** Whether a text has a mark of thoughts. */
export const hasThoughts = (text: string): boolean =>
  THOUGHTS.some(
    ({ open, close, isTold }) => text.search(open) !== -1 || (isTold && text.search(close) !== -1),
  );

/** The beginning of an answer in a channel of its own. */
const FINAL = /<\|channel\|>\s{0,9}final\b[^<]{0,60}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>/gi;
/** An empty pair in one mark. */
const SELF_CLOSED = /(?<!`)<think(?:ing)?\s{0,9}\/>/gi;
/** Plans in a tag of their own, and the steps of an agent that names its answer. */
const PLAN =
  /^\s*(?:<(analysis|planning|plan|draft|internal|notes)>[^]*?<\/\1>(?=\s*\S)|Thought:[^]*?\n\s{0,9}Final Answer:\s*)/i;

/** The text without the model's thoughts: closed, never closed, never opened, or in a channel of its own. */
export function removeThoughts(text: string): string {
  const final = [...text.matchAll(FINAL)].at(-1);
  if (final !== undefined) return removeThoughts(text.slice(final.index + final[0].length));
  // The same with its marks lost on the way.
  const spoken = /^\s*analysis[^]*?assistantfinal/i.exec(text);
  if (spoken !== null) return removeThoughts(text.slice(spoken[0].length));
  let remaining = text.replace(SELF_CLOSED, "");
  for (const { open, close, opensLine, isTold } of THOUGHTS) {
    remaining = withoutBetween(remaining, open, close, false);
    const last = isTold ? [...remaining.matchAll(close)].at(-1) : undefined;
    if (last !== undefined) remaining = remaining.slice(last.index + last[0].length);
    const opened = remaining.search(opensLine);
    if (opened !== -1)
      remaining = remaining.slice(0, opened + (/^[.!?}\]]/.test(remaining.slice(opened)) ? 1 : 0));
  }
  return remaining.replace(PLAN, "");
}

const CALL = createMarks(
  "tool_?calls?(?:_section)?|function_?calls?|tool_code|tool_use|use_tool|execute_tool|invoke|tool_(?:input|outputs?|re(?:sponse|sult|quest)s?)|function_response",
);
/** Plain words, which are calls only where they are closed. */
const WORD = createMarks("python|tools?|call|action|(?:web_)?search(?:_query)?|observation");
/** The opening and closing marks of tool calls. */
const CALLS = (
  [
    ["\\[TOOL_CALLS\\]", "\\n[ \\t]{0,9}\\n", true],
    [CALL.open, CALL.close, true],
    ["(?<!`)<function=[\\w.-]{1,64}>", "</function>", true],
    ["(?<!`)<\\|python_tag\\|>", "<\\|(?:eom_id|eot_id)\\|>", true],
    ["(?<!`)<\\|channel\\|>\\s{0,9}commentary\\b[^<]{0,80}", "<\\|(?:call|end)\\|>", true],
    ["✿FUNCTION✿", "✿RETURN✿:?|\\n[ \\t]{0,9}\\n", true],
    ["```(?:tool_code|tool_use|tool_calls?|function_calls?|tool_outputs?)[ \\t]{0,9}\\n", "\\n```", true],
    [WORD.open, WORD.close, false],
  ] as const
).map(([open, close, endsOpen]) => ({
  open: new RegExp(open, "gi"),
  close: new RegExp(close, "gi"),
  endsOpen,
}));
/** Marks that are left of nested calls, and fences with nothing in them. */
const STRAY = new RegExp(`${CALL.close}|${CALL.open}|\`\`\`[a-z]{0,9}\\s{0,9}\`\`\``, "gi");

/** A text without the calls of tools that its model wrote into it. */
function removeCalls(text: string): string {
  const rest = CALLS.reduce(
    (kept, { open, close, endsOpen }) => withoutBetween(kept, open, close, endsOpen),
    text,
  );
  return rest === text ? text : rest.replace(STRAY, "").trim();
}

/** A token of a chat template: `<|im_sep|>`, `<｜Assistant｜>`, `<turn|>`, `<bos>`. */
const TOKEN =
  "(?:<[|｜]/?[\\w▁]{1,40}[|｜]?>|<\\w{1,40}[|｜]>|<(?:s|bos|pad|unk|start_of_turn|unused\\d{1,3}|extra_id_\\d{1,3})>|\\[/?INST\\]|\\[BOS\\]|\\]~b\\]|<role>assistant</role>)";
const ROLE = "(?:assistant|model|ai|bot)(?=\\s{0,9}(?:[<\\n:]|$)):?";
/** Labels before an answer. */
const START = new RegExp(
  `^\\s*(?:>>>all\\n|(?:${TOKEN}\\s{0,9}(?:${ROLE}\\s{0,9})?)+|assistant:\\s|#{2,3} (?:response|assistant):?\\s)\\s*`,
  "i",
);
/** Tokens at which a model ends its turn: what follows is not its answer. */
const STOP =
  /(?<!`)(?:<[|｜](?:im_end|eot|eot_id|eom_id|eos|endoftext|end[_▁]of[_▁](?:text|sentence|turn|turn_token)|end|return|role_end|user|observation|(?:im_start|start)[|｜]>\s*user)[|｜]?>|<\/s>|<eos>|<end_of_(?:turn|utterance)>|<turn\|>|\[\/INST\]|\[EOS\]|\[e~\[)/i;
const TOKENS = new RegExp(` ?(?<!\`)${TOKEN}(?!\`)`, "gi");
/** Marks that were escaped on their way, as pages or JSON do. */
const ESCAPED = /(?:&lt;|\\u003c)(\/?[|｜]?[a-z_:▁]{2,40}[|｜]?)(?:&gt;|\\u003e)/gi;

/** A tag around the whole answer, which may lack its end; and one around the answer behind other words. */
const WRAPPED = /^\s*<(final|response|output|result|solution|reply)>([^]*?)(?:<\/\1>\s*)?$/i;
const ANSWER = /(?<!`)<(?:final_?)?answer>/gi;
const ANSWER_END = /<\/(?:final_?)?answer>/i;

/** A text without the tag around its answer. */
function unwrap(text: string): string {
  const opened = [...text.matchAll(ANSWER)].at(-1);
  const inner = opened === undefined ? text : text.slice(opened.index + opened[0].length);
  const end = inner.search(ANSWER_END);
  return WRAPPED.exec(text)?.[2] ?? (end === -1 ? inner : inner.slice(0, end));
}

/** Escapes of terminals, control characters but line feed and tab, and what is invisible or turns the direction. */
const ANSI = new RegExp(String.raw`\u001B(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])`, "g");
const INVISIBLE =
  /[\p{Cc}\u00AD\u115F\u1160\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E001F}]/gu;

/** A model's words as a reader should get them. Every text of a model passes here once, before anything judges it. */
export function cleanText(raw: string): string {
  const visible = raw
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(ANSI, "")
    .replace(INVISIBLE, (one) => (one === "\n" || one === "\t" ? one : ""))
    .replace(ESCAPED, "<$1>");
  const spoken = removeCalls(removeThoughts(visible)).replace(START, "");
  const stop = spoken.search(STOP);
  const turn = stop === -1 ? spoken : spoken.slice(0, stop);
  const text = withoutCitationMarks(unwrap(turn.replace(TOKENS, ""))).trim();
  // Joiners, selectors and blanks alone are no words.
  return text.replace(/\s|\u{200C}|\u{200D}|\u{2800}|\p{Variation_Selector}/gu, "") === "" ? "" : text;
}

/** Fields in which a model that was asked for prose puts it when it writes JSON. */
const SPOKEN = ["answer", "response", "reply", "content", "text", "message", "output", "final_answer"];

/**
 * Prose without a model's wrapping: a fence of Markdown, or JSON.
 * @returns "" for the call of a tool in plain JSON.
 */
export function unwrapProse(text: string): string {
  const [, label, fenced] = /^```([a-z]{0,9})[ \t]*\n((?:(?!```)[^])*)\n```$/i.exec(text) ?? [];
  const inner = (fenced ?? text).trim();
  if (!/^["{[]/.test(inner)) return /^(?:|md|markdown|te?xt|plain)$/i.test(label ?? "-") ? inner : text;
  try {
    const value = parseTolerantly(inner);
    if (typeof value === "string") return value.trim();
    const field = createFieldReader(Array.isArray(value) ? value[0] : value);
    const given = field("arguments") ?? field("parameters");
    if (typeof field("name") === "string" && given !== undefined) return "";
    const spoken = SPOKEN.map(field).find((one) => typeof one === "string");
    return typeof spoken === "string" && !Array.isArray(value) ? spoken.trim() : text;
  } catch {
    return text;
  }
}

/** Reads fields of a value that may be anything. */
export function createFieldReader(value: unknown): (name: string) => unknown {
  const isObject = typeof value === "object" && value !== null;
  const fields = new Map<string, unknown>(isObject ? Object.entries(value) : []);
  return (name) => fields.get(name) ?? undefined;
}

export function getList(value: unknown, name: string): unknown[] {
  const list = createFieldReader(value)(name);
  return Array.isArray(list) ? list : [];
}

/** The text of a content: a string, or parts of which only those that are text count. */
export function extractText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(extractText).join("");
  const part = createFieldReader(content);
  const type = part("type");
  if (typeof type === "string" && !/^(?:output_)?text(?:_delta)?$/.test(type)) return "";
  if (part("thought") === true) return "";
  const text = part("text") ?? part("content") ?? part("parts");
  return typeof text === "object" && text !== null && !Array.isArray(text)
    ? extractText(createFieldReader(text)("value"))
    : extractText(text ?? "");
}

/** The words in a value that holds them somewhere. */
export function joinWords(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(joinWords).join("");
  const part = createFieldReader(value);
  const names = ["text", "thinking", "summary", "refusal", "content"];
  return value == null ? "" : joinWords(names.map(part).find((one) => one !== undefined));
}

/** Tokens as any of the usual names give them. Whatever is in the total beside the prompt was written by the model. */
export function parseUsage(usage: unknown): { input: number; output: number; total: number } | null {
  const field = createFieldReader(usage);
  const first = (...names: string[]) =>
    names.map((name) => parseCount(field(name))).find((one) => one !== null);
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

export function parseCount(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? Math.ceil(number) : null;
}
