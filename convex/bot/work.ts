import { pick } from "convex-helpers";
import { createFunctionHandle } from "convex/server";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { proposalCard } from "../alerts/cards";
import { proposeAlert } from "../alerts/desk";
import { DEFAULT_AGENT } from "../chat/agents";
import { answer as answerQuestion } from "../chat/replies";
import { sha256Hex } from "../lib/crypto";
import { required, siteUrl } from "../lib/env";
import { failureOf } from "../lib/errors";
import { charge, type Caller } from "../lib/limits";
import { failureOfAttempt, vTicket } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { vButton, vSpan, type Paragraph } from "../messenger/format";
import { focusOf } from "../market/listing";
import { vPicture } from "../messenger/tables";
import { botUsername } from "../providers/messenger";
import { snapshotCard } from "../research/cards";
import { pseudonymOf } from "../users/model";
import { portfolioOf } from "../wallets/holdings";
import { ensureWallet } from "../wallets/model";
import { linkedCard, notice, portfolioCard } from "./cards";
import { connectAccount } from "./linking";
import { researchButtons } from "./researchCommands";
import type { Sender, Work } from "./tables";

/** The work behind a notice, for actions. Every step can be taken twice. */

/** What came of a step. */
export const vStep = v.union(
  v.object({
    kind: v.literal("answer"),
    paragraphs: v.array(v.array(vSpan)),
    buttons: v.optional(v.array(v.array(vButton))),
    picture: v.optional(vPicture),
  }),
  /** The research of this ticket is under way. */
  v.object({ kind: v.literal("wait"), ticket: vTicket }),
  /** A command that is meant for this bot. */
  v.object({ kind: v.literal("respond"), text: v.string() }),
  v.object({ kind: v.literal("drop") }),
);
export type Step = Infer<typeof vStep>;

type Job = { jobId: Id<"botJobs">; sender: Sender; userId?: string | undefined; work: Work };

/** On-demand results are good for this long. */
const FRESH_MS = 15 * MINUTE;

/** @throws AppError with a message for the person who asked. */
export async function carryOut(ctx: ActionCtx, { jobId, sender, userId, work }: Job): Promise<Step> {
  switch (work.kind) {
    case "addressed": {
      const name = await botUsername(required("MESSENGER_BOT_TOKEN"));
      return name?.toLowerCase() === work.to ? { kind: "respond", text: work.text } : { kind: "drop" };
    }
    case "connect":
      return answer(await connect(ctx, sender, work.codeHash));
    case "portfolio":
      return portfolio(ctx, work.userId);
    case "research":
      return research(ctx, work, {
        userId: userId ?? `messenger:${sender.messengerId}`,
        address: null,
        signedIn: userId !== undefined,
      });
    case "ask": {
      required("LLM_GATEWAY_API_KEY");
      await charge(ctx, "chat", { userId: userId ?? `messenger:${sender.messengerId}`, address: null });
      // The account is the user's own; a group is told nothing of anybody's, and what is said there is not kept.
      const own = sender.alone && userId !== undefined ? { userId, agentId: DEFAULT_AGENT } : null;
      const told = await answerQuestion(ctx, {
        agentId: DEFAULT_AGENT,
        question: work.question,
        messages: own === null ? [] : await ctx.runQuery(internal.chat.memory.turns, own),
        caller:
          userId === undefined
            ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
            : { userId, signedIn: true, address: null },
        personal: sender.alone,
        proven: own !== null,
      });
      if (own !== null) {
        const reply = pick(told, ["answer", "model", "tokensUsed"]);
        const exchange = { ...own, question: work.question, reply, key: `ask:${jobId}` };
        await ctx.runMutation(internal.chat.memory.keep, exchange);
      }
      return answer(told.answer.split(/\n\s*\n/).map((paragraph) => [paragraph]));
    }
    case "alert":
      return propose(ctx, work);
  }
}

function answer(paragraphs: readonly Paragraph[]): Extract<Step, { kind: "answer" }> {
  return { kind: "answer", paragraphs: paragraphs.map((paragraph) => [...paragraph]) };
}

async function connect(ctx: ActionCtx, sender: Sender, codeHash: string): Promise<readonly Paragraph[]> {
  const { messengerId, messengerUsername } = sender;
  try {
    const account = { codeHash, messengerId, messengerUsername, by: "account" as const };
    const { userId, walletAddress } = await connectAccount(ctx, account, null);
    return linkedCard({ account: pseudonymOf(userId), walletAddress });
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    return notice("Too many codes were tried. Wait a minute, then try again.");
  }
}

async function portfolio(ctx: ActionCtx, userId: string): Promise<Step> {
  const owned = { userId, kind: "custody" as const };
  const { address } = await ensureWallet(ctx, owned);
  const held = await portfolioOf(ctx, address);
  const holdings = held.balances
    .flatMap(({ token, valueUsd }) => (valueUsd === null || valueUsd === 0 ? [] : [{ token, valueUsd }]))
    .toSorted((a, b) => b.valueUsd - a.valueUsd);
  const card = answer(portfolioCard({ address, ...held }));
  if (holdings.length === 0) return card;
  const handle = await createFunctionHandle(internal.pictures.drawing.portfolio);
  const subject = JSON.stringify({ at: Date.now(), totalUsd: held.totalValueUsd, holdings });
  return { ...card, picture: { handle, subject } };
}

/** Proposing the same again is the same proposal, so a try that was cut off does no harm. */
async function propose(ctx: ActionCtx, { userId, text }: Extract<Work, { kind: "alert" }>): Promise<Step> {
  const caller = { userId, address: null, signedIn: true };
  await charge(ctx, "alert", caller);
  try {
    const proposed = await proposeAlert(ctx, { caller, userId, text });
    const card = answer(proposalCard(proposed));
    const { alertId, state } = proposed.alert;
    if (state === "active") return card;
    return { ...card, buttons: [[{ text: "Yes, tell me", command: `alert yes ${alertId}` }]] };
  } catch (error) {
    const failure = failureOf(error);
    if (failure?.code !== "invalid_request") throw error;
    return answer(notice(failure.message));
  }
}

/** The stored result while it is fresh; else it is made, which is looked after from time to time. */
async function research(
  ctx: ActionCtx,
  { focus: asked, ticket }: Extract<Work, { kind: "research" }>,
  caller: Caller,
): Promise<Step> {
  if (ticket !== undefined) {
    const outcome = await ctx.runQuery(internal.lib.refreshes.outcome, ticket);
    if (outcome.state === "running") return { kind: "wait", ticket };
    if (outcome.state === "failed") throw failureOfAttempt(outcome);
  }
  const focus = await focusOf(ctx, asked === "" ? undefined : asked, caller);
  const stored = await ctx.runQuery(internal.research.results.current, { focus });
  if (stored !== null && (ticket !== undefined || Date.now() - stored.fetchedAt < FRESH_MS)) {
    const { result, fetchedAt } = stored;
    const token = focus === "" ? null : focus;
    const card = answer(snapshotCard({ token, generatedAt: fetchedAt, result }, siteUrl()));
    return { ...card, buttons: researchButtons(focus) };
  }
  required("LLM_GATEWAY_API_KEY");
  const begun = await ctx.runMutation(internal.research.results.begin, { focus, caller });
  return { kind: "wait", ticket: begun };
}
