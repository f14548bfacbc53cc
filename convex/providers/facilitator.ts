import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { CHAIN_ID } from "../lib/money/base";
import { runAfterwards } from "../platform/outside/calls";
import { deadlines } from "../platform/outside/deadlines";
import { sha256Hex } from "../lib/crypto";
import { DAY } from "../lib/time";
import { requireAnswer, askProvider, buildJsonPost, toStatusError, unusableAnswerError } from "./call";

/**
 * An x402 facilitator without accounts: executes signed payments in place of a relayer (x402 specification, /supported
 * and /settle).
 */
const UPSTREAM = "The payment facilitator";

const settledShape = z.object({ success: z.boolean() });
const supportedShape = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
});
type Version = 1 | 2;
const NETWORKS: Record<Version, readonly string[]> = { 1: ["base"], 2: [`eip155:${CHAIN_ID}`, "eip155:*"] };

/** This service's own requirements, never what a client has sent. */
type Requirements = { one: object; two: object; resource: object };

/**
 * Has a payment executed. Safe to repeat: an authorization is used once.
 * @returns Whether it reports success; the chain decides.
 * @throws AppError `upstream`: it is unknown whether the payment was executed.
 */
export async function settleByFacilitator(
  ctx: ActionCtx,
  payload: object,
  requirements: Requirements,
): Promise<boolean> {
  const known = await getVersion(ctx);
  let answer = await settle(known ?? 1, payload, requirements);
  // One that does not say what it supports, and knows no version 1.
  if (known === null && answer.status === 400) answer = await settle(2, payload, requirements);
  const parsed = settledShape.safeParse(answer.body);
  if (!parsed.success) {
    throw answer.status === 200 ? unusableAnswerError(UPSTREAM) : toStatusError(UPSTREAM, answer.status);
  }
  return parsed.data.success;
}

async function settle(x402Version: Version, payload: object, { one, two, resource }: Requirements) {
  const accepted = x402Version === 1 ? one : two;
  const [scheme, network] = ["exact", NETWORKS[1][0]];
  const form = x402Version === 1 ? { scheme, network } : { resource, accepted };
  const paymentPayload = { x402Version, ...form, payload };
  const body = buildJsonPost({ x402Version, paymentPayload, paymentRequirements: accepted });
  return requireAnswer(
    UPSTREAM,
    await askProvider("facilitator", buildUrl("/settle"), body, deadlines.facilitator),
  );
}

const buildUrl = (path: string): string => getRequired("X402_FACILITATOR_URL") + path;

/** The version of x402 to speak, as it said within a day; `null` if it does not say. @throws AppError `upstream` */
async function getVersion(ctx: ActionCtx): Promise<Version | null> {
  const key = `facilitator:${sha256Hex(buildUrl(""))}`;
  const kept = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  if (kept !== null && Date.now() - kept.fetchedAt < DAY) return kept.body === "2" ? 2 : 1;
  const version = await readVersion();
  if (version !== null)
    await runAfterwards(() =>
      ctx.runMutation(internal.platform.cache.storeAnswer, { key, body: String(version) }),
    );
  return version;
}

/**
 * Asks a facilitator which version of x402 it settles here with: 1 where it knows it.
 * @returns `null` if it does not say.
 * @throws AppError `upstream` if it says that it settles no payments on this chain
 */
export async function readVersion(): Promise<Version | null> {
  const result = await askProvider("facilitator", buildUrl("/supported"), {}, deadlines.publicData);
  const said = result.kind === "answer" ? supportedShape.safeParse(result.body).data : undefined;
  if (said === undefined) return null;
  const settles = (version: Version) =>
    said.kinds.some(
      (kind) =>
        kind.x402Version === version && kind.scheme === "exact" && NETWORKS[version].includes(kind.network),
    );
  if (settles(1)) return 1;
  if (settles(2)) return 2;
  throw new AppError("upstream", `${UPSTREAM} executes no payments on Base (eip155:${CHAIN_ID})`);
}
