import { internal } from "../../_generated/api";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { latestOf } from "../../evidence/model";
import { factsIn } from "../../evidence/sayings";
import type { Fact } from "../../evidence/tables";
import { sourceName } from "../../lib/publicSources";
import { dollars } from "../../lib/text/strings";
import { dateTime, DAY, MINUTE } from "../../lib/time";
import { isMajor, symbolIn } from "../../lib/money/tokens";
import { lastObservation } from "../../alerts/history/observations";
import { COIN } from "../../alerts/language/grammar";
import { lineOf } from "../../alerts/language/wordings";
import { signed } from "../../lib/text/numbers";
import { symbolAmong } from "../../market/sources/lists";
import type { Button, Paragraph } from "../../messenger/format";
import { reply, type Command, type Outcome, type Request } from "./command";

/** Stored prices, and the bot's first message: no model is asked for either. */

type Known = { token: string; priceUsd: number; change: number | null; observedAt: number; source: string };

const LIST = { collector: "markets", subject: "" } as const;
const FRESH_MS = 5 * MINUTE;
/** An older price does not count as the present price. */
const OLDEST_MS = DAY;

/** The facts of the largest coins; if they are old, new ones are collected for the next caller. */
async function listedFacts(ctx: MutationCtx): Promise<Fact[]> {
  const row = await latestOf(ctx, LIST);
  if (row === null || Date.now() - row.collectedAt > FRESH_MS)
    await ctx.scheduler.runAfter(0, internal.alerts.desk.observe, { subjects: ["price:SOL"] });
  return row === null ? [] : factsIn(row);
}

/**
 * The stored price of a coin, from samples or from the list of the largest coins, whichever is newer; `null` if there
 * is none.
 */
async function knownPrice(ctx: QueryCtx, token: string, facts: readonly Fact[]): Promise<Known | null> {
  const now = Date.now();
  const sample = await lastObservation(ctx, `price:${token}`, now);
  const change = sample === null ? null : await lastObservation(ctx, `change:${token}:24`, now);
  const fact = (kind: "price" | "change24h") =>
    facts.find((one) => one.subject === token && one.kind === kind && now - one.observedAt < OLDEST_MS);
  const [listed, listedChange] = [fact("price"), fact("change24h")];
  const changed = typeof listedChange?.value === "number" ? listedChange.value : null;
  if (sample !== null && sample.observedAt >= (listed?.observedAt ?? 0)) {
    const { value: priceUsd, observedAt, source } = sample;
    // The list has the price of exactly a day ago; samples may have one of an hour earlier.
    const isListed = now - (listedChange?.observedAt ?? 0) < 2 * FRESH_MS;
    const moved = isListed ? changed : (change?.value ?? changed);
    return { token, priceUsd, change: moved, observedAt, source: sourceName(source) };
  }
  if (typeof listed?.value !== "number") return null;
  const { value: priceUsd, observedAt, source } = listed;
  return { token, priceUsd, change: changed, observedAt, source };
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

/**
 * The answer with a coin's price, by its written symbol or name; `null` if no such coin has a price. If a major coin
 * has no price yet, it is fetched first, and `text` is answered then.
 */
export async function priceOutcome(
  ctx: MutationCtx,
  written: string,
  text: string,
  { isLate }: Pick<Request, "isLate">,
): Promise<Outcome | null> {
  if (written.length > 40 || /\s\S+\s\S+\s/.test(written)) return null;
  const facts = await listedFacts(ctx);
  const name = symbolIn(written.trim());
  const token = symbolAmong(facts, name) ?? name;
  if (!COIN.test(token)) return null;
  const known = await knownPrice(ctx, token, facts);
  if (known === null)
    return isMajor(token) && !isLate
      ? { answer: [], later: { kind: "prices", tokens: [token], text } }
      : null;
  const answer: Paragraph[] = [[{ bold: line(known) }, `\n${dateTime(known.observedAt)} (${known.source})`]];
  const [above, below] = [
    alertButton(known, `Alert at ${signed(5, 0)}`, 1.05),
    alertButton(known, `Alert at ${signed(-5, 0)}`, 0.95),
  ];
  return { answer, buttons: [[above, below], [{ text: "Again", command: `price ${token}` }]] };
}

const SHOWN = ["BTC", "ETH", "SOL"];

/** Three live prices, with buttons. Prices that are not stored yet are fetched first. */
export async function startOutcome(ctx: MutationCtx, { isLate }: Pick<Request, "isLate">): Promise<Outcome> {
  const facts = await listedFacts(ctx);
  const all = await Promise.all(SHOWN.map((token) => knownPrice(ctx, token, facts)));
  const known = all.filter((one) => one !== null);
  const unknown = SHOWN.filter((token) => known.every((one) => one.token !== token));
  if (unknown.length > 0 && !isLate)
    return { answer: [], later: { kind: "prices", tokens: unknown, text: "/start" } };
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

export const priceCommand: Command = {
  name: "price",
  argument: "COIN",
  summary: "What a coin costs; its name alone works too",
  access: "anywhere",
  inPlace: true,
  run: async (ctx: MutationCtx, request: Request) => {
    const coin = request.argument === "" ? "BTC" : request.argument;
    const unknown = reply(
      "I have no price for that. Try ",
      { command: "price" },
      " SOL. I follow the 100 largest coins.",
    );
    return (await priceOutcome(ctx, coin, `/price ${coin}`, request)) ?? unknown;
  },
};
