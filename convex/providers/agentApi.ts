import * as z from "zod";
import type { ActionCtx } from "../_generated/server";
import type { BillingSubject } from "../platform/limits/callers";
import { noteCost } from "../platform/limits/budget";
import { deadlines } from "../platform/outside/deadlines";
import { getAgentApiUrl, getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { askBilledProvider, askProvider, parseBody, isSuccess, buildJsonPost, type Exchange } from "./call";

/**
 * The agent API's asynchronous jobs (docs.bankr.bot/agent-api): a prompt starts a job, which is polled.
 *
 * The agent can act with its key's own funds: give it a read-only key, and never put third parties' text into a prompt.
 */
const UPSTREAM = "The agent API";

const AGENT_API_OFF =
  "AGENT_API_URL is not configured: with another provider's LLM_ENDPOINT the agent API is off";

/** The estimate for a prompt in millionths of a USD, from its plan: it publishes no price. */
const PROMPT_MICROS = 50_000;

const jobId = z.string().min(1).max(200);
const acceptedShape = z.object({ jobId });
const jobShape = z.discriminatedUnion("status", [
  z.object({ status: z.enum(["pending", "processing", "failed", "cancelled"]) }),
  z.object({ status: z.literal("completed"), response: z.string() }),
]);

/**
 * A job; `unknown` if the API has no such one. A failed job is not a failure of the API, which answers 200 with
 * `success: true` for it.
 */
export type AgentJob = z.output<typeof jobShape> | { status: "unknown" };

/**
 * Sends a prompt, once: there is no idempotency key, and a repeat would be another job.
 * @param prompt At most 10,000 characters.
 * @returns The job's id.
 * @throws AppError `upstream`. After a timeout or a broken connection the job may exist all the same.
 */
export async function sendPrompt(ctx: ActionCtx, billTo: BillingSubject, prompt: string): Promise<string> {
  const account = { provider: "agentApi", key: getRequired("LLM_GATEWAY_API_KEY") } as const;
  const answer = await askBilledProvider(ctx, account, () => ask("/agent/prompt", { prompt }));
  const refused = answer.kind === "answer" && !isSuccess(answer);
  if (!refused) noteCost(billTo, "agentApi", PROMPT_MICROS);
  return parseBody(UPSTREAM, answer, acceptedShape).jobId;
}

/** @throws AppError `upstream`, as `sendPrompt` does. */
export async function readJob(id: string): Promise<AgentJob> {
  const result = await ask(`/agent/job/${encodeURIComponent(id)}`);
  if (result.kind === "answer" && result.status === 404) return { status: "unknown" };
  return parseBody(UPSTREAM, result, jobShape);
}

/** Stops a job; one that has already ended stays as it is. @throws AppError `upstream` if the API could not be reached. */
export async function cancelJob(id: string): Promise<void> {
  const result = await ask(`/agent/job/${encodeURIComponent(id)}/cancel`, {});
  // 400: it has completed or failed. 404: there is none.
  if (result.kind === "answer" && (result.status === 400 || result.status === 404)) return;
  parseBody(UPSTREAM, result, z.unknown());
}

/** @throws AppError `not_configured` if the gateway is another provider's and AGENT_API_URL is not set. */
async function ask(path: string, body?: Record<string, string>): Promise<Exchange> {
  const address = getAgentApiUrl();
  if (address === null) throw new AppError("not_configured", AGENT_API_OFF);
  const headers = { "X-API-Key": getRequired("LLM_GATEWAY_API_KEY") };
  const init = body === undefined ? { headers } : buildJsonPost(body, headers);
  return askProvider("agentApi", `${address}${path}`, init, deadlines.agentApi);
}
