import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { confirmedCard, listCard } from "../alerts/cards";
import { alertsOf, confirm as confirmAlert, numberedAlert, switchOff } from "../alerts/model";
import { failureOf } from "../lib/errors";
import { optionalToken } from "../lib/input";
import { HOUR } from "../lib/time";
import { codeHash } from "../messenger/codes";
import { symbolText, type Paragraph } from "../messenger/format";
import { confirmLink, dropLink, linkOfAccount } from "../messenger/model";
import { activeShiftsOf, lastCollectionOf, researchOf } from "../research/model";
import { latestCard } from "../signals/cards";
import { signalToken } from "../signals/inputs";
import { chainHeadOf, latestSignals } from "../signals/model";
import { TOKENS } from "../signals/rules";
import { walletOf } from "../wallets/model";
import { alertCard } from "../whales/cards";
import { hours } from "../whales/inputs";
import { alertsSince, hasLooked } from "../whales/model";
import { publicAlert } from "../whales/views";
import { pseudonymOf } from "../users/model";
import { helpCard, linkedCard, notice, statusCard, UNCONFIRMED, walletCard } from "./cards";
import { unconfirmedLinkOf } from "./model";
import type { Sender, Work } from "./tables";

/** The bot's commands: one list, from which answers, help and the messenger's own menu are made. */

/** A command as it came. */
export type Request = {
  sender: Sender;
  /** The user the sender's account is linked to, or `null`. */
  userId: string | null;
  /** What followed the command, trimmed; "" for nothing. */
  argument: string;
};

/** What becomes of a command: an answer, or a notice at once and work that answers later. */
export type Outcome = { answer: readonly Paragraph[]; later?: Work };

type Base = {
  /** Without the slash: lower-case letters, digits and _. */
  name: string;
  /** What may follow it, for the help: `CODE`, `[TOKEN]`. */
  argument?: string;
  /** One line for help and menu. */
  summary: string;
  /** It binds who sends it to somebody: nothing that is passed on from another message does that. */
  binds?: true;
};

/**
 * `anywhere`: in groups too, by anybody. `alone`: in a chat with the bot alone. `linked`: there, and by a linked user.
 * Runs in the transaction that takes the update, so it is done exactly once; what asks the outside is left for later.
 */
export type Command = Base &
  (
    | {
        access: "anywhere" | "alone";
        run: (ctx: MutationCtx, request: Request) => Outcome | Promise<Outcome>;
      }
    | {
        access: "linked";
        run: (ctx: MutationCtx, request: Request & { userId: string }) => Outcome | Promise<Outcome>;
      }
  );

export const commands: readonly Command[] = [
  {
    name: "start",
    summary: "Say hello",
    binds: true,
    access: "anywhere",
    // A deep link (t.me/<bot>?start=CODE) arrives as this command.
    run: (_ctx, request) =>
      request.argument !== "" && request.sender.alone ? connect(request) : { answer: help("Welcome!") },
  },
  { name: "help", summary: "What I can do", access: "anywhere", run: () => ({ answer: help() }) },
  {
    name: "connect",
    argument: "CODE",
    summary: "Link this account to yours in the web application",
    binds: true,
    access: "alone",
    run: (_ctx, request) => connect(request),
  },
  {
    name: "confirm",
    argument: "CODE",
    summary: "Use a link of this account that was made outside this chat",
    binds: true,
    access: "alone",
    run: (ctx, request) => confirm(ctx, request),
  },
  {
    name: "unlink",
    summary: "Unlink this account",
    access: "alone",
    run: async (ctx, { sender }) => {
      const link = await linkOfAccount(ctx, sender.messengerId);
      if (link === null) return { answer: notice("This account is not linked.") };
      await dropLink(ctx, link);
      return { answer: notice("Unlinked: nothing more of that user's comes to this account.") };
    },
  },
  {
    name: "wallet",
    summary: "Your wallet's address",
    access: "linked",
    run: async (ctx, { userId }) => ({ answer: walletCard(await walletOf(ctx, userId, "custody")) }),
  },
  {
    name: "portfolio",
    summary: "What your wallet holds, at live prices",
    access: "linked",
    run: (_ctx, { userId }) => ({
      answer: notice("Reading your wallet from the chain…"),
      later: { kind: "portfolio", userId },
    }),
  },
  {
    name: "research",
    argument: "[TOKEN]",
    summary: "A research snapshot of a token, or of the whole market",
    access: "anywhere",
    run: (_ctx, { argument }) => {
      const token = optionalToken.safeParse(argument.replace(/^\$/, ""));
      if (!token.success) return { answer: notice("Name one token by its symbol, such as /research BTC.") };
      const subject = symbolText(token.data ?? "the whole market");
      return {
        answer: notice(`Researching ${subject}: this takes up to a minute…`),
        later: { kind: "research", focus: token.data ?? "" },
      };
    },
  },
  {
    name: "signals",
    argument: "[TOKEN]",
    summary: "The latest trading signals of BTC and ETH",
    access: "anywhere",
    run: async (ctx, { argument }) => {
      const token = signalToken.safeParse(argument.replace(/^\$/, ""));
      if (!token.success)
        return { answer: notice("There are signals of BTC and ETH, such as /signals BTC.") };
      const signals = await latestSignals(ctx, token.data === undefined ? TOKENS : [token.data]);
      if (signals.length === 0)
        return { answer: notice("No signal has been issued yet: they come at 08:00 UTC.") };
      return { answer: latestCard(signals, await chainHeadOf(ctx)) };
    },
  },
  {
    name: "whales",
    argument: "[HOURS]",
    summary: "Whale alerts of the last hours (6, or as many as you say, up to 168)",
    access: "anywhere",
    run: async (ctx, { argument }) => {
      const window = hours.safeParse(argument);
      if (!window.success) return { answer: notice("Say how many hours to look back, 1 to 168: /whales 24") };
      const now = Date.now();
      const alerts = await alertsSince(ctx, now - window.data * HOUR);
      if (alerts.length === 0 && !(await hasLooked(ctx))) {
        return { answer: notice("I have not looked for whales yet: I do so every hour, on the hour.") };
      }
      return { answer: alertCard({ hours: window.data, at: now, alerts: alerts.map(publicAlert) }) };
    },
  },
  {
    name: "alert",
    argument: "WORDS",
    summary: "Be told when something happens, such as /alert BTC above 100000",
    access: "linked",
    run: async (ctx, { userId, argument }) => {
      if (argument === "") return { answer: notice(HOW_TO_ASK) };
      const [, number] = /^(?:yes|confirm) +(\d{1,6})$/i.exec(argument) ?? [];
      if (number === undefined)
        return { answer: notice("Reading that…"), later: { kind: "alert", userId, text: argument } };
      return changed(ctx, userId, Number(number), async (row) => confirmedCard(await confirmAlert(ctx, row)));
    },
  },
  {
    name: "alerts",
    argument: "[off NUMBER]",
    summary: "Your alerts; one goes off by its number",
    access: "linked",
    run: async (ctx, { userId, argument }) => {
      const [, number] = /^off +(\d{1,6})$/i.exec(argument) ?? [];
      if (number === undefined) return { answer: listCard(await alertsOf(ctx, userId)) };
      return changed(ctx, userId, Number(number), async (row) =>
        notice(`Off: ${(await switchOff(ctx, row)).words}.`),
      );
    },
  },
  {
    name: "status",
    summary: "How your research shift is doing",
    access: "linked",
    run: async (ctx, { userId }) => {
      const { reports } = await researchOf(ctx, userId);
      const active = await activeShiftsOf(ctx, userId);
      const [newest] = active;
      const collection = newest === undefined ? null : await lastCollectionOf(ctx, newest._id);
      return { answer: statusCard({ active, collection, reports }, Date.now()) };
    },
  },
  {
    name: "stop",
    summary: "Stop your research shifts",
    access: "linked",
    run: async (ctx, { userId }) => {
      const stopped: number = await ctx.runMutation(internal.research.shifts.stop, { userId });
      if (stopped === 0) return { answer: notice("No research shift of yours is running.") };
      return {
        answer: notice(stopped === 1 ? "Your shift was stopped." : `Your ${stopped} shifts were stopped.`),
      };
    },
  },
  {
    name: "ask",
    argument: "QUESTION",
    summary: "Ask the crypto assistant",
    access: "anywhere",
    run: (_ctx, { argument }) => {
      if (argument === "")
        return { answer: notice("Put your question behind the command: /ask How is Ethereum doing?") };
      return { answer: notice("Thinking…"), later: { kind: "ask", question: argument } };
    },
  },
];

/** The command of a name (lower case), or `null`. */
export function commandNamed(name: string): Command | null {
  return commands.find((command) => command.name === name) ?? null;
}

/** What the bot can do, behind an introduction. */
export function help(introduction?: string): Paragraph[] {
  return helpCard(commands, introduction);
}

const HOW_TO_ASK =
  "Say what, such as /alert BTC above 100000, /alert ETH down 5 % in 24 h, /alert ETH funding above 0.05 %, " +
  "/alert whale inflow of USDC over 10M, or /alert digest at 07:30 Europe/Berlin.";

/** What became of an alert of the user's, by its number; all of them where none has it. */
async function changed(
  ctx: MutationCtx,
  userId: string,
  number: number,
  change: (row: Doc<"alerts">) => Promise<readonly Paragraph[]>,
): Promise<Outcome> {
  const row = await numberedAlert(ctx, userId, number);
  if (row === null) return { answer: listCard(await alertsOf(ctx, userId)) };
  try {
    return { answer: await change(row) };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return { answer: notice(`${failure.message}.`) };
  }
}

/** Whoever made the link knows its code: the account's user has it from the web application, a stranger's victim has not. */
async function confirm(ctx: MutationCtx, { sender, argument }: Request): Promise<Outcome> {
  const link = await unconfirmedLinkOf(ctx, sender);
  if (link === null) return { answer: notice("There is nothing to confirm.") };
  if (argument === "" || link.codeHash !== codeHash(argument)) return { answer: notice(UNCONFIRMED) };
  await confirmLink(ctx, link, Date.now());
  const wallet = await walletOf(ctx, link.userId, "custody");
  return {
    answer: linkedCard({ account: pseudonymOf(link.userId), walletAddress: wallet?.address ?? null }),
  };
}

function connect({ userId, argument }: Request): Outcome {
  if (userId !== null) {
    return {
      answer: notice("This account is linked already. Send /unlink before you link it to another user."),
    };
  }
  if (argument === "") {
    return {
      answer: notice("Create a link code in the web application's profile, then send it here: /connect CODE"),
    };
  }
  try {
    // The code itself is written down nowhere.
    const later = { kind: "connect" as const, codeHash: codeHash(argument) };
    return { answer: notice("Checking your code…"), later };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return { answer: notice(`${failure.message}.`) };
  }
}
