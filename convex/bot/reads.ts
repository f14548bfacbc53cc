import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { listCard } from "../alerts/cards";
import { alertsOf } from "../alerts/model";
import { siteUrl } from "../lib/env";
import { isSymbol } from "../lib/money/tokens";
import { HOUR } from "../lib/time";
import { listedSymbol } from "../market/facts";
import type { Button, Paragraph } from "../messenger/format";
import { linkOfAccount } from "../messenger/model";
import { activeShiftsOf, latestReportsOf } from "../research/model";
import { fullTextCard, sourcesCard } from "../research/cards";
import type { Result } from "../research/tables";
import { publishedHead } from "../signals/anchors";
import { latestCard } from "../signals/cards";
import { latestSignals, recordFor } from "../signals/model";
import { TOKENS } from "../signals/rules";
import { walletOf } from "../wallets/model";
import { alertCard, lastHours } from "../whales/cards";
import { hasLooked, latestAlerts, publicAlert } from "../whales/model";
import { recordCard, statusCard, walletCard } from "./cards";
import { help, reply, type Outcome, type Request } from "./commands";
import { focusIn, hoursIn, tokenIn } from "./grammar";

/** Commands that only read. */

type Read = (ctx: QueryCtx, request: Request) => Outcome | Promise<Outcome>;

/** Whose a messenger account is by its own word, and the hash of the code that has linked it, confirmed or not. */
export const account = internalQuery({
  args: { messengerId: v.string() },
  returns: v.object({ userId: v.union(v.string(), v.null()), usedCode: v.union(v.string(), v.null()) }),
  handler: async (ctx, { messengerId }) => {
    const link = await linkOfAccount(ctx, messengerId);
    const userId = link?.confirmedAt === undefined ? null : link.userId;
    return { userId, usedCode: link?.codeHash ?? null };
  },
});

/** The symbol or name of a token as research knows it. */
export const focus = internalQuery({
  args: { argument: v.string(), now: v.number() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { argument, now }) => focusNamed(ctx, argument, now),
});

/** What research is about: the token of an argument; "" for the whole market, `null` for words that name no token. */
export async function focusNamed(ctx: QueryCtx, argument: string, now: number): Promise<string | null> {
  const name = focusIn(argument) ?? "?";
  if (name === "") return "";
  // The exchanges may know a symbol that no list has; a name they do not know.
  const focus = (await listedSymbol(ctx, name, now)) ?? name;
  return isSymbol(focus) ? focus : null;
}

export function nameOf(focus: string): string {
  return focus === "" ? "the whole market" : focus;
}

const SIGNALS: readonly Button[] = [
  { text: "BTC", command: "signals BTC" },
  { text: "ETH", command: "signals ETH" },
  { text: "Record", command: "record" },
];

/** Alerts on one page of /whales. */
const PAGE = 8;
/** How far /whales looks back by default. */
const SHOWN_HOURS = 6;

export const READS: Readonly<Record<string, Read>> = {
  help: () => ({ answer: help() }),
  alerts: async (ctx, { userId }) => listCard(await alertsOf(ctx, userId)),
  wallet: async (ctx, { userId }) => ({ answer: walletCard(await walletOf(ctx, userId, "custody")) }),

  signals: async (ctx, { argument }) => {
    const token = tokenIn(TOKENS, argument);
    if (token === null)
      return reply("There are signals for BTC and ETH only, such as ", { command: "signals" }, " BTC.");
    const signals = await latestSignals(ctx, token === undefined ? TOKENS : [token]);
    if (signals.length === 0) return reply("No signal has been issued yet: they come at 08:00 UTC.");
    return { answer: latestCard(signals, await publishedHead(ctx)), buttons: [SIGNALS] };
  },
  record: async (ctx) => {
    const whole = await recordFor(ctx, "ALL");
    const answer = recordCard(whole, await publishedHead(ctx), siteUrl());
    return { answer, buttons: [SIGNALS.slice(0, 2)] };
  },
  whales: async (ctx, { argument, now }) => {
    // After the hours, a button names a page, from 1.
    const [span = "", named] = argument.split(/\s+/);
    const hours = hoursIn(span, SHOWN_HOURS);
    const page = named === undefined ? 1 : Number(/^[1-9]\d{0,2}$/.exec(named)?.[0] ?? NaN);
    if (hours === null || Number.isNaN(page))
      return reply("Say how many hours to look back, at most 168: ", { command: "whales" }, " 24");
    const alerts = await latestAlerts(ctx, now - hours * HOUR);
    if (alerts.length === 0 && !(await hasLooked(ctx)))
      return reply(
        "I have not looked for whales yet: I read Base every two minutes and ask an agent every hour.",
      );
    const shown = Math.min(page, Math.max(1, Math.ceil(alerts.length / PAGE)));
    const to = (target: number, text: string): Button[] =>
      target < 1 || (target - 1) * PAGE >= alerts.length
        ? []
        : [{ text, command: `whales ${hours} ${target}` }];
    const answer = alertCard({
      window: lastHours(hours),
      at: now,
      alerts: alerts.map(publicAlert),
      most: PAGE,
      page: shown,
    });
    return { answer, buttons: [[...to(shown - 1, "◀ Larger"), ...to(shown + 1, "Smaller ▶")]] };
  },

  report: (ctx, request) => lastResult(ctx, request, "report", fullTextCard),
  sources: (ctx, request) => lastResult(ctx, request, "sources", sourcesCard),
  status: async (ctx, { userId, now }) => {
    const reports = await latestReportsOf(ctx, userId);
    return { answer: statusCard(await activeShiftsOf(ctx, userId), reports, now) };
  },
};

/** Shows a part of the last result on a focus. Results are for everybody, no matter who asked for them. */
async function lastResult(
  ctx: QueryCtx,
  { argument, now }: Request,
  name: "report" | "sources",
  card: (focus: string, result: Result) => Paragraph[],
): Promise<Outcome> {
  const focus = await focusNamed(ctx, argument, now);
  if (focus === null) return reply("Name one token by its symbol, such as ", { command: name }, " BTC.");
  const found = await ctx.runQuery(internal.research.results.current, { focus });
  if (found !== null) return { answer: card(focus, found.result) };
  const of = focus === "" ? "" : ` ${focus}`;
  return reply(`There is no research on ${nameOf(focus)} yet: `, { command: "research" }, `${of} writes it.`);
}
