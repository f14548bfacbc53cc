import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { changeCard, confirmedCard, endedCard, listCard, mutedCard } from "../../alerts/cards";
import { HOW_TO_SAY } from "../../alerts/language/wordings";
import {
  alertOf,
  alertsOf,
  confirm as confirmAlert,
  findAlert,
  muteUntil,
  numberedAlert,
  switchOff,
} from "../../alerts/model";
import { DAY } from "../../lib/time";
import { notice } from "../cards";
import { orReason, reply, type Command, type Outcome } from "./command";

/** The bot's commands about alerts. */

export const alertCommands: readonly Command[] = [
  {
    name: "alert",
    argument: "WORDS",
    summary: "Get an alert when something happens, in your own words",
    access: "own",
    inPlace: true,
    run: async (ctx, { userId, argument, isTap }) => {
      if (argument === "") return reply(HOW_TO_SAY);
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
];

/** What a tap does with an alert. Buttons of earlier versions say `yes`. */
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

/** The answer to a button of an alert that no longer exists. */
const GONE: Outcome = {
  answer: notice("This button no longer works: a proposal is forgotten after a day. Ask again."),
  buttons: [[{ text: "My alerts", command: "alerts" }]],
};
