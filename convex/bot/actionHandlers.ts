import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { connectAccount } from "../accounts/linkHttp";
import { parseAlertLine } from "../alerts/words";
import { derivePseudonym } from "../lib/crypto";
import { getRequired, getSiteUrl } from "../lib/env";
import { getErrorData } from "../lib/errors";
import { MINUTE } from "../lib/time";
import { resolveFocus } from "../market/listing";
import { answerToggle } from "../messenger/toggles";
import { charge } from "../platform/limits/charges";
import { buildSnapshotCard } from "../research/cards";
import { getFreshResult } from "../research/onDemand";
import { answerByModel, toCaller } from "./assistant";
import { ALREADY_LINKED, buildLinkedCard, explainMissingAccount } from "./cards";
import { parseFocus, trimName, type CommandName } from "./commands";
import { answerAlertCommand, answerAlertRequest } from "./freeText";
import { answerOrderCommand, proposeAgain, proposeGas } from "./orders";
import {
  askWhichToken,
  buildQuestion,
  reply,
  type ActionRequest,
  type CommandOutcome,
  type MessageAnswer,
} from "./outcomes";
import { answerPrice, greet } from "./prices";
import {
  answerChart,
  answerHistory,
  answerLogin,
  answerPaper,
  answerPortfolio,
  answerWallet,
} from "./wallet";

/** Handlers of commands that ask providers. All are idempotent: an interrupted one is run again. */
type ActionHandler = (ctx: ActionCtx, request: ActionRequest) => Promise<MessageAnswer>;

/** Longer than any research takes, and shorter than the lease of an attempt. */
const RESEARCH_WAIT_MS = 8 * MINUTE;

export const ACTION_HANDLERS = {
  price: async (ctx, { argument }) =>
    (await answerPrice(ctx, trimName(argument) === "" ? "BTC" : argument)) ??
    reply("I have no price for that. Try ", { command: "price" }, " SOL. I follow the 100 largest coins."),
  alert: answerAlertCommand,

  /** The stored result while it is fresh; otherwise new research. */
  research: async (ctx, request) => {
    const caller = toCaller(request);
    const line = `research ${request.argument}`;
    if (parseAlertLine(line) !== null && request.sender.alone) return answerAlertRequest(ctx, request, line);
    const requestedFocus = parseFocus(request.argument);
    if (requestedFocus === null) return askWhichToken("research");
    const focus = await resolveFocus(ctx, requestedFocus === "" ? undefined : requestedFocus, caller);
    const stored = await getFreshResult(ctx, focus, caller, { patienceMs: RESEARCH_WAIT_MS });
    if (stored === null) return reply("This takes too long just now. Please try again in a few minutes.");
    const button = (text: string, command: string) => ({ text, command: `${command} ${focus}`.trim() });
    return {
      answer: buildSnapshotCard(focus, stored, getSiteUrl()),
      buttons: [[button("Full text", "report"), button("Follow for 8 h", "follow")]],
    };
  },

  ask: async (ctx, request) =>
    request.argument === ""
      ? reply("Put your question after the command: ", { command: "ask" }, " How is Ethereum doing?")
      : answerByModel(ctx, request),

  /** A deep link (t.me/<bot>?start=CODE) arrives as this command. A stranger may have sent the link, so it only asks. */
  start: (ctx, request) =>
    request.argument === "" || !request.sender.alone ? greet(ctx, request) : answerLink(ctx, request, "asks"),
  connect: (ctx, request) => answerLink(ctx, request, "links"),

  portfolio: answerPortfolio,
  history: answerHistory,
  chart: answerChart,

  paper: answerPaper,
  wallet: answerWallet,
  login: answerLogin,
  subscribe: createToggle(""),
  switch: createToggle(""),
  unsubscribe: createToggle(" off"),

  again: proposeAgain,
  gas: proposeGas,
  swap: (ctx, request) => answerOrderCommand(ctx, request, `swap ${request.argument}`),
  send: (ctx, request) => answerOrderCommand(ctx, request, `send ${request.argument}`),
} satisfies Partial<Record<CommandName, ActionHandler>>;

/** The commands that an action answers; a mutation answers every other one (`handlers`). */
export type ActionCommand = keyof typeof ACTION_HANDLERS;

export function isActionCommand(name: CommandName): name is ActionCommand {
  return Object.hasOwn(ACTION_HANDLERS, name);
}

/** The handler of a command about the chat's news. @param end Behind its argument. */
function createToggle(end: "" | " off"): ActionHandler {
  return (ctx, { sender, argument, isTap }) =>
    answerToggle(ctx, sender, { argument: `${argument}${end}`.trim(), isTap, isStop: end !== "" });
}

/** Links the account by a code from the web application (`links`), or asks first (`asks`). The job has only the code's hash. */
async function answerLink(
  ctx: ActionCtx,
  request: ActionRequest,
  way: "asks" | "links",
): Promise<CommandOutcome> {
  const { sender, argument: codeHash, userId: linked, chatAccount, now } = request;
  const { messengerId, messengerUsername } = sender;
  if (codeHash === "") return linked === "" ? explainMissingAccount(chatAccount) : reply(...ALREADY_LINKED);
  getRequired("WALLET_ENCRYPTION_KEY");
  const account = { codeHash, messengerId, by: "account" as const };
  try {
    if (way === "links") {
      const { userId, walletAddress } = await connectAccount(ctx, { ...account, messengerUsername }, null);
      return { answer: buildLinkedCard(derivePseudonym(userId), walletAddress) };
    }
    await charge(ctx, "link", { userId: `messenger:${messengerId}`, address: null });
    const userId: string = await ctx.runQuery(internal.messenger.linking.getCodeOwner, { ...account, now });
    const meaning = "The web application shows you this name if you made this code.";
    const yes = { text: "Link", command: `connect ${codeHash}` };
    return buildQuestion(`🔐 Link this chat to ${derivePseudonym(userId)}?`, [meaning], yes);
  } catch (error) {
    const code = getErrorData(error)?.code;
    if (code === "rate_limited") return reply("Too many codes were tried. Wait a minute, then try again.");
    if (code === "conflict" && linked !== "") return reply(...ALREADY_LINKED);
    throw error;
  }
}
