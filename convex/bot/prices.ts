import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { lastObservation } from "../alerts/observations";
import { COIN, lineOf } from "../alerts/grammar";
import { factsIn, latestOf, symbolAmong } from "../market/facts";
import type { Fact } from "../lib/facts";
import { isMajor, symbolIn } from "../lib/money/tokens";
import { sourceName } from "../lib/publicSources";
import { signed } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime, DAY, MINUTE } from "../lib/time";
import type { Button } from "../messenger/format";
import { reply, type Outcome } from "./commands";

/** Stored prices, and the bot's first message: no model is asked for either. */

const vKnown = v.object({
  token: v.string(),
  priceUsd: v.number(),
  change: v.union(v.number(), v.null()),
  observedAt: v.number(),
  source: v.string(),
});
type Known = typeof vKnown.type;

const LIST = { collector: "markets", subject: "" } as const;
const FRESH_MS = 5 * MINUTE;
/** An older price does not count as the present price. */
const OLDEST_MS = DAY;

/**
 * What is stored of coins, by their written symbols or names: only what has a price. `unknown` are major coins without
 * one; `isOld`: the list of the largest coins is to be collected for the next caller.
 */
export const stored = internalQuery({
  args: { written: v.array(v.string()), now: v.number() },
  returns: v.object({ known: v.array(vKnown), unknown: v.array(v.string()), isOld: v.boolean() }),
  handler: async (ctx, { written, now }) => {
    const row = await latestOf(ctx, LIST, now);
    const facts = row === null ? [] : factsIn(row);
    const known: Known[] = [];
    const unknown: string[] = [];
    for (const one of written) {
      const name = symbolIn(one.trim());
      const token = symbolAmong(facts, name) ?? name;
      const price = COIN.test(token) ? await knownPrice(ctx, token, facts, now) : null;
      if (price !== null) known.push(price);
      else if (isMajor(token)) unknown.push(token);
    }
    return { known, unknown, isOld: row === null || now - row.collectedAt > FRESH_MS };
  },
});

/** From samples or from the list of the largest coins, whichever is newer. */
async function knownPrice(
  ctx: QueryCtx,
  token: string,
  facts: readonly Fact[],
  now: number,
): Promise<Known | null> {
  const fact = (kind: "price" | "change24h") => {
    const one = facts.find((each) => each.subject === token && each.kind === kind);
    return one !== undefined && typeof one.value === "number" && now - one.observedAt < OLDEST_MS
      ? { ...one, value: one.value }
      : null;
  };
  const [listed, listedChange] = [fact("price"), fact("change24h")];
  const sample = await lastObservation(ctx, `price:${token}`, now);
  const price = sample !== null && sample.observedAt >= (listed?.observedAt ?? 0) ? sample : listed;
  if (price === null) return null;
  // The list has the price of exactly a day ago; samples may have one of an hour earlier.
  const isListed = now - (listedChange?.observedAt ?? 0) < 2 * FRESH_MS;
  const own = isListed || price === listed ? null : await lastObservation(ctx, `change:${token}:24`, now);
  const { value: priceUsd, observedAt, source } = price;
  const change = own?.value ?? listedChange?.value ?? null;
  return { token, priceUsd, change, observedAt, source: sourceName(source) };
}

/** Stored prices; those of major coins that are not stored yet are fetched first. */
async function pricesOf(ctx: ActionCtx, written: string[]): Promise<Known[]> {
  const look = () => ctx.runQuery(internal.bot.prices.stored, { written, now: Date.now() });
  const { known, unknown, isOld } = await look();
  if (isOld) await ctx.scheduler.runAfter(0, internal.alerts.desk.refreshList, {});
  if (unknown.length === 0) return known;
  // Loaded by the action that needs it: this file's query does without.
  const { sampleCoins } = await import("../alerts/desk");
  await sampleCoins(ctx, unknown);
  return (await look()).known;
}

function line({ token, priceUsd, change }: Known): string {
  const moved = change === null ? "" : ` ${change < 0 ? "▼" : "▲"} ${signed(change)} in 24 h`;
  return `${token} ${dollars(priceUsd)}${moved}`;
}

/** Three significant digits, as a person would say it. */
const rounded = (value: number): number => Number(value.toPrecision(3));

function alertButton({ token, priceUsd }: Known, text: string, factor: number): Button {
  const [direction, levelUsd] = [factor > 1 ? "above" : "below", rounded(priceUsd * factor)] as const;
  return { text, command: `alert ${lineOf({ kind: "price", token, direction, levelUsd })}` };
}

/** The answer with a coin's price, by its written symbol or name; `null` if no such coin has a price. */
export async function priceOutcome(ctx: ActionCtx, written: string): Promise<Outcome | null> {
  if (written.length > 40 || /\s\S+\s\S+\s/.test(written)) return null;
  const [known] = await pricesOf(ctx, [written]);
  if (known === undefined) return null;
  const alerts = [
    alertButton(known, `Alert at ${signed(5, 0)}`, 1.05),
    alertButton(known, `Alert at ${signed(-5, 0)}`, 0.95),
  ];
  return {
    answer: [[{ bold: line(known) }, `\n${dateTime(known.observedAt)} (${known.source})`]],
    buttons: [alerts, [{ text: "Again", command: `price ${known.token}` }]],
  };
}

export async function priceCommand(ctx: ActionCtx, argument: string): Promise<Outcome> {
  return (
    (await priceOutcome(ctx, argument === "" ? "BTC" : argument)) ??
    reply("I have no price for that. Try ", { command: "price" }, " SOL. I follow the 100 largest coins.")
  );
}

/** Three live prices, with buttons. */
export async function startOutcome(ctx: ActionCtx): Promise<Outcome> {
  const known = await pricesOf(ctx, ["BTC", "ETH", "SOL"]);
  const [first] = known;
  const set =
    first === undefined
      ? { text: "Set an alert", command: "alert" }
      : alertButton(first, "Set an alert", 1.05);
  return {
    answer: [
      [{ bold: "Welcome!" }, ...known.map((one) => `\n${line(one)}`)],
      [
        "Tell me in your own words, in any language, what you want to be alerted to: “wake me when SOL is above 300”.",
      ],
      ["A coin's name alone is its price. All I can do: ", { command: "help" }],
    ],
    buttons: [[set, { text: "Signals", command: "signals" }, { text: "Portfolio", command: "portfolio" }]],
  };
}
