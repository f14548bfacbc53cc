import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { COIN, lineOf } from "../alerts/grammar";
import { lastObservation } from "../alerts/observations";
import { isMajor, symbolIn } from "../lib/money/tokens";
import { sourceName } from "../lib/publicSources";
import { signed } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime, DAY, HOUR, MINUTE } from "../lib/time";
import { factsIn, latestOf, symbolAmong } from "../market/facts";
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

/**
 * What is stored of coins, by their written symbols or names: from samples or from the list of the largest coins,
 * whichever is newer, and of the last day. `wanted`: old prices, and major coins without one; `isOld`: new coins may be
 * missing.
 */
export const stored = internalQuery({
  args: { written: v.array(v.string()), now: v.number() },
  returns: v.object({ known: v.array(vKnown), wanted: v.array(v.string()), isOld: v.boolean() }),
  handler: async (ctx, { written, now }) => {
    const row = await latestOf(ctx, LIST, now);
    const facts = row === null ? [] : factsIn(row);
    const known: Known[] = [];
    const wanted: string[] = [];
    for (const one of written) {
      const name = symbolIn(one.trim());
      const token = symbolAmong(facts, name) ?? name;
      if (!COIN.test(token)) continue;
      const factOf = (kind: "price" | "change24h") =>
        facts.find((fact) => fact.subject === token && fact.kind === kind && now - fact.observedAt < DAY);
      const sample = await lastObservation(ctx, `price:${token}`, now);
      const listed = factOf("price");
      const isSampled = (sample?.observedAt ?? 0) >= (listed?.observedAt ?? 1);
      const { value, observedAt, source } = (isSampled ? sample : listed) ?? { value: null, observedAt: 0 };
      const day = factOf("change24h");
      // The list has the price of exactly a day ago; samples may have one of an hour earlier.
      const isListed = !isSampled || now - (day?.observedAt ?? 0) < 2 * FRESH_MS;
      const change = (isListed ? day : await lastObservation(ctx, `change:${token}:24`, now))?.value;
      if (typeof value === "number" && source !== undefined) {
        const moved = typeof change === "number" ? change : null;
        known.push({ token, priceUsd: value, change: moved, observedAt, source: sourceName(source) });
      }
      if (now - observedAt > FRESH_MS && (observedAt > 0 || isMajor(token))) wanted.push(token);
    }
    return { known, wanted, isOld: now - (row?.collectedAt ?? 0) > HOUR };
  },
});

/** Stored prices; those that are old, and those of major coins that are not stored yet, are asked for first. */
async function pricesOf(ctx: ActionCtx, written: string[]): Promise<Known[]> {
  const look = () => ctx.runQuery(internal.bot.prices.stored, { written, now: Date.now() });
  const { known, wanted, isOld } = await look();
  if (wanted.length === 0 && !isOld) return known;
  // Loaded by the action that needs it: this file's query does without.
  const { sampleCoins } = await import("../alerts/desk");
  await sampleCoins(ctx, wanted);
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

const LONGEST_NAME = 40;

/** The answer with a coin's price, by its written symbol or name; `null` if no such coin has a price. */
export async function priceOutcome(ctx: ActionCtx, written: string): Promise<Outcome | null> {
  if (written.length > LONGEST_NAME) return null;
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
