/** A stand-in for the agent API's asynchronous jobs, for local use. A job reports whale alerts by default. */

import * as z from "zod";
import type { Fault } from "./control";
import { json, type Call } from "./http";
import { parseJson } from "../json";
import type { Market, Outlook } from "./sources/market";
import { hash, random } from "./random";
import { bigUsd, percent } from "./gateway/words";

const PROMPT_LIMIT = 10_000;
const JOBS_KEPT = 1_000;
const PENDING_MS = 1_000;

const promptShape = z.looseObject({
  prompt: z.string().min(1),
  threadId: z.string().min(1).optional(),
  maxMode: z.looseObject({}).optional(),
});

type WhaleAlert = {
  token: string;
  alertType: "cex_inflow" | "cex_outflow" | "large_transfer" | "smart_money";
  /** USD */
  amount: number;
  direction: Outlook;
  description: string;
  txHash?: string;
};

/** How a job ends: with the usual report, a given answer, a failure, or never. */
type Ending = { kind: "report" } | { kind: "reply"; content: string } | { kind: "fails" } | { kind: "never" };

type Job = {
  id: string;
  ending: Ending;
  threadId: string;
  prompt: string;
  createdAt: number;
  completesAt: number;
  cancelledAt: number | null;
};

export function createAgentApi(options: { seed: string; now: () => number; market: Market }) {
  const { seed, now, market } = options;
  const jobs = new Map<string, Job>();
  let created = 0;

  const submit = (call: Call, ending: Ending): Response => {
    const parsed = promptShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, "Invalid request", "prompt must be a non-empty string");
    const { prompt, threadId } = parsed.data;
    if (prompt.length > PROMPT_LIMIT) {
      return refuse(400, "Prompt too long", `prompt must be at most ${PROMPT_LIMIT} characters`);
    }
    const createdAt = now();
    const id = `job_${hash(`${seed} ${created++} ${createdAt} ${prompt}`).toString(16)}_${createdAt.toString(36)}`;
    const duration = random(seed, "job", id).whole(3_000, 6_000);
    const thread = threadId ?? `thr_${hash(id).toString(16)}`;
    jobs.set(id, {
      id,
      ending,
      threadId: thread,
      prompt,
      createdAt,
      completesAt: createdAt + duration,
      cancelledAt: null,
    });
    const oldest = jobs.keys().next();
    if (jobs.size > JOBS_KEPT && !oldest.done) jobs.delete(oldest.value);
    return json(
      { success: true, jobId: id, threadId: thread, status: "pending", message: "Job created" },
      202,
    );
  };

  const statusOf = (job: Job, at: number) => {
    if (job.cancelledAt !== null) return "cancelled";
    if (at >= job.completesAt && job.ending.kind !== "never") {
      return job.ending.kind === "fails" ? "failed" : "completed";
    }
    return at >= job.createdAt + PENDING_MS ? "processing" : "pending";
  };

  const show = (job: Job): Response => {
    const at = now();
    const status = statusOf(job, at);
    const startedAt = job.createdAt + PENDING_MS;
    return json({
      success: true,
      jobId: job.id,
      threadId: job.threadId,
      status,
      prompt: job.prompt,
      richData: [],
      transactions: [],
      statusUpdates:
        status === "pending" ? [] : [{ message: "Reading recent transfers", timestamp: iso(startedAt) }],
      createdAt: iso(job.createdAt),
      ...(status === "pending" ? {} : { startedAt: iso(startedAt) }),
      ...(status === "completed"
        ? {
            response:
              job.ending.kind === "reply"
                ? job.ending.content
                : whaleReport(whaleAlerts(seed, market, job.completesAt)),
            completedAt: iso(job.completesAt),
            processingTime: job.completesAt - startedAt,
          }
        : {}),
      ...(status === "failed" ? { error: "The agent could not finish" } : {}),
      ...(job.cancelledAt === null ? {} : { cancelledAt: iso(job.cancelledAt) }),
      cancellable: status === "pending" || status === "processing",
    });
  };

  const cancel = (job: Job): Response => {
    const at = now();
    const status = statusOf(job, at);
    if (status === "completed" || status === "failed") {
      return refuse(400, `Job already ${status}`, `A ${status} job cannot be cancelled`);
    }
    job.cancelledAt ??= at;
    return json({
      success: true,
      jobId: job.id,
      status: "cancelled",
      prompt: job.prompt,
      createdAt: iso(job.createdAt),
      cancelledAt: iso(job.cancelledAt),
    });
  };

  return {
    handle: (call: Call, fault?: Fault): Response => {
      if ((call.headers.get("X-API-Key") ?? "") === "") {
        return refuse(401, "Authentication required", "Send your key in X-API-Key");
      }
      if (call.path === "/agent/prompt" && call.method === "POST") return submit(call, endingOf(fault));
      const [, id = "", action] = /^\/agent\/job\/([^/]+)(\/cancel)?$/.exec(call.path) ?? [];
      if (id === "") return refuse(404, "Not found", `Unknown path ${call.path}`);
      const job = jobs.get(id);
      if (job === undefined) return refuse(404, "Job not found", `No job ${id}`);
      if (action === undefined)
        return call.method === "GET" ? show(job) : refuse(405, "Method not allowed", "GET");
      return call.method === "POST" ? cancel(job) : refuse(405, "Method not allowed", "POST");
    },
  };
}

function endingOf(fault: Fault | undefined): Ending {
  switch (fault?.mode) {
    case "reply":
      return { kind: "reply", content: fault.content };
    case "fails":
    case "never":
      return { kind: fault.mode };
    default:
      return { kind: "report" };
  }
}

const HALF_HOUR = 30 * 60_000;
/** With less volume, no transfer of a coin would be as large as the prompt requires. */
const LEAST_VOLUME = 400_000_000;

/** Transfers that fit the market's moves, the same for half an hour. */
function whaleAlerts(seed: string, market: Market, at: number): WhaleAlert[] {
  const period = Math.floor(at / HALF_HOUR);
  const chance = random(seed, "whales", period);
  // Figures of the period's start, so that the same transfer is always reported alike.
  const { byChange } = market.mood(period * HALF_HOUR);
  return chance
    .shuffled(byChange)
    .slice(0, chance.whole(2, 5))
    .map((coin) => {
      const rising = coin.change24h >= 0;
      const alertType = chance.pick([
        rising ? "cex_outflow" : "cex_inflow",
        "large_transfer",
        "smart_money",
      ] as const);
      const amount = Math.round(Math.max(coin.volume24h, LEAST_VOLUME) * chance.between(0.003, 0.03));
      const direction = alertType === "large_transfer" ? "neutral" : rising ? "bullish" : "bearish";
      const verb = {
        cex_inflow: "moved to exchange wallets",
        cex_outflow: "left exchange wallets",
        large_transfer: "moved between unlabelled wallets",
        smart_money: rising ? "bought by profitable wallets" : "sold by profitable wallets",
      }[alertType];
      const description = `${bigUsd(amount)} of ${coin.symbol} ${verb}; ${percent(coin.change24h)} on the day.`;
      const transaction = chance.between(0, 1) < 0.7 ? { txHash: `0x${chance.hex(64)}` } : {};
      return { token: coin.symbol, alertType, amount, direction, description, ...transaction };
    });
}

function whaleReport(alerts: WhaleAlert[]): string {
  const list = JSON.stringify(alerts, null, 2);
  return `**Whale activity** (simulated), ${alerts.length} notable transfers:\n\n\`\`\`json\n${list}\n\`\`\`\n\nNone of this is advice.`;
}

export function agentError(error: string, message: string): unknown {
  return { error, message };
}

function refuse(status: number, error: string, message: string): Response {
  return json(agentError(error, message), status);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
