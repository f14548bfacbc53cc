import type { Infer } from "convex/values";
import type { ActionCtx } from "../../_generated/server";
import type { Payer } from "../../lib/budget";
import { deadlines } from "../../lib/deadlines";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { SECOND } from "../../lib/time";
import { vClose, type Price } from "../../prices/tables";
import { completeStructured } from "../../providers/structured";
import type { vTold } from "../statistics/calibration";
import { marketContext } from "./context";
import { settledReasoning } from "./ledgers";
import type { PromptVersion } from "../arms/names";
import { signalQuestion, type Hour } from "./prompts";
import { problemsOf, type LabToken } from "../trade/rules";
import type { PastSignal, Proposal, vPriceAtIssue } from "../record/tables";

/** A signal asked of a model, at a price that somebody measured: the same for every arm. */

/** A price seen longer ago is none to enter a trade at. */
const PRICE_AGE_MS = 15 * SECOND;

export type Task = {
  token: LabToken;
  promptVersion: PromptVersion;
  /** The service's own hours. */
  closes: Infer<typeof vClose>[];
  calibration: Infer<typeof vTold>;
  yesterday: readonly PastSignal[];
};

export type Proposed = {
  proposal: Proposal;
  model: string;
  costBps: number;
  price: Infer<typeof vPriceAtIssue>;
  /** That the model was told of. */
  hours: readonly Hour[];
};

/**
 * For actions.
 * @param measured A price that its source has seen since a moment (epoch ms).
 * @throws AppError `upstream`; `UnusableAnswer` where the model proposes nothing that may be issued.
 */
export async function askForSignal(
  ctx: ActionCtx,
  task: Task,
  measured: (since: number) => Promise<Pick<Price, "priceUsd" | "source" | "observedAt">>,
  asked: { attempts: number; payer: Payer; model: string | undefined },
): Promise<Proposed> {
  const costBps = Number(setting("ROUND_TRIP_COST_BPS"));
  const priceNow = () => measured(Date.now() - PRICE_AGE_MS);
  // The levels are checked against this price; checking the model against itself would check nothing.
  const before = await priceNow();
  const market = await marketContext(ctx, task.token, task.closes);
  const context = { ...task, ...market, nowMs: Date.now(), price: before, costBps };
  const question = signalQuestion(task.promptVersion, context, (proposal) =>
    problemsOf(proposal, { priceUsd: before.priceUsd, costBps }),
  );
  const patience = { turnMs: deadlines.llmScheduled, ...asked };
  const { value: proposal, model } = await completeStructured(ctx, question, patience);
  const { priceUsd, source, observedAt } = await priceNow();
  const problem = problemsOf(proposal, { priceUsd, costBps });
  if (problem !== null) {
    throw new AppError("upstream", `The price moved while the model answered: ${problem}`);
  }
  const price = { usd: priceUsd, source, observedAt };
  const reasoning = settledReasoning(proposal, context);
  return { proposal: { ...proposal, reasoning }, model, costBps, price, hours: market.hours };
}
