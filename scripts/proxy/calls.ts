import type { CallToolResult } from "@modelcontextprotocol/server";
import { inputAsksForKey, SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { keyOf, noteOutcome, type Key } from "./keys";
import { callService, ServiceError, type Body } from "./service";
import { textOf } from "./text";
import type { Tool } from "./tools";

/**
 * Handles one call of a tool. Its input is forwarded: apart from a few refusals, only the service checks it. Whatever a
 * model must know stands in the text and in the data, because clients pass on either.
 */

/** The tool's input, unchecked. */
export type Input = Readonly<Record<string, unknown>>;

type Surroundings = { serviceUrl: string; signal: AbortSignal };

/** What clients write for nothing. */
const NOTHING = ["", "null", "undefined", "None", "NaN", "[object Object]"];

const NOTHING_MOVED = "NOTHING was moved by this call";
/** A wallet that holds money keeps its id. */
const SHORT_ID =
  "This userId is short enough to be guessed, and whoever knows it controls the wallet. Own it by the ownerUrl that connect_wallet answers, or use a random UUID for a new wallet.";
const FREE_REPORTS =
  "run_research answers at once, and start_research has reports written over 8 hours; both are free.";

/** @param texts The names of the input's text fields. */
export async function callTool(
  tool: Tool,
  texts: readonly string[],
  given: Input,
  { serviceUrl, signal }: Surroundings,
): Promise<CallToolResult> {
  const input = withoutNothing(given);
  if (inputAsksForKey(input)) return declined(tool);
  const wrong = texts.find((name) => name in input && typeof input[name] !== "string");
  // A query turns numbers into text, a body does not: anything but text is refused here for both.
  if (wrong !== undefined && tool.endpoint.method === "GET") return failed(`${wrong} must be a string`, {});
  const key = keyOf(tool, input);
  try {
    const { body, isRepeat } = await callService({
      serviceUrl,
      ...tool.endpoint,
      input,
      idempotencyKey: key?.value ?? null,
      repeatable: tool.repeats !== "undelivered" || !("userId" in input),
      timeoutMs: tool.timeoutMs,
      signal,
    });
    if (key !== null) noteOutcome(tool, input, key, isWaiting(body));
    return answered(body, isRepeat && key?.isMade === true);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      if (key !== null) noteOutcome(tool, input, key, true);
      throw error;
    }
    if (key !== null) noteOutcome(tool, input, key, error.inDoubt);
    return failedWith(tool, key, error);
  }
}

/** Words for nothing are left out, where nothing is a choice; the service reads them as it does everywhere else. */
function withoutNothing(input: Input): Input {
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => {
      if (value === undefined) return false;
      return name !== "idempotencyKey" || (typeof value === "string" && !NOTHING.includes(value.trim()));
    }),
  );
}

function isWaiting({ status, approvalId }: Body): boolean {
  return (status === "awaiting_approval" || status === "approved") && typeof approvalId === "string";
}

/** @param isRepeat Whether a client that has restarted this process sends the same order again. */
function answered({ suggestedUserId: _, ...body }: Body, isRepeat: boolean): CallToolResult {
  const notices = noticesOf(body);
  if (isRepeat)
    notices.unshift(
      `${NOTHING_MOVED}: the same order was made within the last ten minutes, and this is its outcome. To order it once more, pass an idempotencyKey of your own.`,
    );
  const moved = isRepeat || body.status === "rehearsed" || body.status === "awaiting_approval";
  const structuredContent = {
    ...body,
    ...(typeof body.warning === "string" ? { warning: SHORT_ID } : {}),
    ...(isRepeat ? { repeated: true } : {}),
    ...(moved ? { nothingMoved: true } : {}),
    ...(notices.length === 0 ? {} : { notices }),
  };
  return resultOf(structuredContent);
}

/** Notices first, then the facts. */
function resultOf(structuredContent: Body, isError = false): CallToolResult {
  const { notices, ...facts } = structuredContent;
  const told = Array.isArray(notices) ? notices.map(String) : [];
  const text = [...told, textOf(facts)].join("\n");
  return { ...(isError ? { isError } : {}), content: [{ type: "text", text }], structuredContent };
}

/** What an answer means for the person, in words. */
function noticesOf(body: Body): string[] {
  const { status, owned, ownedNote, claimPending, claimEndUrl, idempotencyKey } = body;
  const notices: string[] = [];
  if (status === "rehearsed") notices.push(`A rehearsal: ${NOTHING_MOVED}.`);
  if (status === "awaiting_approval")
    notices.push(
      `${NOTHING_MOVED} yet: the owner of this userId was asked in their chat. Ask the person to approve it there, then call again with the same input and idempotencyKey "${String(idempotencyKey)}" for its outcome.`,
    );
  if (status === "approved")
    notices.push(
      `It is approved, and on its way. Call again with the same input and idempotencyKey "${String(idempotencyKey)}" for its outcome.`,
    );
  if (status === "failed") notices.push("It FAILED on chain: nothing but network fees was spent.");
  if (status === "submitted" && "txHash" in body)
    notices.push("It was submitted; its confirmation is still to come.");
  if (body.messengerSent === false)
    notices.push("No card has arrived in the messenger so far; set_telegram says where a person's cards go.");
  if (owned === true) notices.push(`${String(ownedNote)}.`);
  else if (typeof claimPending === "string")
    notices.push(
      `Warning: somebody has claimed this userId, and owns its wallet from ${claimPending} on. If that is not this person, until then the button at this address ends the claim: ${String(claimEndUrl)}`,
    );
  return notices;
}

/** A key is named only where money may have moved, or where the caller named it. */
function failedWith(tool: Tool, key: Key | null, { message, inDoubt }: ServiceError): CallToolResult {
  const error = /[.!?)]$/.test(message) ? message : `${message}.`;
  if (tool.name === "get_research_report" && /both are free/.test(message))
    return failed(`${message.split(". ")[0]}. ${FREE_REPORTS}`, {});
  if (key === null) return failed(message, {});
  if (!inDoubt) {
    const again = key.isNamed ? " Another attempt needs another idempotencyKey." : "";
    return failed(error + again, tool.repeats === "ordered" ? { nothingMoved: true } : {});
  }
  const how = "that returns the first outcome and never does it twice";
  return tool.repeats === "ordered"
    ? failed(
        `${error} Whether it was carried out is not known. To find out, call again with the same input and idempotencyKey "${key.value}": ${how}.`,
        { inDoubt, idempotencyKey: key.value },
      )
    : failed(`${error} Whether it was carried out is not known. Call again with the same input: ${how}.`, {
        inDoubt,
      });
}

function failed(error: string, more: Body): CallToolResult {
  return { isError: true, content: [{ type: "text", text: error }], structuredContent: { error, ...more } };
}

/** Agents answer in words; from any other tool it is a refusal. */
function declined({ name }: Tool): CallToolResult {
  if (name !== "ask_noel" && name !== "get_token_data") return failed(SECURITY_MESSAGE, {});
  return resultOf({ answer: SECURITY_MESSAGE });
}
