import { hasKeyRequest, SECURITY_MESSAGE } from "../lib/keyRequests";
import { CallFailure, type ServiceRequest } from "./requests";
import { stdioTools, type Tool } from "./list";
import { isNothing, TOO_LARGE } from "../lib/text/strings";
import { formatObject, isObject, type Body } from "./text";

/**
 * Handles one call of a tool, over stdio and at `POST /mcp` alike. Its input is forwarded: apart from a few refusals, only
 * the endpoint checks it. Whatever a model must know stands in the text and in the data, because clients pass on either.
 */

/** The tool's input, unchecked. */
export type Input = Readonly<Body>;

/** Sends a request to the service. @throws CallFailure without an answer to show. */
export type Send = (request: ServiceRequest) => Promise<Body>;

/** The result of a call, as the protocol has it. */
export type ToolResult = {
  isError?: true;
  content: { type: "text"; text: string }[];
  structuredContent: Body;
};

const NOTHING_MOVED = "NOTHING was moved by this call";

export async function callTool(tool: Tool, given: Input, send: Send): Promise<ToolResult> {
  const cleaned = withoutBlankKey(given);
  const usual = isBlank(cleaned.limit ?? null) ? tool.list?.usual : undefined;
  const input = usual === undefined ? cleaned : { ...cleaned, limit: usual };
  if (hasKeyRequest(input)) return decline(tool);
  const long = Object.entries(input).find(
    ([, value]) => Number.isInteger(value) && !Number.isSafeInteger(value),
  );
  // Its last digits are lost before the proxy reads them, so that two long ids would be one.
  if (long !== undefined) return toFailure(`${long[0]} ${TOO_LARGE}.`);
  const givenKey = typeof input.idempotencyKey === "string" ? input.idempotencyKey.trim() : null;
  const isOrder = tool.repeats === "ordered";
  const isKeyed = isOrder || tool.repeats === "keyed";
  // The service knows an order by its terms: nothing has to be remembered here.
  const key = givenKey ?? (tool.repeats === "keyed" ? crypto.randomUUID() : null);
  try {
    const { method, path } = tool;
    const body = await send({ method, path, input, isOrder, idempotencyKey: isKeyed ? key : null });
    return toResult(withLeanRows(tool, body), isOrder && givenKey === null && body.repeated === true);
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    return toFailedResult(tool, { key, isGiven: givenKey !== null }, error);
  }
}

/**
 * Drops an idempotency key that is blank or a word for nothing, as some clients send it. In other fields the service
 * reads such words itself.
 */
function withoutBlankKey(given: Input): Input {
  const { idempotencyKey, ...rest } = given;
  return typeof idempotencyKey === "string" && !isBlank(idempotencyKey) ? given : rest;
}

/** Whether an input is blank, or a word for nothing. */
export function isBlank(value: unknown): boolean {
  return isNothing(value) || (typeof value === "string" && value.trim() === "");
}

/** Reduces the rows of an answer's list to the fields for a person; the others are for programs that verify. */
export function withLeanRows({ list }: Pick<Tool, "list">, body: Body): Body {
  const rows = list === undefined ? undefined : body[list.name];
  if (list === undefined || !Array.isArray(rows)) return body;
  const lean = (row: Body) => Object.entries(row).filter(([name]) => list.keeps.includes(name));
  return { ...body, [list.name]: rows.filter(isObject).map((row) => Object.fromEntries(lean(row))) };
}

/** @param isRepeat Whether a client sends the same order again without a key. */
function toResult(body: Body, isRepeat: boolean): ToolResult {
  const { repeatedNote, ...named } = nameTools(body);
  const notices = listNotices(named);
  if (isRepeat) notices.unshift(`${NOTHING_MOVED}. ${String(repeatedNote)}.`);
  const nothingMoved = isRepeat || body.status === "rehearsed" || body.status === "awaiting_approval";
  const facts = { ...named, ...(nothingMoved ? { nothingMoved } : {}) };
  // Notices first, then the facts, which do not say them again.
  const rest = { ...facts, notice: undefined, ownedNote: undefined };
  return {
    content: [{ type: "text", text: [...notices, formatObject(rest)].join("\n") }],
    structuredContent: notices.length === 0 ? facts : { ...facts, notices },
  };
}

/** The notices of an answer: its meaning for the person. */
function listNotices(body: Body): string[] {
  const { status, owned, ownedNote, claimPending, claimEndUrl, idempotencyKey, notice } = body;
  const again = `call again with the same input and idempotencyKey "${String(idempotencyKey)}" for its outcome`;
  const notices: string[] = [];
  if (body.paper === true) notices.push("PAPER: nothing real moves.");
  if (status === "rehearsed") notices.push(`A rehearsal: ${NOTHING_MOVED}.`);
  if (status === "awaiting_approval")
    notices.push(
      `${NOTHING_MOVED} yet: the owner of this userId was asked in their chat. Ask the person to approve it there, then ${again}.`,
    );
  if (status === "failed") notices.push("It FAILED on chain: nothing but network fees was spent.");
  if (status === "submitted" && "txHash" in body)
    notices.push("It was submitted; its confirmation is still to come.");
  if (typeof body.more === "number" && body.more > 0)
    notices.push(`And ${body.more} more: a larger limit (at most 100) gets more of them.`);
  if (typeof notice === "string") notices.push(notice);
  if (body.messengerSent === false)
    notices.push(
      isEmpty(body.signals)
        ? "No card was sent: there is nothing to send yet."
        : "No card has arrived in the messenger so far; set_telegram says where a person's cards go.",
    );
  if (owned === true) notices.push(`${String(ownedNote)}.`);
  else if (typeof claimPending === "string")
    notices.push(
      `This userId was claimed, by this person or by another one: its wallet belongs to who claimed it from ${claimPending} on. If it was not this person, the page at this address ends the claim until then: ${String(claimEndUrl)}`,
    );
  return notices;
}

/** Whether there is no signal. */
function isEmpty(signals: unknown): boolean {
  return isObject(signals) && Object.values(signals).every((one) => one === null);
}

/** Names the idempotency key only if the call may have been carried out. */
function toFailedResult(
  { repeats }: Tool,
  { key, isGiven }: { key: string | null; isGiven: boolean },
  { message, inDoubt, hasMoved }: CallFailure,
): ToolResult {
  // Buying a report is left to HTTP: a model that can send would pay, and get nothing.
  const text = nameToolsIn(message.replace(/\. [^.]*can be bought for .*$/, ""));
  if (repeats === "freely" || repeats === "again") return toFailure(text);
  const error = /[.!?)]$/.test(text) ? text : `${text}.`;
  const isOrder = repeats === "ordered";
  if (!inDoubt) {
    const again = isGiven ? " Another attempt needs another idempotencyKey." : "";
    return toFailure(error + again, isOrder && !hasMoved ? { nothingMoved: true } : {});
  }
  const how = key === null ? "within ten minutes" : `and idempotencyKey "${key}"`;
  return toFailure(
    `${error} Whether it was carried out is not known. To find out, call again with the same input ${how}: that returns the first outcome and never does it twice.`,
    { inDoubt, ...(key === null ? {} : { idempotencyKey: key }) },
  );
}

/** A text of the service that names tools in place of their endpoints. */
function nameToolsIn(words: string): string {
  return words
    .replace(
      /(?:\b(?:GET|POST) )?(\/(?:mcp|user)\/[a-z]+(?:[/-][a-z]+)*)/g,
      (whole, path: string) => stdioTools.find((tool) => tool.path === path)?.name ?? whole,
    )
    .replace(/: connect first\b/, ": connect first (connect_wallet)");
}

/** The fields with a text for a person. */
const TEXT_FIELDS = ["error", "warning", "notice", "ownedNote", "summary"];

/** An answer whose texts name tools in place of their endpoints, at any depth. */
function nameTools(body: Body): Body {
  const entries = Object.entries(body).map(([name, value]): [string, unknown] => {
    if (typeof value === "string") return [name, TEXT_FIELDS.includes(name) ? nameToolsIn(value) : value];
    return [name, isObject(value) ? nameTools(value) : value];
  });
  return Object.fromEntries(entries);
}

function toFailure(error: string, more: Body = {}): ToolResult {
  return { isError: true, content: [{ type: "text", text: error }], structuredContent: { error, ...more } };
}

/** Agents answer in words; from any other tool it is a refusal. */
function decline({ name }: Tool): ToolResult {
  return name === "ask_noel" || name === "get_token_data"
    ? toResult({ answer: SECURITY_MESSAGE }, false)
    : toFailure(SECURITY_MESSAGE);
}
