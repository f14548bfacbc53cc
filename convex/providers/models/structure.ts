import type * as z from "zod";
import type { ActionCtx } from "../../_generated/server";
import { describeSchema, parseAnswer, toWireSchema } from "../../figures/answers";
import { declinedError, type Completion, type Prompt, type PromptMessage } from "./client";
import { askModel, UnusableAnswer } from "./gateway";

/** Structured answers of the gateway: sends the shape, checks the answer against it, and has it repaired once. */

/** A question: a prompt, and the shape of its answer. */
export type StructuredQuestion<Shape extends z.ZodType> = {
  /** The name of the schema on the wire: letters, digits, `_` and `-`, at most 64. Chooses the model (`client`). */
  name: string;
  /** The system message, without the form of the answer, which is appended. */
  system: string;
  user: string;
  /** The limit of the answer in tokens; an answer that is cut off is requested once more with twice that. */
  maxTokens: number;
  shape: Shape;
  /** Checks what a schema cannot express. Returns the problem, for the repair turn, or `null`. */
  demands?: (value: z.output<Shape>) => string | null;
  /** Repairs by code what the repair turn did not fix. Returns `null` if it cannot. */
  mend?: (value: z.output<Shape>) => z.output<Shape> | null;
};

/** `timeoutMs` holds for each turn: the first answer, then the repair. */
type CallOptions = Pick<Prompt, "timeoutMs" | "attempts" | "billTo" | "asksAgain">;

type Structured<Value> = Completion & { value: Value; repaired: boolean };

/** The longest quotation of an unusable answer, in characters. */
const MAX_QUOTED = 20_000;

/**
 * Requests a JSON value. The shape is sent twice: as a strict schema, and in the prompt for gateways without schemas
 * (`gateway` leaves the schema out for a day after a refusal). The answer is parsed tolerantly, checked strictly, and
 * returned to the model once with all its problems.
 * @returns The value; `text`, the answer that holds it; and whether the repair turn was needed.
 * @throws AppError `upstream` for a failure of the gateway; `UnusableAnswer` for a second answer that is no better.
 */
export async function completeStructured<Shape extends z.ZodType>(
  ctx: ActionCtx | null,
  question: StructuredQuestion<Shape>,
  options: CallOptions,
): Promise<Structured<z.output<Shape>>> {
  const { name, maxTokens } = question;
  const schema = toWireSchema(question.shape);
  const messages: PromptMessage[] = [
    { role: "system", content: `${question.system}\n\n${describeSchema(schema)}` },
    { role: "user", content: question.user },
  ];
  const isWhole = (cut: Completion) => endsWithValue(cut.text) && checkAnswer(question, cut).problem === null;
  const promptOptions = { ...options, maxTokens, format: { name, schema }, isWhole };
  const first = await askModel(ctx, { ...promptOptions, messages });
  const checked = checkAnswer(question, first);
  if (checked.problem === null) return { ...first, value: checked.value, repaired: false };

  const repair = [...messages, ...buildRepairTurn(first.text, checked.problem)];
  const second = await askModel(ctx, { ...promptOptions, messages: repair });
  const tokensUsed = first.tokensUsed + second.tokensUsed;
  const rechecked = checkAnswer(question, second);
  if (rechecked.problem === null) return { ...second, tokensUsed, value: rechecked.value, repaired: true };
  const parsed = rechecked.value ?? checked.value;
  const mended = parsed === undefined ? null : (question.mend?.(parsed) ?? null);
  if (mended === null && second.isRefused) throw declinedError();
  if (mended === null) throw new UnusableAnswer(rechecked.problem);
  return { ...second, tokensUsed, value: mended, repaired: true };
}

/** The turn that quotes an unusable answer and names its problems; without an empty one, which gateways refuse. */
function buildRepairTurn(answer: string, problem: string): PromptMessage[] {
  const quoted = answer.slice(0, MAX_QUOTED).replace(/\p{Surrogate}/gu, "");
  const content = `That answer cannot be used: ${problem}. Send the whole corrected JSON object and nothing else.`;
  return [
    ...(quoted.trim() === "" ? [] : [{ role: "assistant" as const, content: quoted }]),
    { role: "user", content },
  ];
}

type Checked<T> = { problem: null; value: T } | { problem: string; value?: T };

/** Whether a text that was cut off ends behind a closed value: no other value begins after the last closing bracket. */
const endsWithValue = (text: string): boolean =>
  text.lastIndexOf("{") < Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));

/**
 * The value in the answer's text, or else the first in its other places that has the shape.
 * @returns A `value` beside a `problem` has the shape and breaks a rule of the question.
 */
function checkAnswer<Shape extends z.ZodType>(
  question: StructuredQuestion<Shape>,
  { text, also }: Pick<Completion, "text" | "also">,
): Checked<z.output<Shape>> {
  const parse = (one: string): Checked<z.output<Shape>> => {
    const reading = parseAnswer(question.shape, one, `${question.system}\n${question.user}`);
    if ("problem" in reading) return reading;
    return { problem: question.demands?.(reading.value) ?? null, value: reading.value };
  };
  const own = parse(text);
  if (own.value !== undefined) return own;
  return also.map(parse).find(({ value }) => value !== undefined) ?? own;
}
