import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { changeCard, confirmedCard, endedCard, listCard, mutedCard } from "../../alerts/cards";
import { HOW_TO_SAY } from "../../alerts/language/wordings";
import {
  alertOf,
  alertsOf,
  confirm as confirmAlert,
  muteUntil,
  findAlert,
  numberedAlert,
  switchOff,
} from "../../alerts/model";
import { DAY } from "../../lib/time";
import { codeHash } from "../../messenger/codes";
import type { Paragraph } from "../../messenger/format";
import { linkOfAccount } from "../../messenger/model";
import { confirmLink, dropLink } from "../../messenger/owners";
import { activeShiftsOf, lastCollectionOf, latestReportsOf } from "../../research/model";
import { walletOf } from "../../wallets/model";
import { pseudonymOf } from "../../users/model";
import {
  helpCard,
  linkedCard,
  NOTHING_TO_CONFIRM,
  notice,
  statusCard,
  UNCONFIRMED,
  walletCard,
  WRONG_CODE,
} from "../cards";
import { orReason, type Command, type Outcome, type Request } from "./command";
import { marketCommands } from "./market";
import { unconfirmedLinkOf } from "../model";
import { orderCommands } from "./orders";
import { ownerCommands, ownerOffer } from "./owner";
import { priceCommand, startOutcome } from "./prices";
import { researchCommands } from "./research";

/** The bot's commands: one list, from which answers, help and the messenger's own menu are made. */

export const commands: readonly Command[] = [
  {
    name: "start",
    summary: "Say hello",
    binds: true,
    access: "anywhere",
    // A deep link (t.me/<bot>?start=CODE) arrives as this command.
    run: async (ctx, request) => {
      if (request.argument === "" || !request.sender.alone) return startOutcome(ctx);
      return (await ownerOffer(ctx, request)) ?? connect(ctx, request);
    },
  },
  { name: "help", summary: "What I can do", access: "anywhere", run: () => ({ answer: help() }) },
  {
    name: "connect",
    argument: "CODE",
    summary: "Link this account to yours in the web application",
    binds: true,
    access: "alone",
    run: (ctx, request) => connect(ctx, request),
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
      await dropLink(ctx, link, "account");
      return { answer: notice("Unlinked: this account gets nothing more that belongs to that user.") };
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
    // It ends in a picture, which cannot take the place of a notice.
    run: (_ctx, { userId }) => ({ answer: [], later: { kind: "portfolio", userId } }),
  },
  ...ownerCommands,
  ...orderCommands,
  ...researchCommands,
  priceCommand,
  ...marketCommands,
  {
    name: "alert",
    argument: "WORDS",
    summary: "Be told when something happens, in your own words",
    access: "own",
    inPlace: true,
    run: async (ctx, { userId, argument, isTap }) => {
      if (argument === "") return { answer: notice(HOW_TO_SAY) };
      const [, what = "", which = ""] =
        /^(set|yes|off|no|change|mute|unmute) +(\S{1,40})$/i.exec(argument) ?? [];
      const change = CHANGES[what.toLowerCase()];
      if (change === undefined)
        return {
          answer: isTap ? [] : notice("Reading that…"),
          later: { kind: "alert", userId, text: argument },
        };
      if (!isTap) return listCard(await alertsOf(ctx, userId));
      return orReason(async () => {
        const row = await findAlert(ctx, userId, which);
        return row === null ? GONE : change(ctx, row);
      });
    },
  },
  {
    name: "why",
    hidden: true,
    summary: "Why an alert has fired",
    access: "own",
    run: (_ctx, { userId, argument }) => ({ answer: [], later: { kind: "why", userId, alertId: argument } }),
  },
  {
    name: "alerts",
    argument: "[off NUMBER]",
    summary: "Your alerts; switch one off by its number",
    access: "own",
    inPlace: true,
    run: async (ctx, { userId, argument }) => {
      const [, which = "0"] = /^off +(\S{1,40})$/i.exec(argument) ?? [];
      const row = /^\d{1,6}$/.test(which)
        ? await numberedAlert(ctx, userId, Number(which))
        : await findAlert(ctx, userId, which);
      return row === null ? listCard(await alertsOf(ctx, userId)) : endedCard(await switchOff(ctx, row));
    },
  },
  {
    name: "status",
    summary: "How your research shift is doing",
    access: "linked",
    run: async (ctx, { userId }) => {
      const reports = await latestReportsOf(ctx, userId);
      const active = await activeShiftsOf(ctx, userId);
      const [newest] = active;
      const collection = newest === undefined ? null : await lastCollectionOf(ctx, newest._id);
      return { answer: statusCard({ active, collection, reports }, Date.now()) };
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

/** What a tap makes of an alert. Earlier buttons say `yes`. */
const CHANGES: Readonly<Record<string, (ctx: MutationCtx, row: Doc<"alerts">) => Promise<Outcome>>> = {
  set: async (ctx, row) => confirmedCard(await confirmAlert(ctx, row, null)),
  yes: async (ctx, row) => confirmedCard(await confirmAlert(ctx, row, null)),
  off: async (ctx, row) => endedCard(await switchOff(ctx, row)),
  no: async (ctx, row) => endedCard(await switchOff(ctx, row)),
  mute: async (ctx, row) => {
    const until = Date.now() + DAY;
    return mutedCard(await muteUntil(ctx, row, until), until);
  },
  unmute: async (ctx, row) => confirmedCard(await muteUntil(ctx, row, Date.now())),
  change: (_ctx, row) => Promise.resolve(changeCard(alertOf(row))),
};

/** Of a button below what is forgotten. */
const GONE: Outcome = {
  answer: notice("This button does nothing any more: what was proposed is forgotten after a day. Ask again."),
  buttons: [[{ text: "My alerts", command: "alerts" }]],
};

/** Whoever made the link knows its code: the account's user has it from the web application, a stranger's victim has not. */
async function confirm(ctx: MutationCtx, { sender, argument }: Request): Promise<Outcome> {
  const link = await linkOfAccount(ctx, sender.messengerId);
  if (link === null) return { answer: notice(...NOTHING_TO_CONFIRM) };
  if (link.confirmedAt !== undefined) return { answer: notice("This account's link is confirmed already.") };
  if (argument === "") return { answer: notice(...UNCONFIRMED) };
  if (link.codeHash !== codeHash(argument)) return { answer: notice(...WRONG_CODE) };
  await confirmLink(ctx, link, Date.now());
  const wallet = await walletOf(ctx, link.userId, "custody");
  return {
    answer: linkedCard({ account: pseudonymOf(link.userId), walletAddress: wallet?.address ?? null }),
  };
}

async function connect(ctx: MutationCtx, request: Request): Promise<Outcome> {
  const { sender, userId, argument } = request;
  if (userId !== null) {
    return {
      answer: notice(
        "This account is already linked. Send ",
        { command: "unlink" },
        " before you link it to another user.",
      ),
    };
  }
  if (argument === "") {
    return {
      answer: notice(
        "Create a link code in the web application's profile, then send it here: ",
        { command: "connect" },
        " CODE",
      ),
    };
  }
  return orReason(async () => {
    // A code that has made this account's link elsewhere is used up, and confirms it.
    const link = await unconfirmedLinkOf(ctx, sender);
    if (link?.codeHash === codeHash(argument)) return confirm(ctx, request);
    // The code itself is written down nowhere.
    const later = { kind: "connect" as const, codeHash: codeHash(argument) };
    return { answer: notice("Checking your code…"), later };
  });
}
