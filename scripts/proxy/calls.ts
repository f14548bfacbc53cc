import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { operations } from "built:operations";
import * as z from "zod/mini";
import { inputAsksForKey, SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { withProgress, type Listener } from "./progress";
import { INVALID_PARAMS, RpcError } from "./rpc";
import { callService, ServiceError } from "./service";
import { keyOf, noteOutcome, type Key } from "./keys";
import { UnexpectedAnswer, type Input, type Tool } from "./tool";
import { tools } from "./tools";

/** Handles one call of a tool. Its input is forwarded unchanged: apart from a few refusals, only the service checks it. */

const noticed = z.object({
  owned: z.optional(z.boolean()),
  ownedNote: z.optional(z.string()),
  claimPending: z.optional(z.string()),
  claimEndUrl: z.optional(z.string()),
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
  const key = keyOf(tool, input);
  const call = callService({
    serviceUrl: surroundings.serviceUrl,
    ...tool.endpoint,
    input,
    idempotencyKey: key?.value ?? null,
    repeatable: tool.repeats !== "unlessDelivered" || !isGiven(input.userId),
    timeoutMs: tool.timeoutMs,
    signal: surroundings.signal,
  });
  const fails = (inDoubt: boolean, message: string) => {
    if (key === null) return failed(message);
    noteOutcome(tool, input, key, inDoubt);
    return failedIn(key, inDoubt, message);
  };
  try {
    const { body, isRepeat } = await withProgress(surroundings, call);
    if (key !== null) noteOutcome(tool, input, key, waits.safeParse(body).success);
    const text = tool.text(body, input) + (isRepeat && key?.isMade === true ? REPEATED : "") + noticeIn(body);
    const content = [{ type: "text" as const, text: text }];
    return tool.structured ? { content, structuredContent: data.parse(body) } : { content };
  } catch (error) {
    if (error instanceof UnexpectedAnswer)
      return fails(true, `The service's answer has an unexpected form: ${error.message}.`);
    if (error instanceof RpcError && key !== null) return fails(true, error.message);
    if (!(error instanceof ServiceError)) throw error;
    return fails(error.inDoubt, error.message);
  }
}

/** For a client that has restarted this process since the order was made. */
const REPEATED =
  "\n\nNOTHING was moved by this call: the same order was made within the last ten minutes, and this is its outcome. " +
  "To order it once more, pass an idempotencyKey of your own.";

/** A notice that every answer about a `userId` may contain: that it has an owner, or is about to. */
function noticeIn(answer: unknown): string {
  const { owned, ownedNote = "", claimPending, claimEndUrl = "" } = noticed.safeParse(answer).data ?? {};
  if (owned === true) return `\n\n${ownedNote}.`;
  if (claimPending === undefined) return "";
  return (
    `\n\nWarning: somebody has claimed this userId, and owns its wallet from ${claimPending} on. ` +
    `If that is not this person, opening this address before then ends the claim: ${claimEndUrl}`
  );
}

/** @param inDoubt Whether the service may still have executed the call. */
function failedIn({ value: key }: Key, inDoubt: boolean, message: string): CallToolResult {
  const sentence = /[.!?)]$/.test(message) ? message : `${message}.`;
  return failed(
    inDoubt
      ? `${sentence} Whether it was carried out is not known. To find out, call again with the same input and ` +
          `idempotencyKey "${key}": that returns the first outcome and never does it twice.`
      : `${sentence} Its idempotencyKey was "${key}": another attempt needs a new one.`,
  );
}

const waits = z.object({ status: z.enum(["awaiting_approval", "approved"]), approvalId: z.string() });

/** A query turns numbers into text, a body does not: anything but text is refused here for both. */
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
