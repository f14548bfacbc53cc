import { pick } from "convex-helpers";
import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { openCard, proposalCard, whyCard } from "../alerts/answerCards";
import type { AlertCard } from "../alerts/cards";
import { answerWords, reasonsFor, type Answered } from "../alerts/desk";
import { SAID } from "../alerts/language/reading";
import { DEFAULT_AGENT } from "../chat/agents";
import { answer as answerQuestion } from "../chat/replies";
import { sha256Hex } from "../lib/security/crypto";
import { required, siteUrl } from "../lib/env";
import { failureOf, messageOf } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import type { Caller } from "../lib/limits/callers";
import { log } from "../lib/log";
import { failureOfAttempt } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { worker } from "../lib/work/desk";
import { focusOf } from "../market/listing";
import type { Paragraph } from "../messenger/format";
import { chatUser, isChatUser } from "../messenger/model";
import { botUsername } from "../providers/messenger";
import { snapshotCard } from "../research/reports/cards";
import { pseudonymOf } from "../users/model";
import { portfolioOf } from "../wallets/holdings";
import { ensureWallet } from "../wallets/model";
import { linkedCard, notice, portfolioCard } from "./cards";
import { FAILED } from "./jobs";
import { connectAccount } from "./links";
import { researchButtons } from "./commands/research";
import { orderStep } from "./orders";
import type { Sender, Step, Work } from "./tables";
import { typeIn } from "./typing";

/** The work behind a notice. Every step can be taken twice. */

/** Takes one step of a job's work, and hands in what came of it. */
export const answer = worker({ jobId: v.id("botJobs") }, async (ctx, { jobId, job }) => {
  const asked = await ctx.runQuery(internal.bot.jobs.task, { jobId });
  if (asked === null) return "over";
  let step: Step;
  const typing = isShown(asked.work) ? typeIn(asked.sender.chatId) : null;
  try {
    step = await carryOut(ctx, { jobId, ...asked });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null)
      log.error("bot.unexpected", { jobId, kind: asked.work.kind, message: messageOf(error) });
    const isAsked =
      asked.work.kind === "ask" && (failure?.code === "upstream" || failure?.code === "not_configured");
    step = answerOf([
      [failure === null ? FAILED : `${failure.message}.`],
      ...(isAsked ? [[SAID.unread]] : []),
    ]);
  } finally {
    await typing?.stop();
  }
  await ctx.runMutation(internal.bot.jobs.advance, { jobId, job, step });
});

/** Whose command it is, has to be known before a group sees the bot type. */
function isShown({ kind }: Work): boolean {
  return kind !== "addressed";
}

type Job = { jobId: Id<"botJobs">; sender: Sender; userId?: string | undefined; work: Work };

/** On-demand results are good for this long. */
const FRESH_MS = 15 * MINUTE;

/** @throws AppError with a message for the person who asked. */
async function carryOut(ctx: ActionCtx, { jobId, sender, userId, work }: Job): Promise<Step> {
  switch (work.kind) {
    case "addressed": {
      const name = await botUsername(required("MESSENGER_BOT_TOKEN"));
      return name?.toLowerCase() === work.to ? { kind: "respond", text: work.text } : { kind: "drop" };
    }
    case "connect":
      return answerOf(await connect(ctx, sender, work.codeHash));
    case "portfolio":
      return portfolio(ctx, work.userId);
    case "research":
      return research(ctx, work, {
        userId: userId ?? `messenger:${sender.messengerId}`,
        address: null,
        signedIn: userId !== undefined,
      });
    case "ask": {
      await charge(ctx, "chat", { userId: userId ?? `messenger:${sender.messengerId}`, address: null });
      const isAlert = work.isPlain === true && sender.alone;
      const whose = userId ?? chatUser(sender.messengerId);
      const alert = isAlert ? await alertIn(ctx, whose, work.question) : null;
      if (alert !== null) return alert;
      required("LLM_GATEWAY_API_KEY");
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
      return answerOf(told.answer.split(/\n\s*\n/).map((paragraph) => [paragraph]));
    }
    case "why":
      return answerOf(whyCard(await reasonsFor(ctx, { userId: work.userId, alertId: work.alertId })));
    case "alert":
      return alerted(ctx, work);
    case "order":
      return orderStep(ctx, { jobId, sender, work });
  }
}

function answerOf(paragraphs: readonly Paragraph[]): Extract<Step, { kind: "answer" }> {
  return { kind: "answer", paragraphs: paragraphs.map((paragraph) => [...paragraph]) };
}

async function connect(ctx: ActionCtx, sender: Sender, codeHash: string): Promise<readonly Paragraph[]> {
  const { messengerId, messengerUsername } = sender;
  try {
    const account = { codeHash, messengerId, messengerUsername, by: "account" as const };
    const { userId, walletAddress } = await connectAccount(ctx, account, null);
    await ctx.runMutation(internal.alerts.proposals.adopt, { from: chatUser(messengerId), to: userId });
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
  const card = answerOf(portfolioCard({ address, ...held }));
  if (holdings.length === 0) return card;
  const handle = await createFunctionHandle(internal.pictures.desk.portfolio);
  const subject = JSON.stringify({ at: Date.now(), totalUsd: held.totalValueUsd, holdings });
  return { ...card, picture: { handle, subject } };
}

/** What comes of an alert's words, however they were sent. The same again is the same proposal, so a try that was cut off does no harm. */
async function alerted(
  ctx: ActionCtx,
  { userId, text }: Extract<Work, { kind: "alert" }>,
): Promise<Extract<Step, { kind: "answer" }>> {
  const caller = callerOf(userId);
  await charge(ctx, "alert", caller);
  const answered = await answerWords(ctx, { caller, userId, text });
  return shown(answered);
}

function callerOf(userId: string): Caller {
  return isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${userId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** Any words may ask for an alert; `null` where they do not, so that they are a question. */
async function alertIn(ctx: ActionCtx, userId: string, text: string): Promise<Step | null> {
  const answered = await answerWords(ctx, {
    caller: { userId, address: null, signedIn: true },
    userId,
    text,
  });
  return answered.kind === "none" || answered.kind === "unread" ? null : shown(answered);
}

async function shown(answered: Answered): Promise<Extract<Step, { kind: "answer" }>> {
  if (answered.kind === "open") return withButtons(openCard(answered));
  if (answered.kind !== "proposed") return answerOf(notice(answered.say));
  const { proposed } = answered;
  const card = withButtons(proposalCard(proposed));
  if (proposed.alert.condition.kind === "digest") return card;
  const handle = await createFunctionHandle(internal.pictures.desk.alert);
  return { ...card, picture: { handle, subject: proposed.alert.alertId } };
}

function withButtons({ answer: paragraphs, buttons }: AlertCard) {
  return { ...answerOf(paragraphs), buttons };
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
    const card = answerOf(snapshotCard({ token, generatedAt: fetchedAt, result }, siteUrl()));
    return { ...card, buttons: researchButtons(focus) };
  }
  required("LLM_GATEWAY_API_KEY");
  const begun = await ctx.runMutation(internal.research.results.begin, { focus, caller });
  return { kind: "wait", ticket: begun };
}
