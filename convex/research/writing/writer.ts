import type { ActionCtx } from "../../_generated/server";
import { citedOf, ledgerOf, type CitedSource, type Ledger } from "../../evidence/text/sources";
import { localeOf } from "../../lib/text/locales";
import { leftoverProblem, settle } from "../../evidence/text/settlement";
import type { Payer } from "../../lib/budget/classes";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { completeStructured } from "../../providers/models/structure";
import { describeBrief, type Brief } from "./brief";
import { plainNote } from "./plainNote";
import { synthesisQuestion } from "./prompts";
import { countWords, demands, isShort, markedSummary, shortened, wordsOver } from "./result";
import type { Outlook, Result, Texts } from "../shapes";

/** A report that keeps a smaller share of its sentences is not the writer's any more. */
const LEAST_KEPT = 0.5;

export type WritingTask = {
  occasion: string;
  focus: string;
  question?: string | undefined;
  nowIso: string;
  brief: Brief;
};
/** `turnMs`: for each of the two turns, in ms of real time. */
export type Terms = { turnMs: number; payer: Payer };
export type Written = { result: Result; model: string; tokensUsed: number };

/**
 * Has the gateway write a ResearchResult whose figures are printed from facts: after one repair turn for the contract
 * and for figures that are in no fact, remaining sentences with such figures are replaced by their facts.
 * @throws AppError `upstream`, also if too little of the writer's text remains.
 */
export async function writeResult(ctx: ActionCtx, task: WritingTask, terms: Terms): Promise<Written> {
  const { result, isReport, ...origin } = await write(ctx, task, terms);
  if (!isReport) {
    throw new AppError("upstream", "The LLM gateway wrote a report whose figures are not those it was given");
  }
  return { result, ...origin };
}

/** The same for a report that is owed: if the model's is refused, code writes it, and says so. @throws AppError `upstream` */
export async function writeOwedResult(ctx: ActionCtx, task: WritingTask, terms: Terms): Promise<Written> {
  const { result, isReport, model, tokensUsed } = await write(ctx, task, terms);
  if (isReport) return { result, model, tokensUsed };
  const note = settledTexts(plainNote(task.brief, task.focus), ledgerFor(task), task);
  const { removed } = result.checked;
  return {
    result: { ...note.result, checked: { ...note.result.checked, removed } },
    model: "none (written from the facts alone)",
    tokensUsed,
  };
}

async function write(
  ctx: ActionCtx,
  task: WritingTask,
  { turnMs, payer }: Terms,
): Promise<Written & { isReport: boolean }> {
  const ledger = ledgerFor(task);
  const { occasion, focus, question: query, nowIso } = task;
  const evidence = describeBrief(task.brief);
  const question = synthesisQuestion({ occasion, focus, question: query, nowIso, evidence }, (value) => {
    const { result, leftovers } = settledTexts(value, ledger, task);
    const shown = { analysis: result.fullAnalysis, summary: settle(value.shortSummary, ledger, BARE).text };
    const problems = [demands(value, shown), leftoverProblem(leftovers)];
    return problems.filter((problem) => problem !== null).join("; ") || null;
  });
  const patience = { turnMs, attempts: 2, payer };
  const { value, model, tokensUsed } = await completeStructured(ctx, question, patience);
  const { result, isReport } = fitted(value, ledger, task);
  const { removed } = result.checked;
  if (removed > 0) log.warn("research.unproven", { removed, model });
  if (isShort(result)) {
    log.warn("research.short analysis", { words: countWords(result.fullAnalysis), model });
  }
  return { result, isReport, model, tokensUsed };
}

const BARE = { isBare: true } as const;

/** A result as readers see it, the facts left over, and whether enough of it is the writer's. */
function settledTexts(
  { fullAnalysis, shortSummary, marketOutlook, impacts }: Texts,
  ledger: Ledger,
  { focus, brief }: WritingTask,
): { result: Result; leftovers: string[]; isReport: boolean } {
  const kept: number[] = [];
  // A title is too short to recognise its language.
  const whole = { kept, locale: localeOf(fullAnalysis) };
  const analysis = settle(fullAnalysis, ledger, whole);
  const summary = settle(shortSummary, ledger, { ...BARE, ...whole });
  const all = [analysis, summary];
  const shown = impacts.flatMap((impact) => {
    const [title, detail] = [
      settle(impact.title, ledger, { ...BARE, ...whole }),
      settle(impact.detail, ledger, whole),
    ];
    all.push(title, detail);
    return detail.text === "" ? [] : [{ ...impact, title: title.text || nameOf(focus), detail: detail.text }];
  });
  const sum = (of: "figures" | "removed" | "sentences") => all.reduce((total, one) => total + one[of], 0);
  const sources: CitedSource[] = citedOf(kept, ledger);
  const result = {
    fullAnalysis: analysis.text,
    // A summary that states something without a fact is replaced by one without figures.
    shortSummary: markedSummary(summary.text || plainSummary(focus, marketOutlook), marketOutlook),
    ...{
      marketOutlook,
      impacts: shown,
      sources,
      changes: brief.changes,
      missing: [...brief.missing, ...brief.silent],
    },
    checked: { figures: sum("figures"), cited: kept.length, removed: sum("removed") },
  };
  const isReport = shown.length > 0 && sum("removed") <= (1 - LEAST_KEPT) * sum("sentences");
  return { result, leftovers: all.flatMap(({ leftovers }) => leftovers), isReport };
}

/** Shortens an analysis that readers would find too long; a slot may print several words. */
function fitted(value: Texts, ledger: Ledger, task: WritingTask): ReturnType<typeof settledTexts> {
  let texts = value;
  let settled = settledTexts(texts, ledger, task);
  for (let turn = 0; turn < MOST_CUTS && wordsOver(settled.result.fullAnalysis) > 0; turn++) {
    const over = wordsOver(settled.result.fullAnalysis);
    texts = { ...texts, fullAnalysis: shortened(texts.fullAnalysis, over) };
    settled = settledTexts(texts, ledger, task);
  }
  return settled;
}

const MOST_CUTS = 5;

const nameOf = (focus: string): string => (focus === "" ? "Market" : focus);

function plainSummary(focus: string, outlook: Outlook): string {
  return `Outlook on ${focus === "" ? "the market" : focus}: ${outlook}`;
}

function ledgerFor({ brief: { sources, names }, focus }: WritingTask): Ledger {
  return ledgerOf(sources, Date.now(), { names, focus });
}
