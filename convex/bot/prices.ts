import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { lineOf } from "../alerts/grammar";
import { symbolIn } from "../lib/money/tokens";
import { deadlines } from "../lib/outside/deadlines";
import { sourceName } from "../lib/publicSources";
import { signed } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime, DAY, MINUTE, roundedNow } from "../lib/time";
import { gather } from "../market/collectors";
import { symbolAmong } from "../market/facts";
import type { Button } from "../messenger/format";
import { reply, type Outcome } from "./commands";

/** Prices, and the bot's first message: no model is asked for either. */

type Known = { token: string; priceUsd: number; change: number | null; observedAt: number; source: string };

const LIST = { collector: "markets", subject: "" } as const;

/** The prices of coins, by their written symbols or names: of the list of the largest, or the last sample if that is newer. */
async function pricesOf(ctx: ActionCtx, written: readonly string[]): Promise<Known[]> {
  await gather(ctx, [LIST], { freshMs: 5 * MINUTE, waitMs: deadlines.grounding });
  const query = { wanted: [LIST], withinMs: DAY, at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.market.collections.latest, query);
  const samples = await ctx.runQuery(internal.market.samples.newest, {});
  return written.flatMap((one) => {
    const name = symbolIn(one.trim());
    const token = symbolAmong(facts, name) ?? name;
    const factOf = (kind: "price" | "change24h") =>
      facts.find((fact) => fact.subject === token && fact.kind === kind);
    const listed = factOf("price");
    const sample = samples.find((of) => of.token === token && of.observedAt >= (listed?.observedAt ?? 0));
    const priceUsd = sample?.priceUsd ?? listed?.value;
    const { observedAt, source } = sample ?? listed ?? { observedAt: 0, source: "" };
    const change = factOf("change24h")?.value;
    if (typeof priceUsd !== "number") return [];
    const moved = typeof change === "number" ? change : null;
    return [{ token, priceUsd, change: moved, observedAt, source: sourceName(source) }];
  });
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
