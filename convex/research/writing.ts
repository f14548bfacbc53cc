import type { ActionCtx } from "../_generated/server";
import { figureProblems, ledgerOf, settle, type Settled } from "../evidence/citing";
import type { Payer } from "../lib/budget";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { completeStructured } from "../providers/structured";
import { describeBrief, type Brief } from "./brief";
import { synthesisQuestion } from "./prompts";
import { countWords, isShort, markedSummary, mend } from "./result";
import { plainNote } from "./plainNote";
import type { Result } from "./shapes";

/** A report that loses more than this share of its sentences says something else than what was written. */
const MOST_LOST = 0.2;

export type WritingTask = { occasion: string; focus: string; nowIso: string; brief: Brief };
/** `turnMs`: for each of the two turns, in ms of real time. */
export type Terms = { turnMs: number; payer: Payer };
export type Written = { result: Result; model: string; tokensUsed: number };

/**
 * Has the gateway write a ResearchResult that keeps the contract and states no figure that is not what it cites: one
 * repair turn for both, then sentences that still do go.
 * @throws AppError `upstream`, also where more than a fifth of the sentences would go.
 */
export async function writeResult(ctx: ActionCtx, task: WritingTask, terms: Terms): Promise<Written> {
  const { written, ...told } = await write(ctx, task, terms);
  if (written === null) {
    throw new AppError("upstream", "The LLM gateway wrote a report whose figures are not those it was given");
  }
  return { result: written, ...told };
}

/** The same, where a report is owed: one that had to be refused is written from the facts alone, by code. @throws AppError `upstream` */
export async function writeOwedResult(ctx: ActionCtx, task: WritingTask, terms: Terms): Promise<Written> {
  const { written, model, tokensUsed } = await write(ctx, task, terms);
  if (written !== null) return { result: written, model, tokensUsed };
  return { result: noteFrom(task), model: "none (written from the facts alone)", tokensUsed };
}

async function write(
  ctx: ActionCtx,
  task: WritingTask,
  { turnMs, payer }: Terms,
): Promise<{ written: Result | null; model: string; tokensUsed: number }> {
  const ledger = ledgerFor(task);
  const { occasion, focus, nowIso } = task;
  const question = synthesisQuestion(
    { occasion, focus, nowIso, evidence: describeBrief(task.brief) },
    (result) => figureProblems(textsOf(result), ledger),
  );
  const patience = { turnMs, attempts: 2, payer };
  const { value, model, tokensUsed } = await completeStructured(ctx, question, patience);
  const settled = settle(textsOf(value), ledger);
  const { removed } = settled.checked;
  if (removed > 0) log.warn("research.unproven", { removed, lost: settled.lost, model });
  if (settled.lost > MOST_LOST || settled.impacts.length === 0) return { written: null, model, tokensUsed };
  const written = withSources(value, settled, task);
  if (isShort(written))
    log.warn("research.short analysis", { words: countWords(written.fullAnalysis), model });
  return { written, model, tokensUsed };
}

type Impacts = Result["impacts"];

function textsOf({
  fullAnalysis: analysis,
  shortSummary: summary,
  impacts,
}: Pick<Result, "fullAnalysis" | "shortSummary" | "impacts">) {
  return { analysis, summary, impacts };
}

function withSources(
  { marketOutlook }: Pick<Result, "marketOutlook">,
  settled: Settled<Impacts[number]>,
  { focus, brief }: WritingTask,
): Result {
  const { analysis: fullAnalysis, summary, impacts, sources, checked } = settled;
  return {
    fullAnalysis,
    // A summary that states what is not proven gives way to one without figures.
    shortSummary:
      summary ??
      markedSummary(`Outlook on ${focus === "" ? "the market" : focus}: ${marketOutlook}`, marketOutlook),
    marketOutlook,
    impacts,
    sources,
    changes: brief.changes,
    checked,
    missing: brief.missing,
  };
}

function noteFrom(task: WritingTask): Result {
  const whole = plainNote(task.brief, task.focus);
  const note = mend(whole) ?? whole;
  return withSources(note, settle(textsOf(note), ledgerFor(task)), task);
}

function ledgerFor({ brief: { sources, names }, focus }: WritingTask) {
  return ledgerOf(sources, Date.now(), { names, focus });
}
