import type { MutationCtx } from "../_generated/server";
import { lastProposed } from "../alerts/model";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { MINUTE } from "../lib/time";
import { userOfAccount } from "../messenger/model";
import { HOW_TO_LINK, notice, UNCONFIRMED, WRONG_CODE } from "./cards";
import { commandNamed, help } from "./commands/list";
import { openJob, sendAnswer, unconfirmedLinkOf } from "./model";
import { parseCommand, showsCode } from "./commands/grammar";
import type { Outcome, Request } from "./commands/command";
import type { Sender, Tapped } from "./tables";

const PRIVATE_ONLY = "I answer that in a private chat only: write to me there.";
const CODE_SHOWN = " A link code that was shown here is no longer valid: create a new one.";

const FORWARDED = "I do not accept that from a forwarded message. If it is yours, type it here yourself.";

/**
 * Answers one text to the bot, in the transaction that takes it. What it says is data, whoever wrote it; a tapped button
 * says its command, and who may do what is decided as if it had been typed.
 */
export async function respond(
  ctx: MutationCtx,
  sender: Sender,
  text: string,
  { forwarded = false, tapped }: { forwarded?: boolean; tapped?: Tapped | undefined } = {},
): Promise<void> {
  const userId = await userOfAccount(ctx, sender.messengerId);
  const { answer, buttons, later } = await outcomeOf(ctx, sender, userId, text, forwarded);
  const isOpen = sender.alone && (await unconfirmedLinkOf(ctx, sender)) !== null;
  const isTold = [UNCONFIRMED, WRONG_CODE].some((one) => JSON.stringify(answer[0]) === JSON.stringify(one));
  const said = isOpen && !isTold ? [UNCONFIRMED, ...answer] : answer;
  const replaces = isInPlace(text, tapped) ? { replaces: { messageId: tapped.messageId } } : {};
  const noticeId =
    said.length === 0 ? undefined : await sendAnswer(ctx, sender, userId, said, { buttons, ...replaces });
  if (later !== undefined) await openJob(ctx, sender, userId, later, noticeId);
}

function isInPlace(text: string, tapped: Tapped | undefined): tapped is Tapped {
  const command = commandNamed(parseCommand(text)?.name ?? "");
  return tapped?.isText === true && command?.inPlace === true;
}

async function outcomeOf(
  ctx: MutationCtx,
  sender: Sender,
  userId: string | null,
  text: string,
  forwarded: boolean,
): Promise<Outcome> {
  if (asksForKey(text)) return { answer: notice(SECURITY_MESSAGE) };
  const parsed = parseCommand(text);
  if (parsed === null) {
    const yes = sender.alone && !forwarded && YES.test(text.trim()) ? await yesTo(ctx, userId) : null;
    return yes === null
      ? questionOf(ctx, { sender, userId, argument: text.trim() })
      : outcomeOf(ctx, sender, userId, yes, forwarded);
  }
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  if (forwarded && command.binds === true) return { answer: notice(FORWARDED) };
  const request = { sender, userId, argument: parsed.argument };
  if (command.access !== "anywhere" && !sender.alone) {
    return { answer: notice(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "") };
  }
  if (command.access !== "linked") return command.run(ctx, request);
  if (userId === null) return { answer: notice(...HOW_TO_LINK) };
  return command.run(ctx, { ...request, userId });
}

const YES = /^(?:yes|yes,? please|yes,? tell me|ok|okay|sure|ja)[.!]?$/i;
/** A yes is an answer to what was asked within so long. */
const ASKED_MS = 10 * MINUTE;

/** The command that a plain yes stands for, just after the bot has asked whether an alert is right; `null` otherwise. */
async function yesTo(ctx: MutationCtx, userId: string | null): Promise<string | null> {
  const asked = userId === null ? null : await lastProposed(ctx, userId, Date.now() - ASKED_MS);
  return asked === null ? null : `/alert yes ${asked._id}`;
}

/** Words that are no command are a question; a picture without words gets help. */
function questionOf(ctx: MutationCtx, request: Request): Outcome | Promise<Outcome> {
  const ask = commandNamed("ask");
  return request.argument === "" || ask === null || ask.access === "linked"
    ? { answer: help() }
    : ask.run(ctx, request);
}
