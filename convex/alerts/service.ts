import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { indexNames, type Names } from "../figures/mentions";
import { AppError, orNull } from "../lib/errors";
import { listKeys } from "../lib/objects";
import { formatDollars } from "../lib/text/numbers";
import { DAY, MINUTE } from "../lib/time";
import { collectFacts } from "../market/collectors";
import { ensurePrices, readListFacts, sampleCoins } from "../market/listed";
import { resolveFocus } from "../market/listing";
import { getLivePrice } from "../market/live";
import { PRICED_TOKENS } from "../market/tables";
import type { Caller } from "../platform/limits/callers";
import { defineProviderAction, withUsage } from "../platform/outside/calls";
import type { PresentValue } from "./cards";
import {
  formatCondition,
  getDemand,
  ALERT_EXAMPLES,
  isMeasured,
  isReached,
  parseSubject,
  toWatch,
  type Demand,
} from "./conditions";
import { restateWords } from "./restating";
import type { Alert, Condition, Observation } from "./tables";
import { parseAlerts, type Clarification, type ParsedAlert } from "./words";

/** Proposals of alerts, from people's words and programs' conditions; and the prices that only alerts need. For actions. */

export type ProposedAlert = { alert: Alert; present: PresentValue };

/** The user of a new alert, and its end. */
type AlertOptions = Pick<Alert, "userId" | "once" | "until">;

/** The answer to a person's words: a proposal, a question back (`open`), or no alert (`none`). */
export type AlertAnswer =
  | { kind: "proposed"; proposed: ProposedAlert }
  | { kind: "none"; advice: string }
  | ({ kind: "open" } & Clarification);

/**
 * Reads an alert from words in any language and stores it as a proposal. If the words leave something open, or contradict
 * the reading, the person gets a question.
 */
export const answerAlertWords = withUsage(
  async (ctx, caller: Caller, choice: AlertOptions, text: string): Promise<AlertAnswer> => {
    const words = text.toWellFormed().trim();
    // The endpoint takes 300 characters: a longer message asks for no alert.
    if (words.length > 300) return { kind: "none", advice: ALERT_EXAMPLES };
    const facts = await readListFacts(ctx, DAY);
    const names = indexNames(facts);
    const read = parseAlerts(words, names);
    const restated = read === null ? await restateWords(ctx, words, caller, facts) : null;
    if (restated !== null && restated.kind !== "read") return restated;
    const line = restated?.line ?? words;
    const found: Condition[] = [];
    for (const said of read ?? parseAlerts(line, names) ?? []) {
      const decided = await resolveCondition(ctx, said);
      if (decided === null) return { kind: "none", advice: ALERT_EXAMPLES };
      if (!("kind" in decided)) return { kind: "open", ...decided };
      found.push(decided);
    }
    if (found.length > 1) return { kind: "open", question: "Set each on its own:", readings: found };
    const [condition] = found;
    if (condition === undefined) return { kind: "none", advice: ALERT_EXAMPLES };
    const present = await getPresent(ctx, condition);
    const other = await readPointAsSeparator(ctx, line, names);
    const doubt = findClarification(condition, present, { isExact: read?.[0]?.isExact === true, other });
    if (doubt !== null) return { kind: "open", ...doubt };
    return {
      kind: "proposed",
      proposed: { alert: await storeProposal(ctx, caller, { ...choice, condition }), present },
    };
  },
);

/** The condition of a parsed alert, at the coin's present price where it depends on that. */
async function resolveCondition(
  ctx: ActionCtx,
  said: ParsedAlert,
): Promise<ReturnType<ParsedAlert["toCondition"]>> {
  return said.toCondition(said.needsPrice ? await getPrice(ctx, said.token) : null);
}

/** A coin's price in USD; `null` if no source has it now. */
export async function getPrice(ctx: ActionCtx, token: string): Promise<number | null> {
  await ensurePrices(ctx, token);
  return (await getLatest(ctx, `price:${token}`))?.value ?? null;
}

function getLatest(ctx: ActionCtx, subject: string): Promise<Observation | null> {
  return ctx.runQuery(internal.alerts.observations.getLatestObservation, { subject, at: Date.now() });
}

/** Stores a proposal. A caller with only the id of an owned account asks its owner. */
function storeProposal(
  ctx: ActionCtx,
  { credential }: Caller,
  proposal: AlertOptions & Pick<Alert, "condition">,
) {
  return ctx.runMutation(internal.alerts.proposals.storeProposal, {
    ...proposal,
    asksOwner: credential === "id",
  });
}

/**
 * `answerAlertWords` for programs, which send words or a condition.
 * @throws AppError `invalid_request` that says what to send instead.
 */
export const proposeAlert = withUsage(
  async (
    ctx,
    caller: Caller,
    choice: AlertOptions,
    request: { text: string } | { condition: Condition },
  ): Promise<ProposedAlert> => {
    if ("condition" in request) {
      const present = await getPresent(ctx, request.condition);
      return { alert: await storeProposal(ctx, caller, { ...choice, ...request }), present };
    }
    const answered = await answerAlertWords(ctx, caller, choice, request.text);
    if (answered.kind === "proposed") return answered.proposed;
    const { question, readings = [] } = answered.kind === "open" ? answered : { question: answered.advice };
    const lines = readings.map(formatCondition).join(", or ");
    const advice = lines === "" ? question : `${question} Say ${lines}`;
    throw new AppError("invalid_request", advice.replace(/\.$/, ""));
  },
);

/** The present value of a condition's subject. @throws AppError `invalid_request` for a coin without a price. */
async function getPresent(ctx: ActionCtx, condition: Condition): Promise<PresentValue> {
  if (condition.kind === "price" || condition.kind === "change") await ensurePrices(ctx, condition.token);
  if (condition.kind === "research") await resolveFocus(ctx, condition.token);
  if (!isMeasured(condition)) return { latest: null, holds: false };
  const watch = toWatch(condition);
  const latest = await getLatest(ctx, watch.subject);
  return { latest, holds: latest !== null && isReached(watch, latest.value) };
}

/** A level this many times above or below the current price is probably a typo. */
const FAR_FACTOR = 5;
/** A point before three digits: a decimal point in English, a separator of thousands in German. */
const DOTTED = /(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.,]*\d)/;

/** The condition if the point in the words separates thousands; `null` without such a point. */
async function readPointAsSeparator(ctx: ActionCtx, words: string, names: Names): Promise<Condition | null> {
  const [said] = DOTTED.test(words) ? (parseAlerts(words.replace(DOTTED, "$1,$2"), names) ?? []) : [];
  const decided = said === undefined ? null : await resolveCondition(ctx, said);
  return decided !== null && "kind" in decided ? decided : null;
}

/**
 * The question to ask about a level that is far away or, unless the words are exact, already reached.
 * @param read.other Another condition that the words may mean.
 */
function findClarification(
  condition: Condition,
  { latest, holds }: PresentValue,
  { isExact, other }: { isExact: boolean; other: Condition | null },
): Clarification | null {
  if (condition.kind !== "price") return null;
  const { token, direction, levelUsd } = condition;
  const now = latest === null ? "" : `${token} is at ${formatDollars(latest.value)}`;
  const isFar = latest === null || Math.abs(Math.log(levelUsd / latest.value)) > Math.log(FAR_FACTOR);
  if (isFar && (other !== null || (latest !== null && !isExact))) {
    const readings = other === null ? [condition] : [other, condition];
    return {
      question: `I read ${formatDollars(levelUsd)}. Is that the level?${now && ` ${now}.`}`,
      readings,
    };
  }
  if (isExact || !holds) return null;
  const turned = { ...condition, direction: direction === "above" ? ("below" as const) : ("above" as const) };
  return { question: `${now}, so that is true already. Above or below?`, readings: [turned, condition] };
}

/** How values that only alerts need are asked for: one call has all coins' rates, another their prices. */
const ASK: Readonly<Record<Demand["of"], (ctx: ActionCtx, tokens: readonly string[]) => Promise<unknown>>> = {
  // The collector logs a failure; the next tick tries again.
  rates: (ctx) => collectFacts(ctx, [{ collector: "perpetuals", subject: "" }], { freshMs: 9 * MINUTE }),
  prices: sampleCoins,
  // Standing orders are judged by the feeds' own prices.
  trades: async (ctx, tokens) => {
    for (const coin of PRICED_TOKENS) if (tokens.includes(coin)) await orNull(getLivePrice(ctx, coin));
  },
};

/** Collects stale values, and compares them with the levels. */
export const observe = defineProviderAction({ stale: v.array(v.string()) }, async (ctx, { stale }) => {
  for (const what of listKeys(ASK)) {
    const bases = stale.filter((basis) => getDemand(basis)?.of === what);
    const tokens = bases.map((basis) => parseSubject(basis).token);
    if (tokens.length > 0) await ASK[what](ctx, tokens);
  }
  await ctx.runMutation(internal.alerts.watch.compareNews, { from: "", isTick: false });
});
