import type { ActionCtx } from "../../_generated/server";
import type { BillingSubject } from "../../platform/limits/callers";
import { AppError } from "../../lib/errors";
import { listCited, buildCitationIndex, type CitationIndex } from "../../figures/citations";
import { describeLeftovers, resolveFigures } from "../../figures/placeholders";
import { log } from "../../lib/log";
import { indexNames } from "../../figures/mentions";
import { deadlines } from "../../platform/outside/deadlines";
import { toIso } from "../../lib/time";
import { completeStructured } from "../../providers/models/structure";
import { getFocusName } from "../model";
import type { ResearchResult, Texts } from "../tables";
import { describeBrief, type Brief } from "./brief";
import { buildSynthesisQuestion } from "./prompts";
import {
  countWords,
  findResultProblems,
  isTooShort,
  markSummary,
  shortenProse,
  countExcessWords,
} from "./result";

/** A paid report that would lose a larger share of its sentences is delivered whole, with its unsourced figures marked. */
const LEAST_KEPT = 0.5;
/** A placeholder may print several words, so one cut may not be enough. */
const MOST_CUTS = 5;

export type Written = { result: ResearchResult; model: string; tokensUsed: number };

/**
 * Has the gateway write a ResearchResult whose figures are printed from facts. A text that breaks the contract or
 * states an unsourced figure is returned once for repair, twice for a paid report; remaining sentences with such a
 * figure are dropped.
 * @throws AppError `upstream`, also if nothing of the writer's text remains.
 */
export async function writeResearchResult(
  ctx: ActionCtx,
  occasion: string,
  brief: Brief,
  billTo: BillingSubject,
): Promise<Written> {
  const { focus, sources, nameFacts } = brief;
  const now = Date.now();
  const index = buildCitationIndex(sources, now, { names: indexNames(nameFacts), focus });
  const task = { occasion, focus, nowIso: toIso(now), evidence: describeBrief(brief, now) };
  const question = buildSynthesisQuestion(task, (value) => {
    const { result, leftovers } = resolveResult(value, index, brief);
    const summary = resolveFigures(value.shortSummary, index, { isBare: true }).text;
    const problems = [
      findResultProblems(value, { analysis: result.fullAnalysis, summary }),
      describeLeftovers(leftovers),
    ];
    return problems.filter((problem) => problem !== null).join("; ") || null;
  });
  const isPaid = billTo === "paid";
  const options = { timeoutMs: deadlines.llmScheduled, attempts: isPaid ? 3 : 2, billTo };
  const { value, model, tokensUsed } = await completeStructured(ctx, question, options);
  let texts = value;
  let written = resolveResult(texts, index, brief);
  for (let cuts = 0; cuts < MOST_CUTS && countExcessWords(written.result.fullAnalysis) > 0; cuts++) {
    texts = {
      ...texts,
      fullAnalysis: shortenProse(texts.fullAnalysis, countExcessWords(written.result.fullAnalysis)),
    };
    written = resolveResult(texts, index, brief);
  }
  if (isPaid && written.kept < LEAST_KEPT) written = resolveResult(texts, index, brief, "mark");
  const { result, kept } = written;
  if (kept < 1) log.warn("research.unproven", { kept, model });
  if (isTooShort(result))
    log.warn("research.short analysis", { words: countWords(result.fullAnalysis), model });
  if (result.fullAnalysis === "")
    throw new AppError(
      "upstream",
      "The LLM gateway wrote a report whose figures no source has: ask again shortly",
    );
  return { result, model, tokensUsed };
}

/** A result in its final form, the figures without a fact, and the share of its sentences that remain. */
function resolveResult(
  { fullAnalysis, shortSummary, marketOutlook, impacts }: Texts,
  index: CitationIndex,
  { focus, lead, missing }: Brief,
  left: "drop" | "mark" = "drop",
): { result: ResearchResult; leftovers: string[]; kept: number } {
  const kept: number[] = [];
  const read = (text: string, isBare = false) => resolveFigures(text, index, { kept, left, isBare });
  const opening = lead === undefined ? "" : read(lead).text;
  const analysis = read(fullAnalysis);
  const summary = read(shortSummary, true);
  const resolvedImpacts = impacts.map((impact) => ({
    impact,
    title: read(impact.title, true),
    detail: read(impact.detail),
  }));
  const all = [analysis, summary, ...resolvedImpacts.flatMap(({ title, detail }) => [title, detail])];
  const sum = (of: "removed" | "sentences") => all.reduce((total, one) => total + one[of], 0);
  // A summary that states anything without a fact is replaced by one without figures.
  const plainly = `Outlook on ${getFocusName(focus)}: ${marketOutlook}`;
  return {
    result: {
      fullAnalysis:
        analysis.text === "" ? "" : [opening, analysis.text].filter((one) => one !== "").join("\n\n"),
      shortSummary: markSummary(summary.text || plainly, marketOutlook),
      marketOutlook,
      impacts: resolvedImpacts.flatMap(({ impact, title, detail }) =>
        detail.text === ""
          ? []
          : [{ ...impact, title: title.text || focus || "Market", detail: detail.text }],
      ),
      sources: listCited(kept, index),
      missing,
    },
    leftovers: all.flatMap(({ leftovers }) => leftovers),
    kept: 1 - sum("removed") / Math.max(1, sum("sentences")),
  };
}
