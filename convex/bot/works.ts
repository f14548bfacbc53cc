import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { lineOf } from "../alerts/grammar";
import { required } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { checksummed } from "../lib/money/base";
import { symbolIn } from "../lib/money/coins";
import { deadlines } from "../lib/outside/deadlines";
import { sourceName } from "../lib/publicSources";
import { pseudonymOf } from "../lib/security/crypto";
import { dollars, signed } from "../lib/text/numbers";
import { dateTime, DAY, MINUTE, roundedNow } from "../lib/time";
import { gather } from "../market/collectors";
import { symbolAmong } from "../market/facts";
import type { Button } from "../messenger/format";
import { connectAccount } from "../messenger/http";
import { readCommand, unitsOf } from "../social/commands";
import { portfolioOf } from "../wallets/holdings";
import { NO_WALLET } from "../wallets/model";
import { foundFor } from "../wallets/orders/desk";
import { recipientProblem } from "../wallets/tokens";
import type { vSymbol } from "../wallets/tables";
import { ensureWallet } from "../wallets/custody/wallets";
import { ALREADY_LINKED, linkedCard, needsAccount, portfolioCard, TOO_MANY_CODES, USAGE } from "./cards";
import { bareName, reply, type Outcome, type Request } from "./commands";

/** Commands that ask providers, but no model. Every one can be repeated: it is, after it was cut off. */

type Work = (ctx: ActionCtx, request: Request) => Promise<Outcome>;

export const works = {
  price: async (ctx, { argument }) =>
    (await priceOutcome(ctx, bareName(argument) === "" ? "BTC" : argument)) ??
    reply("I have no price for that. Try ", { command: "price" }, " SOL. I follow the 100 largest coins."),

  /** A deep link (t.me/<bot>?start=CODE) arrives as this command. Anybody can have sent it, so it only asks. */
  start: (ctx, request) =>
    request.argument === "" || !request.sender.alone ? welcome(ctx) : linking(ctx, request, "asks"),
  connect: (ctx, request) => linking(ctx, request, "links"),

  portfolio: async (ctx, { userId }) => {
    const { address } = await ensureWallet(ctx, { userId, kind: "custody" });
    return { answer: portfolioCard({ address, ...(await portfolioOf(ctx, address)) }) };
  },

  swap: ordering("swap"),
  send: ordering("send"),
} satisfies Record<string, Work>;

/** The work of a command that orders. */
function ordering(verb: string): Work {
  return async (ctx, request) =>
    (await ordered(ctx, request, `${verb} ${request.argument}`)) ?? reply(...USAGE);
}

type Known = { token: string; priceUsd: number; change: number | null; observedAt: number; source: string };

const LIST = { collector: "markets", subject: "" } as const;

/** The prices of coins, by their written symbols or names: of the list of the largest, or the last sample if that is newer. */
async function pricesOf(ctx: ActionCtx, written: readonly string[]): Promise<Known[]> {
  await gather(ctx, [LIST], { freshMs: 5 * MINUTE, waitMs: deadlines.grounding });
  const query = { wanted: [LIST], withinMs: DAY, at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.market.facts.latest, query);
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

function alertButton({ token, priceUsd }: Known, text: string, factor: number): Button {
  const direction = factor > 1 ? "above" : "below";
  // Three significant digits, as a person would say it.
  const levelUsd = Number((priceUsd * factor).toPrecision(3));
  return { text, command: `alert ${lineOf({ kind: "price", token, direction, levelUsd })}` };
}

/** The answer with a coin's price, by its written symbol or name; `null` if no such coin has a price. */
export async function priceOutcome(ctx: ActionCtx, written: string): Promise<Outcome | null> {
  const [known] = await pricesOf(ctx, [bareName(written)]);
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

/** The bot's first message: three live prices, with buttons. */
async function welcome(ctx: ActionCtx): Promise<Outcome> {
  const known = await pricesOf(ctx, ["BTC", "ETH", "SOL"]);
  const set = known.slice(0, 1).map((first) => alertButton(first, "Set an alert", 1.05));
  return {
    answer: [
      [{ bold: "Welcome!" }, ...known.map((one) => `\n${line(one)}`)],
      [
        "Tell me in your own words, in any language, what you want to be alerted to: “wake me when SOL is above 300”.",
      ],
      ["A coin's name alone is its price. All I can do: ", { command: "help" }],
    ],
    buttons: [[...set, { text: "Signals", command: "signals" }, { text: "Portfolio", command: "portfolio" }]],
  };
}

/** Links the account with a code from the web application, or asks first; the job has only the code's hash. */
async function linking(ctx: ActionCtx, request: Request, way: "asks" | "links"): Promise<Outcome> {
  const { sender, argument: codeHash, userId: linked, now } = request;
  const { messengerId, messengerUsername } = sender;
  if (codeHash === "") return linked === "" ? needsAccount(ctx, messengerId) : reply(...ALREADY_LINKED);
  required("WALLET_ENCRYPTION_KEY");
  const account = { codeHash, messengerId, by: "account" as const };
  try {
    if (way === "links") {
      const { userId, walletAddress } = await connectAccount(ctx, { ...account, messengerUsername }, null);
      return { answer: linkedCard(pseudonymOf(userId), walletAddress) };
    }
    await charge(ctx, "link", { userId: `messenger:${messengerId}`, address: null });
    const userId: string = await ctx.runQuery(internal.messenger.linking.codeOwner, { ...account, now });
    const title = { bold: `🔐 Link this chat to ${pseudonymOf(userId)}?` };
    const question = reply(title, "\nThe web application shows you this name if you made this code.");
    return { ...question, buttons: [[{ text: "Link", command: `connect ${codeHash}` }]] };
  } catch (error) {
    const code = failureOf(error)?.code;
    if (code === "rate_limited") return reply(TOO_MANY_CODES);
    if (code === "conflict" && linked !== "") return reply(...ALREADY_LINKED);
    throw error;
  }
}

type Symbol = Infer<typeof vSymbol>;
/** What somebody orders in their chat; the amount in digits of the smallest unit. */
type Order =
  | { kind: "send"; token: Symbol; toAddress: string; amount: string }
  | { kind: "swap"; fromToken: Symbol; toToken: Symbol; amount: string };

/** Words that begin an order; a message without one of them is a question. */
const VERB = /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|send|transfer|pay)\s/i;

/** What to write for an amount with a comma, which some people write as the decimal mark, and others between thousands. */
function commaExplained(text: string): Outcome | null {
  const [amount = "", whole = "", part = ""] = /(\d+),(\d+)/.exec(text) ?? [];
  if (amount === "" || orderIn(text.replace(amount, "1")) === null) return null;
  const thousands = part.length === 3 && !/^0/.test(whole) ? ` or ${whole}${part}` : "";
  return reply(`I cannot tell what ${amount} is: write ${whole}.${part}${thousands}.`);
}

/** The order in a text, by the grammar of posts; `null` if it orders nothing that could be carried out. */
function orderIn(text: string): Order | null {
  if (!VERB.test(text) || text.includes(",")) return null;
  const reading = readCommand(text);
  if (reading.kind !== "command") return null;
  const { fromToken, toToken, unit, recipient, ...command } = reading.command;
  const amount = unit === fromToken ? unitsOf(command.amount, fromToken)?.toString() : undefined;
  if (amount === undefined) return null;
  if (toToken !== null) return { kind: "swap", fromToken, toToken, amount };
  const toAddress = recipient === null ? null : checksummed(recipient);
  if (recipient === null || toAddress === null || recipientProblem(recipient) !== null) return null;
  return { kind: "send", token: fromToken, toAddress, amount };
}

/** An order in words, rehearsed: its own card asks, and a tap carries it out. `null` for words that are no order. */
export async function ordered(
  ctx: ActionCtx,
  { updateId, sender, userId }: Request,
  words: string,
): Promise<Outcome | null> {
  const order = orderIn(words);
  if (order === null) return commaExplained(words);
  await charge(ctx, "order", { userId, address: null });
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.find, { userId, kind: "custody" });
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  const { walletId, address } = wallet;
  // The same default as at the endpoint.
  const request = order.kind === "send" ? order : { ...order, slippageBps: 100 };
  const found = await foundFor(ctx, { userId, walletId, address }, request);
  await ctx.runMutation(internal.wallets.orders.questions.propose, {
    userId,
    walletId,
    request,
    messengerId: sender.messengerId,
    idempotencyKey: `chat_${updateId}`,
    ...found,
  });
  // Its card asks.
  return { answer: [] };
}
