import type { MutationCtx } from "../_generated/server";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { withoutTrailing } from "../lib/text/strings";
import { chatUser, userOfAccount, type Card } from "../messenger/model";
import { notice, UNCONFIRMED, WRONG_CODE } from "./cards";
import { priceOutcome } from "./commands/prices";
import { commandNamed, help } from "./commands/list";
import { plainOrder } from "./commands/orders";
import { openJob, sendAnswer, unconfirmedLinkOf } from "./model";
import { parseCommand, showsCode } from "./commands/grammar";
import { reply, type Outcome, type Request } from "./commands/command";
import { needsAccount, requestOf } from "./commands/webApp";
import type { Sender, Tapped } from "./tables";

const PRIVATE_ONLY = "I answer that in a private chat only: write to me there.";
const CODE_SHOWN = " A link code that was shown here is no longer valid: create a new one.";

const FORWARDED = "I do not accept that from a forwarded message. If it is yours, type it here yourself.";

/**
 * Answers one text to the bot, in the transaction that receives it. The text is data, no matter who wrote it. A tapped
 * button stands for its command, which is allowed if it could have been typed.
 */
export async function respond(
  ctx: MutationCtx,
  sender: Sender,
  text: string,
  {
    forwarded = false,
    tapped,
    isLate = false,
  }: { forwarded?: boolean; tapped?: Tapped | undefined; isLate?: boolean } = {},
): Promise<void> {
  const userId = await userOfAccount(ctx, sender.messengerId);
  const isTap = tapped !== undefined;
  const { answer, buttons, later } = await outcomeOf(ctx, { sender, userId, text, forwarded, isTap, isLate });
  const isOpen = sender.alone && (await unconfirmedLinkOf(ctx, sender)) !== null;
  const isTold = [UNCONFIRMED, WRONG_CODE].some((one) => JSON.stringify(answer[0]) === JSON.stringify(one));
  const paragraphs = isOpen && !isTold ? [UNCONFIRMED, ...answer] : answer;
  const replaces = placeOf(text, tapped);
  const messageId =
    paragraphs.length === 0
      ? undefined
      : await sendAnswer(ctx, sender, userId, paragraphs, { buttons, replaces });
  if (later !== undefined) await openJob(ctx, sender, userId, later, { notice: messageId, replaces });
}

/** What the answer replaces: the message with the button, if the command says so. */
function placeOf(text: string, tapped: Tapped | undefined): Card["replaces"] {
  const command = commandNamed(parseCommand(text)?.name ?? "");
  if (tapped === undefined || command?.inPlace !== true) return undefined;
  return { messageId: tapped.messageId, isPicture: !tapped.isText };
}

type Message = Omit<Request, "argument"> & { text: string; forwarded: boolean };

async function outcomeOf(ctx: MutationCtx, { text, forwarded, ...message }: Message): Promise<Outcome> {
  if (asksForKey(text)) return reply(SECURITY_MESSAGE);
  const parsed = parseCommand(text);
  const { sender, userId } = message;
  if (parsed === null) return questionOf(ctx, { ...message, argument: text.trim() }, forwarded);
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  if (forwarded && command.binds === true) return reply(FORWARDED);
  const request = { ...message, argument: parsed.argument };
  if (command.access !== "anywhere" && !sender.alone) {
    return reply(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "");
  }
  if (command.access === "anywhere" || command.access === "alone") return command.run(ctx, request);
  const owner = userId ?? (command.access === "own" ? chatUser(sender.messengerId) : null);
  if (owner === null) return needsAccount(requestOf(command.name, parsed.argument));
  return command.run(ctx, { ...request, userId: owner });
}

/**
 * Words that are not a command are a question; the name of a coin asks for its price, and a picture without words gets
 * the help.
 */
async function questionOf(ctx: MutationCtx, request: Request, forwarded: boolean): Promise<Outcome> {
  const { argument: question } = request;
  if (question === "") return { answer: help() };
  // The name of a coin asks only for its price, which needs no model.
  const price = await priceOutcome(ctx, withoutTrailing(question, "? "), question, request);
  if (price !== null) return price;
  const order = forwarded ? null : plainOrder(request);
  if (order !== null) return order;
  return { answer: notice("Thinking…"), later: { kind: "ask", question, isPlain: true } };
}
