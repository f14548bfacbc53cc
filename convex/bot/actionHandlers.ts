import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatCondition } from "../alerts/conditions";
import { getRequired } from "../lib/env";
import { getErrorData } from "../lib/errors";
import { charge } from "../platform/limits/charges";
import { resolveSymbol } from "../lib/money/coins";
import { getSourceName } from "../figures/publicSources";
import { derivePseudonym } from "../lib/crypto";
import { formatDollars, formatSignedPercent } from "../lib/text/numbers";
import { formatDateTime, DAY, MINUTE, getRoundedNow } from "../lib/time";
import { readListFacts } from "../market/listed";
import { findSymbol } from "../market/facts";
import { computeDayChange } from "../market/samples";
import type { Button } from "../messenger/format";
import { answerToggle } from "../messenger/toggles";
import { connectAccount } from "../accounts/linkHttp";
import {
  ALREADY_LINKED,
  buildLinkedCard,
  CREATE_WALLET_BUTTON,
  explainMissingAccount,
  USE_ACCOUNT_BUTTON,
} from "./cards";
import { trimName } from "./commands";
import { proposeAgain, proposeGas, answerOrderCommand } from "./orders";
import { buildQuestion, reply, type ActionRequest, type CommandOutcome } from "./outcomes";
import {
  answerChart,
  answerHistory,
  answerLogin,
  answerPaper,
  answerPortfolio,
  answerWallet,
} from "./wallet";

/** Handlers of commands that ask providers, but no model. All are idempotent: an interrupted one is run again. */
type ActionHandler = (ctx: ActionCtx, request: ActionRequest) => Promise<CommandOutcome>;

export const actionHandlers = {
  price: async (ctx, { argument }) =>
    (await answerPrice(ctx, trimName(argument) === "" ? "BTC" : argument)) ??
    reply("I have no price for that. Try ", { command: "price" }, " SOL. I follow the 100 largest coins."),

  /** A deep link (t.me/<bot>?start=CODE) arrives as this command. A stranger may have sent the link, so it only asks. */
  start: (ctx, request) =>
    request.argument === "" || !request.sender.alone ? greet(ctx, request) : answerLink(ctx, request, "asks"),
  connect: (ctx, request) => answerLink(ctx, request, "links"),

  portfolio: answerPortfolio,
  history: answerHistory,
  chart: answerChart,

  paper: answerPaper,
  wallet: answerWallet,
  login: answerLogin,
  subscribe: createToggle(""),
  switch: createToggle(""),
  unsubscribe: createToggle(" off"),

  again: proposeAgain,
  gas: proposeGas,
  swap: (ctx, request) => answerOrderCommand(ctx, request, `swap ${request.argument}`),
  send: (ctx, request) => answerOrderCommand(ctx, request, `send ${request.argument}`),
} satisfies Record<string, ActionHandler>;

/** The handler of a command about the chat's news. @param end Behind its argument. */
function createToggle(end: "" | " off"): ActionHandler {
  return (ctx, { sender, argument, isTap }) =>
    answerToggle(ctx, sender, { argument: `${argument}${end}`.trim(), isTap, isStop: end !== "" });
}

type PricedCoin = {
  token: string;
  priceUsd: number;
  change: number | null;
  observedAt: number;
  source: string;
};

/** Sampling is every five minutes: an older sample means that it has trouble. */
const LIVE_MS = 11 * MINUTE;

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
    const sample = samples.find((of) => of.token === token && now - of.takenAt <= LIVE_MS);
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
  const [known] = await findPrices(ctx, [trimName(written)]);
  if (known === undefined) return null;
  const alerts = [buildAlertButton(known, 1.05), buildAlertButton(known, 0.95)];
  return {
    answer: [[{ bold: describePrice(known) }, `\n${formatDateTime(known.observedAt)} (${known.source})`]],
    buttons: [alerts, [{ text: "Again", command: `price ${known.token}` }]],
  };
}

/** The bot's first message: three live prices, with buttons. */
async function greet(
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

/** Links the account by a code from the web application (`links`), or asks first (`asks`). The job has only the code's hash. */
async function answerLink(
  ctx: ActionCtx,
  request: ActionRequest,
  way: "asks" | "links",
): Promise<CommandOutcome> {
  const { sender, argument: codeHash, userId: linked, chatAccount, now } = request;
  const { messengerId, messengerUsername } = sender;
  if (codeHash === "") return linked === "" ? explainMissingAccount(chatAccount) : reply(...ALREADY_LINKED);
  getRequired("WALLET_ENCRYPTION_KEY");
  const account = { codeHash, messengerId, by: "account" as const };
  try {
    if (way === "links") {
      const { userId, walletAddress } = await connectAccount(ctx, { ...account, messengerUsername }, null);
      return { answer: buildLinkedCard(derivePseudonym(userId), walletAddress) };
    }
    await charge(ctx, "link", { userId: `messenger:${messengerId}`, address: null });
    const userId: string = await ctx.runQuery(internal.messenger.linking.getCodeOwner, { ...account, now });
    const meaning = "The web application shows you this name if you made this code.";
    const yes = { text: "Link", command: `connect ${codeHash}` };
    return buildQuestion(`🔐 Link this chat to ${derivePseudonym(userId)}?`, [meaning], yes);
  } catch (error) {
    const code = getErrorData(error)?.code;
    if (code === "rate_limited") return reply("Too many codes were tried. Wait a minute, then try again.");
    if (code === "conflict" && linked !== "") return reply(...ALREADY_LINKED);
    throw error;
  }
}
