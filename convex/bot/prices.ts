import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatCondition } from "../alerts/conditions";
import { getSourceName } from "../figures/publicSources";
import { resolveSymbol } from "../lib/money/coins";
import { formatDollars, formatSignedPercent } from "../lib/text/numbers";
import { DAY, formatDateTime, getRoundedNow, MINUTE } from "../lib/time";
import { readListFacts } from "../market/listed";
import { findSymbol } from "../market/facts";
import { computeDayChange } from "../market/samples";
import type { Button } from "../messenger/format";
import { CREATE_WALLET_BUTTON, USE_ACCOUNT_BUTTON } from "./cards";
import { trimName } from "./commands";
import type { ActionRequest, CommandOutcome } from "./outcomes";

/** Answers with live prices: a coin's, and the greeting's. For actions. */

type PricedCoin = {
  token: string;
  priceUsd: number;
  change: number | null;
  observedAt: number;
  source: string;
};

/** Sampling is every five minutes: an older sample means that it has trouble. */
const SAMPLE_GOOD_MS = 11 * MINUTE;

/** The prices of coins by their symbols or names: the live sample, as on pages, else from the list of the largest coins. */
async function findPrices(ctx: ActionCtx, written: readonly string[]): Promise<PricedCoin[]> {
  const now = getRoundedNow();
  const facts = await readListFacts(ctx, 5 * MINUTE, DAY);
  const samples = await ctx.runQuery(internal.market.samples.listNewestPrices, {});
  return written.flatMap((one) => {
    const name = resolveSymbol(one.trim());
    const token = findSymbol(facts, name) ?? name;
    const findFact = (kind: "price" | "change24h") =>
      facts.find((fact) => fact.subject === token && fact.kind === kind);
    const listed = findFact("price");
    const sample = samples.find((of) => of.token === token && now - of.takenAt <= SAMPLE_GOOD_MS);
    const priceUsd = sample?.priceUsd ?? listed?.value;
    const { observedAt, source } = sample ?? listed ?? { observedAt: 0, source: "" };
    const measured = sample === undefined ? null : computeDayChange(sample);
    const change = measured ?? findFact("change24h")?.value;
    if (typeof priceUsd !== "number") return [];
    const moved = typeof change === "number" ? change : null;
    return [{ token, priceUsd, change: moved, observedAt, source: getSourceName(source) }];
  });
}

function describePrice({ token, priceUsd, change }: PricedCoin): string {
  const moved = change === null ? "" : ` ${change < 0 ? "▼" : "▲"} ${formatSignedPercent(change)} in 24 h`;
  return `${token} ${formatDollars(priceUsd)}${moved}`;
}

/** A button for an alert at a level near the price, which it says unless it has another text. */
function buildAlertButton({ token, priceUsd }: PricedCoin, factor: number, text?: string): Button {
  const direction = factor > 1 ? "above" : "below";
  // Three significant digits, as in speech.
  const levelUsd = Number((priceUsd * factor).toPrecision(3));
  const label = `🔔 ${direction === "above" ? "Above" : "Below"} ${formatDollars(levelUsd)}`;
  const command = `alert ${formatCondition({ kind: "price", token, direction, levelUsd })}`;
  return { text: text ?? label, command };
}

/** The answer with a coin's price, by its symbol or name; `null` without a price. */
export async function answerPrice(ctx: ActionCtx, written: string): Promise<CommandOutcome | null> {
  const [coin] = await findPrices(ctx, [trimName(written)]);
  if (coin === undefined) return null;
  const alerts = [buildAlertButton(coin, 1.05), buildAlertButton(coin, 0.95)];
  return {
    answer: [[{ bold: describePrice(coin) }, `\n${formatDateTime(coin.observedAt)} (${coin.source})`]],
    buttons: [alerts, [{ text: "Again", command: `price ${coin.token}` }]],
  };
}

/** The bot's first message: three live prices, with buttons. */
export async function greet(
  ctx: ActionCtx,
  { sender, userId, chatAccount }: ActionRequest,
): Promise<CommandOutcome> {
  const prices = await findPrices(ctx, ["BTC", "ETH", "SOL"]);
  const isKnown = userId !== "" || !sender.alone;
  const set = prices.slice(0, 1).map((first) => buildAlertButton(first, 1.05, "Set an alert"));
  return {
    answer: [
      [{ bold: "Welcome!" }, ...prices.map((one) => `\n${describePrice(one)}`)],
      [
        "Tell me in your own words, in any language, what you want to be alerted to: “wake me when SOL is above 300”.",
      ],
      ["A coin's name alone is its price. All I can do: ", { command: "help" }],
    ],
    buttons: [
      [...set, { text: "Signals", command: "signals" }],
      [
        isKnown
          ? { text: "Portfolio", command: "portfolio" }
          : chatAccount.isLogin
            ? USE_ACCOUNT_BUTTON
            : CREATE_WALLET_BUTTON,
      ],
    ],
  };
}
