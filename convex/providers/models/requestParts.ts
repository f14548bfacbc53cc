import { parseTolerantly } from "../../lib/text/json";
import { cleanText } from "./cleaning";
import { createFieldReader } from "./fields";

/** Finds in a gateway's refusal the part of the request that it does not support, and what its model wrote all the same. */

/** The number of tokens that a refusal calls the most. */
const MOST = new RegExp(
  "(?:max_(?:completion_|output_|new_)?tokens|maximum|output tokens)[^]{0,200}?" +
    "(?:at most|less than or equal to|<=|\\d >|no more than|maximum (?:value|allowed)(?: is| of)?:?|up to|cannot exceed|limit of|" +
    "supports? only|range[^\\d[(]{0,40}[[(]\\d+, ?)\\s{0,5}`?(\\d[\\d,]*)|range of max_tokens[^\\d[(]{0,40}[[(]\\d+, ?(\\d+)",
  "i",
);
/** The longest context, and what of it the prompt takes. */
const CONTEXT =
  /(?:maximum context length (?:is|of) (\d{1,9}) tokens|max_new_tokens`? must be <= (\d{1,9}))[^]{0,200}?(\d{1,9})(?: tokens)? (?:in|from|of|`inputs`)(?: (?:the |your )?(?:messages|prompt|input|text)| tokens)/i;
const SYSTEM =
  /developer instruction|system (?:role|message|instruction|prompt).{0,60}(?:not|un)|role.{0,20}system.{0,40}not|['"`]system['"`] is not one of/i;
const SCHEMA =
  /response[_ ]?format|json[_ ]?(?:schema|object)|schema|grammar|structured[_ ]?output|json mode|additionalProperties|\bstrict\b/i;
const UNKNOWN = /unsupported|not supported|instead|unknown|unrecognized/i;

/**
 * The part that a refusal blames and the request can do without: `schema`, `max_tokens`, `system`, `stream`, or
 * `limit 1000`, the longest answer that the gateway allows; `null` if it blames none of these.
 */
export function findBlamedField(words: string): string | null {
  const isOther = words.includes("max_completion_tokens") || /argument supplied: max_tokens/.test(words);
  if (isOther && UNKNOWN.test(words)) return "max_tokens";
  const [, whole, most, given] = CONTEXT.exec(words) ?? [];
  const room = Number(whole ?? most) - Number(given);
  if (room > 0) return `limit ${room}`;
  const [, listed, range] = MOST.exec(words) ?? [];
  const limit = Number((listed ?? range ?? "0").replaceAll(",", ""));
  if (limit > 0) return `limit ${limit}`;
  if (/stream.{0,40}(?:must|required|only)|only.{0,20}stream|stream ?= ?true/i.test(words)) return "stream";
  if (SYSTEM.test(words)) return "system";
  return SCHEMA.test(words) ? "schema" : null;
}

/** What a model wrote for a schema that its gateway refused to pass on; `null` if this is no such refusal. */
export function extractRejectedAnswer(words: string): string | null {
  if (!/json_validate_failed|failed_generation|failed to (?:generate|validate) json/i.test(words))
    return null;
  try {
    const body = createFieldReader(parseTolerantly(words));
    const written = createFieldReader(body("error"))("failed_generation") ?? body("failed_generation");
    return typeof written === "string" ? cleanText(written) : "";
  } catch {
    return "";
  }
}
