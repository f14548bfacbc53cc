import type * as z from "zod";
import type { ActionCtx } from "../../_generated/server";
import { describeSchema, parseAnswer, toWireSchema } from "../../figures/answers";
import { declinedError, type Completion, type Prompt, type PromptMessage } from "./client";
import { askModel, UnusableAnswer } from "./gateway";

/** Asks the gateway for a JSON value: sends the shape, checks the answer and repairs it. */

/** A question: a prompt, and the shape of its answer. */
export type StructuredQuestion<Shape extends z.ZodType> = {
  /** Names the schema on the wire: letters, digits, `_` and `-`, at most 64. */
  name: string;
  /** The form of the answer is added to it. */
  system: string;
  user: string;
  /** The longest answer, in tokens; one that needs more gets twice the room, once. */
  maxTokens: number;
  shape: Shape;
  /** Rules that a schema cannot express; returns what is wrong, or `null`. A broken rule costs the repair turn. */
  demands?: (value: z.output<Shape>) => string | null;
  /** The mechanical repair of what the repair turn did not fix; returns `null` if there is none. */
  mend?: (value: z.output<Shape>) => z.output<Shape> | null;
};

/** `timeoutMs` is for one turn (the first answer, then the repair). */
type CallOptions = Pick<Prompt, "timeoutMs" | "attempts" | "billTo" | "asksAgain">;

type Structured<Value> = Completion & { value: Value; repaired: boolean };

/** How many characters of an unusable answer are quoted. */
const QUOTED = 20_000;

/**
 * Asks for a JSON value. The shape is sent twice: as a strict schema, and as a form in the prompt for gateways without
 * schemas; a gateway that refuses the schema is asked without it for a day. The answer is read tolerantly, checked
 * strictly, and sent back once with everything that was wrong.
 * @returns The value, and `text`: the raw answer it was read from.
 * @throws AppError `upstream` if the gateway fails; `UnusableAnswer` if the second answer is no better.
 */
export async function completeStructured<Shape extends z.ZodType>(
  ctx: ActionCtx | null,
  question: StructuredQuestion<Shape>,
  patience: CallOptions,
): Promise<Structured<z.output<Shape>>> {
  const { name, maxTokens } = question;
  const schema = toWireSchema(question.shape);
  const format = { type: "json_schema" as const, json_schema: { name, schema, strict: true } };
  const messages: PromptMessage[] = [
    { role: "system", content: `${question.system}\n\n${describeSchema(schema)}` },
    { role: "user", content: question.user },
  ];
  const isWhole = (cut: Completion) => endsWhole(cut.text) && check(question, cut).problem === null;
  const promptOptions = { ...patience, maxTokens, format, isWhole };
  const first = await askModel(ctx, { ...promptOptions, messages });
  const checked = check(question, first);
  if (checked.problem === null) return { ...first, value: checked.value, repaired: false };

  const repair = [...messages, ...repairTurn(first.text, checked.problem)];
  const second = await askModel(ctx, { ...promptOptions, messages: repair });
  const tokensUsed = first.tokensUsed + second.tokensUsed;
  const rechecked = check(question, second);
  if (rechecked.problem === null) return { ...second, tokensUsed, value: rechecked.value, repaired: true };
  const parsed = rechecked.value ?? checked.value;
  const mended = parsed === undefined ? null : (question.mend?.(parsed) ?? null);
  if (mended === null && second.isRefused) throw declinedError();
  if (mended === null) throw new UnusableAnswer(rechecked.problem);
  return { ...second, tokensUsed, value: mended, repaired: true };
}

/** The unusable answer and what is wrong with it. An empty answer is not quoted: gateways refuse empty turns. */
function repairTurn(answer: string, problem: string): PromptMessage[] {
  const quoted = answer.slice(0, QUOTED).replace(/\p{Surrogate}/gu, "");
  const content = `That answer cannot be used: ${problem}. Send the whole corrected JSON object and nothing else.`;
  return [
    ...(quoted.trim() === "" ? [] : [{ role: "assistant" as const, content: quoted }]),
    { role: "user", content },
  ];
}

type Checked<T> = { problem: null; value: T } | { problem: string; value?: T };

/** Whether no further value has begun behind the last one. */
const endsWhole = (text: string): boolean =>
  text.lastIndexOf("{") < Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));

/**
 * The value where a gateway puts answers, or else the one elsewhere that fits.
 * @returns `value` beside a `problem`: the shape was right and only the rules were not met.
 */
function check<Shape extends z.ZodType>(
  question: StructuredQuestion<Shape>,
  { text, also }: Pick<Completion, "text" | "also">,
): Checked<z.output<Shape>> {
  const read = (one: string): Checked<z.output<Shape>> => {
    const reading = parseAnswer(question.shape, one, `${question.system}\n${question.user}`);
    if ("problem" in reading) return reading;
    return { problem: question.demands?.(reading.value) ?? null, value: reading.value };
  };
  const own = read(text);
  if (own.value !== undefined) return own;
  return also.map(read).find(({ value }) => value !== undefined) ?? own;
}
