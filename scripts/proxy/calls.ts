import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { operations } from "built:operations";
import * as z from "zod/mini";
import { inputAsksForKey, SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { withProgress, type Listener } from "./progress";
import { INVALID_PARAMS, RpcError } from "./rpc";
import { callService, ServiceError } from "./service";
import { UnexpectedAnswer, type Tool } from "./tool";
import { tools } from "./tools";

/** One call of a tool. Its input is forwarded as it is: but for a few refusals the service alone judges it. */

type Input = Record<string, unknown>;

const noticed = z.object({
  owner: z.optional(z.object({ level: z.string() })),
  claimPending: z.optional(z.string()),
  claimContest: z.optional(z.string()),
});

type Surroundings = Listener & { serviceUrl: string; signal: AbortSignal };

/** @throws RpcError when there is no such tool. */
export async function callTool(
  name: string,
  input: Input,
  surroundings: Surroundings,
): Promise<CallToolResult> {
  const tool = tools.find((one) => one.name === name);
  const operation = operations[name];
  if (tool === undefined || operation === undefined) {
    throw new RpcError(INVALID_PARAMS, `There is no tool named ${name}`);
  }
  if (inputAsksForKey(input)) return declined(tool, input);
  const refusal = notATextIn(tool, operation.texts, input);
  if (refusal !== null) return failed(refusal);
  return answered(tool, input, surroundings);
}

const data = z.record(z.string(), z.unknown());

async function answered(tool: Tool, input: Input, surroundings: Surroundings): Promise<CallToolResult> {
  const key = tool.repeats === "keyed" ? keyOf(tool, input) : null;
  const call = callService({
    serviceUrl: surroundings.serviceUrl,
    ...tool.endpoint,
    input,
    idempotencyKey: key,
    repeatable: tool.repeats !== "unlessDelivered" || !isGiven(input.userId),
    timeoutMs: tool.timeoutMs,
    signal: surroundings.signal,
  });
  try {
    const answer = await withProgress(surroundings, call);
    if (key !== null) keepWaiting(tool, input, key, waits.safeParse(answer).success);
    const content = [{ type: "text" as const, text: tool.text(answer, input) + noticeIn(answer) }];
    return tool.structured ? { content, structuredContent: data.parse(answer) } : { content };
  } catch (error) {
    if (error instanceof UnexpectedAnswer) {
      return failedIn(key, true, `The service's answer has an unexpected form: ${error.message}.`);
    }
    if (error instanceof RpcError && key !== null) return failedIn(key, true, error.message);
    if (!(error instanceof ServiceError)) throw error;
    return failedIn(key, error.inDoubt, error.message);
  }
}

/** What every answer to a `userId` may tell besides its own: that somebody owns it, or is about to. */
function noticeIn(answer: unknown): string {
  const { owner, claimPending, claimContest } = noticed.safeParse(answer).data ?? {};
  if (owner !== undefined)
    return `\n\nThis userId has an owner (level: ${owner.level}): money sent to its wallets is theirs.`;
  if (claimPending === undefined) return "";
  const how =
    claimContest === "code"
      ? "they can contest it with the code that was sent to the chat of this userId, or ask the operator"
      : "only the operator can end it";
  return (
    `\n\nWarning: a signed-in user has claimed this userId, and owns its wallet from ${claimPending} on. ` +
    `If that is not this person, ${how}.`
  );
}

/** @param inDoubt Whether the service may have carried the call out all the same. */
function failedIn(key: string | null, inDoubt: boolean, message: string): CallToolResult {
  if (key === null) return failed(message);
  const said = /[.!?)]$/.test(message) ? message : `${message}.`;
  return failed(
    inDoubt
      ? `${said} Whether it was carried out is not known. To find out, call again with the same input and ` +
          `idempotencyKey "${key}": that returns the first outcome and never does it twice.`
      : `${said} Its idempotencyKey was "${key}": another attempt needs a new one.`,
  );
}

/** Of this call alone, unless the caller repeats an earlier one: by its key, or by its terms while it waits for its owner. */
function keyOf(tool: Tool, input: Input): string {
  const { idempotencyKey } = input;
  if (typeof idempotencyKey === "string" && idempotencyKey.trim() !== "") return idempotencyKey.trim();
  const asked = waiting.get(termsOf(tool, input));
  return asked !== undefined && asked.until > Date.now() ? asked.key : crypto.randomUUID();
}

const waits = z.object({ status: z.enum(["awaiting_approval", "approved"]), approvalId: z.string() });

/** The keys of what waits for its owner, by its terms. */
const waiting = new Map<string, { key: string; until: number }>();
/** An owner has so long to approve. */
const ASKED_MS = 600_000;
const MOST_WAITING = 100;

function keepWaiting(tool: Tool, input: Input, key: string, isWaiting: boolean): void {
  const terms = termsOf(tool, input);
  if (!isWaiting) return void waiting.delete(terms);
  if (waiting.has(terms)) return;
  if (waiting.size >= MOST_WAITING) waiting.clear();
  waiting.set(terms, { key, until: Date.now() + ASKED_MS });
}

function termsOf({ name }: Tool, { idempotencyKey: _, ...terms }: Input): string {
  return JSON.stringify([name, Object.entries(terms).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** A query turns numbers into texts, a body does not: what is no text is refused here alike. */
function notATextIn({ endpoint }: Tool, texts: readonly string[], input: Input): string | null {
  if (endpoint.method !== "GET") return null;
  const wrong = texts.find((name) => isGiven(input[name]) && typeof input[name] !== "string");
  return wrong === undefined ? null : `${wrong} must be a string`;
}

function declined(tool: Tool, input: Input): CallToolResult {
  const answer = tool.declined?.(input);
  if (answer === undefined) return failed(SECURITY_MESSAGE);
  const content = [{ type: "text" as const, text: SECURITY_MESSAGE }];
  return tool.structured ? { content, structuredContent: answer } : { content };
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}
