/** A stand-in for the agent API's asynchronous jobs, for local use. A job reports whale alerts by default. */

import * as z from "zod";
import { parseJson } from "../json";
import type { Fault, Standin } from "./standin";
import { sendJson, type Call } from "./http";
import type { Scene } from "./market";
import { hash, random } from "./random";
import { formatDollars } from "./writer";

const PROMPT_LIMIT = 10_000;
const JOBS_KEPT = 1_000;
const PENDING_MS = 1_000;

const promptShape = z.looseObject({
  prompt: z.string().min(1),
  threadId: z.string().min(1).optional(),
});

type Job = {
  id: string;
  /** Its result; without it, the whales of the market. */
  reply: string | undefined;
  threadId: string;
  prompt: string;
  createdAt: number;
  completesAt: number;
  cancelledAt: number | null;
};

export function createAgentApi(scene: Scene): Standin {
  const { seed, now } = scene;
  const jobs = new Map<string, Job>();
  let created = 0;

  const submit = (call: Call, fault: Fault | undefined): Response => {
    const parsed = promptShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, "Invalid request", "prompt must be a non-empty string");
    const { prompt } = parsed.data;
    if (prompt.length > PROMPT_LIMIT)
      return refuse(400, "Prompt too long", `prompt must be at most ${PROMPT_LIMIT} characters`);
    const createdAt = now();
    const number = hash(`${seed} ${created++} ${createdAt} ${prompt}`).toString(16);
    const id = `job_${number}_${createdAt.toString(36)}`;
    const threadId = parsed.data.threadId ?? `thr_${number}`;
    const completesAt = createdAt + random(seed, "job", id).whole(3_000, 6_000);
    const reply = fault?.mode === "reply" ? (fault.content ?? "") : undefined;
    jobs.set(id, { id, reply, threadId, prompt, createdAt, completesAt, cancelledAt: null });
    for (const oldest of jobs.keys()) if (jobs.size > JOBS_KEPT) jobs.delete(oldest);
    return sendJson({ success: true, jobId: id, threadId, status: "pending", message: "Job created" }, 202);
  };

  const getStatus = ({ createdAt, completesAt, cancelledAt }: Job, at: number) => {
    if (cancelledAt !== null) return "cancelled";
    if (at >= completesAt) return "completed";
    return at >= createdAt + PENDING_MS ? "processing" : "pending";
  };

  const show = (job: Job): Response => {
    const { id, reply, threadId, prompt, createdAt, completesAt, cancelledAt } = job;
    const status = getStatus(job, now());
    const response = () => reply ?? whaleReport(scene, completesAt);
    return sendJson({
      ...{ success: true, jobId: id, threadId, status, prompt, createdAt: iso(createdAt) },
      ...(status === "completed" ? { response: response(), completedAt: iso(completesAt) } : {}),
      ...(cancelledAt === null ? {} : { cancelledAt: iso(cancelledAt) }),
      cancellable: status === "pending" || status === "processing",
    });
  };

  const cancel = (job: Job): Response => {
    const status = getStatus(job, now());
    if (status === "completed")
      return refuse(400, "Job already completed", "A completed job cannot be cancelled");
    job.cancelledAt ??= now();
    return sendJson({ success: true, jobId: job.id, status: "cancelled" });
  };

  return {
    error: (status, reason) => agentError(reason, `Told to answer ${status}`),
    handle: (call, fault) => {
      if ((call.headers.get("X-API-Key") ?? "") === "")
        return refuse(401, "Authentication required", "Send your key in X-API-Key");
      if (call.path === "/agent/prompt" && call.method === "POST") return submit(call, fault);
      const [, id = "", action] = /^\/agent\/job\/([^/]+)(\/cancel)?$/.exec(call.path) ?? [];
      if (id === "") return refuse(404, "Not found", `Unknown path ${call.path}`);
      const job = jobs.get(id);
      if (job === undefined) return refuse(404, "Job not found", `No job ${id}`);
      const method = action === undefined ? "GET" : "POST";
      if (call.method !== method) return refuse(405, "Method not allowed", method);
      return action === undefined ? show(job) : cancel(job);
    },
  };
}

const HALF_HOUR = 30 * 60_000;
/** With less volume, no transfer of a coin would be as large as the prompt requires. */
const LEAST_VOLUME = 400_000_000;

/** Transfers that fit the market's moves, in prose, the same for half an hour. */
function whaleReport({ seed, market }: Scene, at: number): string {
  const period = Math.floor(at / HALF_HOUR);
  const chance = random(seed, "whales", period);
  // Figures of the period's start, so that the same transfer is always reported alike.
  const coins = chance.shuffled(market.movers(period * HALF_HOUR)).slice(0, chance.whole(2, 5));
  const alerts = coins.map(({ symbol: token, change24h, volume24h }) => {
    const [kind, direction] = change24h >= 0 ? ["cex_outflow", "bullish"] : ["cex_inflow", "bearish"];
    const alertType = chance.pick([kind, "large_transfer", "smart_money"]);
    const amount = Math.round(Math.max(volume24h, LEAST_VOLUME) * chance.between(0.003, 0.03));
    const description = `${formatDollars(amount)} of ${token} moved, on a day of ${change24h.toFixed(2)} %.`;
    const transaction = chance.between(0, 1) < 0.7 ? { txHash: `0x${chance.hex(64)}` } : {};
    return { token, alertType, amount, direction, description, ...transaction };
  });
  return `**Whale activity** (simulated):\n\n\`\`\`json\n${JSON.stringify(alerts, null, 2)}\n\`\`\``;
}

function agentError(error: string, message: string): unknown {
  return { error, message };
}

function refuse(status: number, error: string, message: string): Response {
  return sendJson(agentError(error, message), status);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
