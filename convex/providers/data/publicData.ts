import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { getOptional, getSiteUrl } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { SOURCE_ADDRESSES, SOURCE_NAMES, type PublicSource } from "../../figures/publicSources";
import { MINUTE, sleep } from "../../lib/time";
import {
  requireAnswer,
  askProvider,
  parseShape,
  isSuccess,
  buildJsonPost,
  toStatusError,
  type Answer,
} from "../call";

/** Requests to the public sources of data: a user agent that names the operator, a rate limit per source, and no key. */

export type PublicRequest<Shape extends z.ZodType> = {
  /** With its query. */
  path: string;
  /** Sent as JSON by POST; without one it is a GET. */
  body?: unknown;
  /** How to parse the answer's text; default: JSON. */
  read?: (text: string) => unknown;
  shape: Shape;
  /** The status that means that the source does not list the subject; default: none does. */
  absence?: number;
};

/** Waits for a turn of a source. @returns `false` when the source's pace is used up. */
export type WaitTurn = (source: PublicSource) => Promise<boolean>;
/** `null` for prices, which are requested once a minute. */
export type RateLimitTurns = WaitTurn | null;

/** Turns that are requested within this time are taken in one transaction. */
const TAKEN_TOGETHER_MS = 20;

/**
 * The turns of the public sources. A turn comes within a second; otherwise the source is skipped, and its last facts are
 * used.
 */
export function limitSourceRate(ctx: ActionCtx): WaitTurn {
  const ask = (sources: PublicSource[]) =>
    ctx.runMutation(internal.platform.limits.charges.takeTurns, { sources });
  const take = batchCalls(ask, TAKEN_TOGETHER_MS);
  return async (source) => {
    const waitMs = await take(source);
    if (waitMs !== null) await sleep(waitMs);
    return waitMs !== null;
  };
}

/**
 * Joins calls that are made at almost the same moment into one; each caller gets its own answer. For work that runs
 * side by side in one action.
 * @param ask Answers all of them, in their order.
 * @param gatherMs How long to wait for others.
 */
export function batchCalls<One, Answer>(
  ask: (all: One[]) => Promise<Answer[]>,
  gatherMs: number,
): (one: One) => Promise<Answer> {
  let gathered: { all: One[]; answers: Promise<Answer[]> } | null = null;
  return async (one) => {
    const all: One[] = gathered?.all ?? [];
    const place = all.push(one) - 1;
    gathered ??= {
      all,
      answers: sleep(gatherMs).then(() => {
        gathered = null;
        return ask(all);
      }),
    };
    const answer = (await gathered.answers)[place];
    if (answer === undefined) throw new Error("The call left some questions without an answer");
    return answer;
  };
}

/** A number as exchanges write it: in a string. */
export const decimal = z
  .string()
  .regex(/^-?\d{1,18}(?:\.\d{1,18})?$/)
  .transform(Number);

/** An older price is not a live price, whatever its source; clocks may differ a little. */
const STALE_MS = 10 * MINUTE;
const SKEW_MS = MINUTE;

export function isLive(observedAt: number): boolean {
  const age = Date.now() - observedAt;
  return age <= STALE_MS && age >= -SKEW_MS;
}

/**
 * One question to a public source, when its turn has come.
 * @param timeoutMs For the answer, from the moment the question is sent.
 * @throws AppError `not_found` if the source does not have it, otherwise `upstream`; both name the source.
 */
export async function askPublic<Shape extends z.ZodType>(
  turns: RateLimitTurns,
  source: PublicSource,
  { path, body, read: parse, shape, absence }: PublicRequest<Shape>,
  timeoutMs: number,
): Promise<z.output<Shape>> {
  const name = SOURCE_NAMES[source];
  if (turns !== null && !(await turns(source)))
    throw new AppError("upstream", `${name} is at its rate limit: ask again in a minute`);
  const { base, request, isKeyed } = buildRequest(source, body);
  // Any refusal counts as this service's failure, and so does an answer of another shape.
  const isFailed = (one: Answer) =>
    one.status !== absence && !(isSuccess(one) && shape.safeParse(one.body).success);
  const answer = requireAnswer(
    name,
    await askProvider(source, base + path, request, timeoutMs, parse, isFailed),
  );
  if (answer.status === absence) throw new AppError("not_found", `${name} does not list this token`);
  if (isSuccess(answer)) return parseShape(name, answer.body, shape);
  const isBlocked = !isKeyed && (answer.status === 401 || answer.status === 403);
  throw toStatusError(name, answer.status, isBlocked ? "address" : answer.refusal);
}

/** CoinGecko's key and its plan; `null` without one. Source: docs.coingecko.com, reference/authentication. */
function readCoingeckoPlan(): { key: string; plan: "demo" | "pro" } | null {
  const [, plan = "demo", key] = /^(?:(pro|demo):)?(.+)$/.exec(getOptional("COINGECKO_API_KEY") ?? "") ?? [];
  return key === undefined ? null : { key, plan: plan === "pro" ? "pro" : "demo" };
}

/** The user agent links to the operator of the deployment, as operators of public services ask. */
function buildRequest(
  source: PublicSource,
  body: unknown,
): { base: string; request: RequestInit; isKeyed: boolean } {
  const plan = source === "coingecko" ? readCoingeckoPlan() : null;
  // CoinGecko's paid plans have an address of their own.
  const base = plan?.plan === "pro" ? "https://pro-api.coingecko.com" : SOURCE_ADDRESSES[source];
  const headers = {
    Accept: "application/json, application/rss+xml, application/xml",
    ...(plan === null ? {} : { [`x-cg-${plan.plan}-api-key`]: plan.key }),
    "User-Agent": `market-research-service/1 (+${getSiteUrl()}/docs)`,
  };
  // Where no key is sent, a source may have moved.
  const redirect = plan === null ? "follow" : "error";
  const request = { redirect, ...(body === undefined ? { headers } : buildJsonPost(body, headers)) } as const;
  return { base: getOptional("EVIDENCE_API_URL") ?? base, request, isKeyed: plan !== null };
}
