import type { ActionCtx } from "../../_generated/server";
import type { Payer } from "../../lib/limits/callers";
import { AppError } from "../../lib/errors";
import { citedOf, ledgerOf, type Ledger } from "../../lib/figures/ledger";
import { leftoverProblem, settle } from "../../lib/figures/settle";
import { log } from "../../lib/log";
import { namesOf } from "../../lib/money/coins";
import { deadlines } from "../../lib/outside/deadlines";
import { iso } from "../../lib/time";
import { completeStructured } from "../../providers/models/structure";
import { focusName } from "../model";
import type { Result, Texts } from "../tables";
import { describeBrief, type Brief } from "./brief";
import { synthesisQuestion } from "./prompts";
import { countWords, demands, isShort, markedSummary, shortened, wordsOver } from "./result";

/** A paid report that keeps a smaller share of its sentences is given with its figures marked. */
const LEAST_KEPT = 0.5;
/** A slot may print several words, so that an analysis is shortened more than once. */
const MOST_CUTS = 5;

export type Written = { result: Result; model: string; tokensUsed: number };

/**
 * Has the gateway write a ResearchResult whose figures are printed from facts. What breaks the contract, or states a
 * figure that is in no fact, goes back once, for a paid report twice; sentences with such a figure are then left out.
 * @throws AppError `upstream`, also if nothing of the writer's text remains.
 */
export async function writeResult(
  ctx: ActionCtx,
  occasion: string,
  brief: Brief,
  payer: Payer,
): Promise<Written> {
  const { focus, sources, named } = brief;
  const ledger = ledgerOf(sources, Date.now(), { names: namesOf(named), focus });
  const task = { occasion, focus, nowIso: iso(Date.now()), evidence: describeBrief(brief) };
  const asked = synthesisQuestion(task, (value) => {
    const { result, leftovers } = settled(value, ledger, brief);
    const summary = settle(value.shortSummary, ledger, { isBare: true }).text;
    const problems = [demands(value, { analysis: result.fullAnalysis, summary }), leftoverProblem(leftovers)];
    return problems.filter((problem) => problem !== null).join("; ") || null;
  });
  const isPaid = payer === "paid";
  const patience = { timeoutMs: deadlines.llmScheduled, attempts: isPaid ? 3 : 2, payer };
  const { value, model, tokensUsed } = await completeStructured(ctx, asked, patience);
  let texts = value;
  let written = settled(texts, ledger, brief);
  for (let cuts = 0; cuts < MOST_CUTS && wordsOver(written.result.fullAnalysis) > 0; cuts++) {
    texts = { ...texts, fullAnalysis: shortened(texts.fullAnalysis, wordsOver(written.result.fullAnalysis)) };
    written = settled(texts, ledger, brief);
  }
  if (isPaid && written.kept < LEAST_KEPT) written = settled(texts, ledger, brief, "mark");
  const { result, kept } = written;
  if (kept < 1) log.warn("research.unproven", { kept, model });
  if (isShort(result)) log.warn("research.short analysis", { words: countWords(result.fullAnalysis), model });
  if (result.fullAnalysis === "")
    throw new AppError("upstream", "The LLM gateway wrote a report whose figures are not those it was given");
  return { result, model, tokensUsed };
}

/** A result as readers see it, the figures that no fact has, and the share of its sentences that are left. */
function settled(
  { fullAnalysis, shortSummary, marketOutlook, impacts }: Texts,
  ledger: Ledger,
  { focus, lead, missing }: Brief,
  left: "drop" | "mark" = "drop",
): { result: Result; leftovers: string[]; kept: number } {
  const kept: number[] = [];
  const read = (text: string, isBare = false) => settle(text, ledger, { kept, left, isBare });
  const opening = lead === undefined ? "" : read(lead).text;
  const analysis = read(fullAnalysis);
  const summary = read(shortSummary, true);
  const shown = impacts.map((impact) => ({
    impact,
    title: read(impact.title, true),
    detail: read(impact.detail),
  }));
  const all = [analysis, summary, ...shown.flatMap(({ title, detail }) => [title, detail])];
  const sum = (of: "removed" | "sentences") => all.reduce((total, one) => total + one[of], 0);
  // A summary that states something without a fact is replaced by one without figures.
  const plainly = `Outlook on ${focusName(focus)}: ${marketOutlook}`;
  return {
    result: {
      fullAnalysis:
        analysis.text === "" ? "" : [opening, analysis.text].filter((one) => one !== "").join("\n\n"),
      shortSummary: markedSummary(summary.text || plainly, marketOutlook),
      marketOutlook,
      impacts: shown.flatMap(({ impact, title, detail }) =>
        detail.text === ""
          ? []
          : [{ ...impact, title: title.text || focus || "Market", detail: detail.text }],
      ),
      sources: citedOf(kept, ledger),
      missing,
    },
    leftovers: all.flatMap(({ leftovers }) => leftovers),
    kept: 1 - sum("removed") / Math.max(1, sum("sentences")),
  };
}
