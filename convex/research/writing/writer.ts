import type { ActionCtx } from "../../_generated/server";
import { leftoverProblem, settle } from "../../evidence/text/settlement";
import { citedOf, ledgerOf, type Ledger } from "../../evidence/text/sources";
import type { Payer } from "../../lib/limits/callers";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { deadlines } from "../../lib/outside/deadlines";
import { localeOf } from "../../lib/text/locales";
import { completeStructured } from "../../providers/models/structure";
import type { Outlook, Result, Texts } from "../tables";
import { describeBrief, type Brief } from "./brief";
import { synthesisQuestion } from "./prompts";
import { countWords, demands, isShort, markedSummary, shortened, wordsOver } from "./result";

/** A report that keeps a smaller share of its sentences is not the writer's any more. */
const LEAST_KEPT = 0.5;
/** A slot may print several words, so that an analysis is shortened more than once. */
const MOST_CUTS = 5;

type Task = { occasion: string; question?: string | undefined; nowIso: string; brief: Brief };

/**
 * Has the gateway write a ResearchResult whose figures are printed from facts. What breaks the contract, or states a
 * figure that is in no fact, goes back once; sentences with such a figure are then left out. A paid report goes back
 * twice, and one that would lose too much is given with its figures marked.
 * @throws AppError `upstream`, also if too little of the writer's text remains.
 */
export async function writeResult(
  ctx: ActionCtx,
  { occasion, question, nowIso, brief }: Task,
  payer: Payer,
): Promise<{ result: Result; model: string; tokensUsed: number }> {
  const { focus, sources, names } = brief;
  const ledger = ledgerOf(sources, Date.now(), { names, focus });
  const asked = synthesisQuestion(
    { occasion, focus, question, nowIso, evidence: describeBrief(brief) },
    (value) => {
      const { result, leftovers } = settled(value, ledger, brief);
      const shown = {
        analysis: result.fullAnalysis,
        summary: settle(value.shortSummary, ledger, { isBare: true }).text,
      };
      const problems = [demands(value, shown), leftoverProblem(leftovers)];
      return problems.filter((problem) => problem !== null).join("; ") || null;
    },
  );
  const isPaid = payer === "paid";
  const patience = { turnMs: deadlines.llmScheduled, attempts: isPaid ? 3 : 2, payer };
  const { value, model, tokensUsed } = await completeStructured(ctx, asked, patience);
  let texts = value;
  let written = settled(texts, ledger, brief);
  for (let cuts = 0; cuts < MOST_CUTS && wordsOver(written.result.fullAnalysis) > 0; cuts++) {
    const over = wordsOver(written.result.fullAnalysis);
    texts = { ...texts, fullAnalysis: shortened(texts.fullAnalysis, over) };
    written = settled(texts, ledger, brief);
  }
  if (isPaid && !written.isReport) written = settled(texts, ledger, brief, "mark");
  const { result, removed, isReport } = written;
  if (removed > 0) log.warn("research.unproven", { removed, model });
  if (isShort(result)) log.warn("research.short analysis", { words: countWords(result.fullAnalysis), model });
  if (!isReport)
    throw new AppError("upstream", "The LLM gateway wrote a report whose figures are not those it was given");
  return { result, model, tokensUsed };
}

/** A result as readers see it, the figures that no fact has, and whether enough of it is the writer's. */
function settled(
  { fullAnalysis, shortSummary, marketOutlook, impacts }: Texts,
  ledger: Ledger,
  { focus, lead, missing }: Brief,
  left: "drop" | "mark" = "drop",
): { result: Result; leftovers: string[]; removed: number; isReport: boolean } {
  const kept: number[] = [];
  // A title is too short to recognise its language.
  const how = { kept, locale: localeOf(fullAnalysis), ...(left === "mark" ? { left } : {}) };
  const bare = { ...how, isBare: true };
  const analysis = settle([...(lead === null ? [] : [lead]), fullAnalysis].join("\n\n"), ledger, how);
  const summary = settle(shortSummary, ledger, bare);
  const all = [analysis, summary];
  const shown = impacts.flatMap((impact) => {
    const [title, detail] = [settle(impact.title, ledger, bare), settle(impact.detail, ledger, how)];
    all.push(title, detail);
    if (detail.text === "") return [];
    return [{ ...impact, title: title.text || focus || "Market", detail: detail.text }];
  });
  const sum = (of: "removed" | "sentences") => all.reduce((total, one) => total + one[of], 0);
  return {
    result: {
      fullAnalysis: analysis.text,
      // A summary that states something without a fact is replaced by one without figures.
      shortSummary: markedSummary(summary.text || plainSummary(focus, marketOutlook), marketOutlook),
      marketOutlook,
      impacts: shown,
      sources: citedOf(kept, ledger),
      missing,
    },
    leftovers: all.flatMap(({ leftovers }) => leftovers),
    removed: sum("removed"),
    isReport: shown.length > 0 && sum("removed") <= (1 - LEAST_KEPT) * sum("sentences"),
  };
}

function plainSummary(focus: string, outlook: Outlook): string {
  return `Outlook on ${focus === "" ? "the market" : focus}: ${outlook}`;
}
