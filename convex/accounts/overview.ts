import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { describeAlert } from "../alerts/cards";
import { listUserAlerts } from "../alerts/model";
import { type Account, getMode, isFrozen, listKeysOfAccount, parseMessengerLogin } from "../identity/model";
import { derivePseudonym } from "../lib/crypto";
import { toUsd } from "../lib/money/amounts";
import { formatUsd } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { formatDate, formatDateTime } from "../lib/time";
import { findConfig, findLink } from "../messenger/model";
import { toPayer } from "../wallets/book";
import { findWallet } from "../wallets/model";
import { getChatAllowance } from "../wallets/orders/limits";
import { listNewestOrders, listOpenQuestions } from "../wallets/orders/summaries";
import { vPayer, vWalletKind } from "../wallets/tables";
import { findPageSession } from "./pageSessions";

/** An overview of an account, in words for its owner. It shows no secret, and not the account's id. */

/** The most orders that are shown. */
const SHOWN_ORDERS = 20;

/** An entry of a list: what it is, its state, details, and its transaction. */
const vItem = v.object({
  what: v.string(),
  note: v.string(),
  more: v.optional(v.string()),
  txHash: v.optional(v.string()),
});
export type OverviewItem = Infer<typeof vItem>;

const vTerm = v.object({ term: v.string(), value: v.string(), note: v.optional(v.string()) });
type Term = Infer<typeof vTerm>;

const vOverview = v.object({
  pseudonym: v.string(),
  /** When the session ends, epoch ms. */
  expiresAt: v.number(),
  isFrozen: v.boolean(),
  leftUsd: v.number(),
  /** Shown above everything else. */
  warnings: v.array(v.string()),
  wallets: v.array(v.object({ kind: vWalletKind, ...vPayer.fields })),
  waiting: v.array(vItem),
  orders: v.array(vItem),
  limits: v.array(vTerm),
  recipients: v.array(vItem),
  logins: v.array(vTerm),
  alerts: v.array(vItem),
  keys: v.array(vItem),
});
export type Overview = Infer<typeof vOverview>;

/** The overview for a session; `null` for one that has ended. @param args.now Epoch ms. */
export const readOverview = internalQuery({
  args: { sessionHash: v.string(), now: v.number() },
  returns: v.union(vOverview, v.null()),
  handler: async (ctx, { sessionHash, now }): Promise<Overview | null> => {
    const found = await findPageSession(ctx, "session", sessionHash, now);
    if (found === null) return null;
    const { account, row } = found;
    const { userId, recipients = [] } = account;
    const both = [await findWallet(ctx, userId, "custody"), await findWallet(ctx, userId, "basic")];
    const wallets = both.filter((wallet) => wallet !== null);
    const alerts = await listUserAlerts(ctx, userId);
    const allowance = await getChatAllowance(ctx, userId, now);
    const keys = await listKeysOfAccount(ctx, userId);
    const questions = await Promise.all(wallets.map(({ walletId }) => listOpenQuestions(ctx, walletId, now)));
    const proposed = alerts.filter(({ state }) => state === "proposed");
    return {
      pseudonym: derivePseudonym(userId),
      expiresAt: row.expiresAt,
      isFrozen: isFrozen(account, now),
      leftUsd: toUsd(allowance.account.left),
      warnings: listWarnings(account, now),
      wallets: await Promise.all(
        wallets.map(async (wallet) => {
          const kind: "basic" | "custody" = wallet.kind === "basic" ? "basic" : "custody";
          return { kind, ...(await toPayer(ctx, wallet)) };
        }),
      ),
      waiting: [
        ...questions.flat(),
        ...proposed.map((row) => ({ what: describeAlert(row), note: "not set yet" })),
      ],
      orders: await listNewestOrders(ctx, account, SHOWN_ORDERS),
      limits: listLimits(account, allowance, now),
      recipients: recipients.map(({ address, countsFrom }) => {
        const counts = countsFrom > now ? "counts from" : "since";
        return { what: address, note: `${counts} ${formatDateTime(countsFrom)}` };
      }),
      logins: await listLogins(ctx, account),
      alerts: alerts
        .filter(({ state }) => state === "active")
        .map((row) => {
          const { fired, expiresAt } = row;
          const until = expiresAt === undefined ? "" : ` until ${formatDate(expiresAt)}`;
          return {
            what: describeAlert(row),
            note: `${fired === 0 ? "set" : `fired ${formatCount(fired, "time")}`}${until}`,
          };
        }),
      keys: keys.map((key) => ({ what: key.name, note: describeKey(key, now) })),
    };
  },
});

function listWarnings(account: Account, now: number): string[] {
  const { claim, thawsAt, paper } = account;
  const until = thawsAt === undefined ? "" : ` until ${formatDateTime(thawsAt)}`;
  const frozen = `🧊 It is frozen: nothing is signed for its wallets${until}.`;
  const cancels = claim?.asked === true ? "A freeze" : "A freeze by its present login";
  const other = `🔐 It gets another login on ${formatDateTime(claim?.dueAt ?? now)}. ${cancels} cancels that.`;
  const liveFrom = paper?.liveFrom;
  const end =
    liveFrom === undefined ? "" : ` It is live from ${formatDateTime(liveFrom)}, unless you freeze it.`;
  return [
    ...(isFrozen(account, now) ? [frozen] : []),
    ...(getMode(account) === true ? [`📝 It is on paper: orders move nothing real.${end}`] : []),
    ...(claim?.login === undefined ? [] : [other]),
  ];
}

type Allowance = Awaited<ReturnType<typeof getChatAllowance>>;

/** The limits of 24 hours with what is left of them, and a change that does not count yet. */
export function listLimits(row: Account | null, { account, chat }: Allowance, now: number): Term[] {
  const usd = (micro: bigint) => `$${formatUsd(toUsd(micro))}`;
  const left = ({ most, left }: Allowance["chat"]) => ({
    value: `${usd(left)} left`,
    note: `of ${usd(most)}`,
  });
  const [, next] = row?.limits ?? [];
  return [
    { term: "All orders together", ...left(account) },
    { term: "By your chat, off your list, and lost by swaps", ...left(chat) },
    ...(next !== undefined && next.countsFrom > now
      ? [
          {
            term: `${usd(BigInt(next.dailyMicroUsd))} for all orders`,
            value: `from ${formatDateTime(next.countsFrom)}`,
          },
        ]
      : []),
  ];
}

/** The login, the linked chat, and the chat that cards go to where the owner has set one. */
async function listLogins(ctx: QueryCtx, { userId, login }: Account): Promise<Term[]> {
  const link = await findLink(ctx, userId);
  const cardsTo = (await findConfig(ctx, userId))?.chatId;
  const name = link?.messengerUsername === undefined ? link?.messengerId : `@${link.messengerUsername}`;
  const since = link === null ? {} : { note: `since ${formatDateTime(link.linkedAt)}` };
  const isOpen = link !== null && link.confirmedAt === undefined;
  return [
    { term: "Login", value: parseMessengerLogin(login) === null ? "the web application" : "the linked chat" },
    { term: "Linked chat", value: `${name ?? "none"}${isOpen ? ", not confirmed" : ""}`, ...since },
    ...(cardsTo === undefined ? [] : [{ term: "Reports and alerts go to chat", value: cardsTo }]),
  ];
}

function describeKey(key: Doc<"keys">, now: number): string {
  const { scopes, dailyMicroUsd, countsFrom, expiresAt, usedOn } = key;
  const end = expiresAt !== undefined && expiresAt <= now ? "expired" : "valid until";
  return [
    scopes.join(", "),
    ...(dailyMicroUsd === undefined
      ? []
      : [`at most $${formatUsd(toUsd(BigInt(dailyMicroUsd)))} in 24 hours`]),
    ...(countsFrom > now ? [`only reads until ${formatDateTime(countsFrom)}`] : []),
    ...(expiresAt === undefined ? [] : [`${end} ${formatDateTime(expiresAt)}`]),
    usedOn === undefined ? "never used" : `last used on ${formatDate(Date.parse(usedOn))}`,
  ].join(" · ");
}
