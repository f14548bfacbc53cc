import { siteUrl } from "../../lib/env";
import { HOUR } from "../../lib/time";
import type { Button } from "../../messenger/format";
import { latestSignals, totalsOf } from "../../signals/record/model";
import { publishedHead } from "../../signals/record/publication";
import { DAILY } from "../../signals/record/rows";
import { statisticsOf } from "../../signals/statistics/figures";
import { TOKENS } from "../../signals/trade/rules";
import { alertCard, lastHours } from "../../whales/cards";
import { hasLooked, latestAlerts, publicAlert } from "../../whales/model";
import { hoursIn, tokenIn } from "./grammar";
import { latestShortCard, recordCard } from "../cards";
import { reply, type Command } from "./command";

/** The bot's commands about markets: to everybody, anywhere. */

const SIGNALS: readonly Button[] = [
  { text: "BTC", command: "signals BTC" },
  { text: "ETH", command: "signals ETH" },
  { text: "Record", command: "record" },
];

/** Alerts on one page of /whales. */
const PAGE = 8;
/** How far /whales looks back by default. */
const SHOWN_HOURS = 6;

export const marketCommands: readonly Command[] = [
  {
    name: "signals",
    argument: "[TOKEN]",
    summary: "The latest trading signals of BTC and ETH",
    access: "anywhere",
    inPlace: true,
    run: async (ctx, { argument }) => {
      const token = tokenIn(TOKENS, argument);
      if (token === null)
        return reply("There are signals for BTC and ETH only, such as ", { command: "signals" }, " BTC.");
      const signals = await latestSignals(ctx, token === undefined ? TOKENS : [token]);
      if (signals.length === 0) return reply("No signal has been issued yet: they come at 08:00 UTC.");
      return { answer: latestShortCard(signals, siteUrl()), buttons: [SIGNALS] };
    },
  },
  {
    name: "record",
    summary: "How the signals have done, against chance",
    access: "anywhere",
    inPlace: true,
    run: async (ctx) => {
      const whole = statisticsOf(await totalsOf(ctx, DAILY, "ALL"));
      const answer = recordCard(whole, await publishedHead(ctx), siteUrl());
      return { answer, buttons: [SIGNALS.slice(0, 2)] };
    },
  },
  {
    name: "whales",
    argument: "[HOURS]",
    summary: "Whale alerts of the last hours (6, or as many as you say, up to 168)",
    access: "anywhere",
    inPlace: true,
    run: async (ctx, { argument }) => {
      // After the hours, a button names a page, from 1.
      const [span = "", named] = argument.split(/\s+/);
      const hours = hoursIn(span, SHOWN_HOURS);
      const page = named === undefined ? 1 : Number(/^[1-9]\d{0,2}$/.exec(named)?.[0] ?? NaN);
      if (hours === null || Number.isNaN(page)) {
        return reply("Say how many hours to look back, at most 168: ", { command: "whales" }, " 24");
      }
      const now = Date.now();
      const alerts = await latestAlerts(ctx, now - hours * HOUR);
      if (alerts.length === 0 && !(await hasLooked(ctx))) {
        return reply(
          "I have not looked for whales yet: I read Base every two minutes and ask an agent every hour.",
        );
      }
      const shown = Math.min(page, Math.max(1, Math.ceil(alerts.length / PAGE)));
      const to = (target: number, text: string): Button[] =>
        target < 1 || (target - 1) * PAGE >= alerts.length
          ? []
          : [{ text, command: `whales ${hours} ${target}` }];
      const answer = alertCard({
        ...{ window: lastHours(hours), at: now, alerts: alerts.map(publicAlert) },
        page: { number: shown, size: PAGE },
      });
      return { answer, buttons: [[...to(shown - 1, "◀ Larger"), ...to(shown + 1, "Smaller ▶")]] };
    },
  },
];
