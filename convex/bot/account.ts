import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { MutationCtx } from "../_generated/server";
import { claimByLink, OWNED } from "../accounts/claims";
import { eraseAccount } from "../accounts/data";
import { createKey, revokeKey } from "../accounts/keys";
import { listLimits } from "../accounts/overview";
import { buildPageUrl, storePageLink } from "../accounts/pageSessions";
import { changeLimit } from "../accounts/profile";
import { findOwner, getAccountName, listKeysOfAccount, type Account } from "../identity/model";
import { derivePseudonym } from "../lib/crypto";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { formatDateTime } from "../lib/time";
import { TOOLS_PATH } from "../lib/version";
import { isLogin } from "../messenger/linking";
import type { Paragraph } from "../messenger/format";
import { createSecret } from "../messenger/model";
import { SECRET_MARK } from "../messenger/tables";
import { charge } from "../platform/limits/charges";
import { findWallet } from "../wallets/model";
import { getChatAllowance } from "../wallets/orders/limits";
import { buildQuestion, reply, type CommandOutcome, type CommandRequest } from "./outcomes";

/** Answers about the account of a linked chat: its limits, its id and keys, its data. Steps of their caller's mutation. */

/** The account for a change that only its login makes. @throws AppError `forbidden`, `rate_limited` */
async function requireLogin(ctx: MutationCtx, { userId, sender }: CommandRequest): Promise<Account> {
  const row = await findOwner(ctx, userId);
  if (row === null || !(await isLogin(ctx, userId, sender.messengerId)))
    throw new AppError("forbidden", "This chat is not the account's login: do that in the web application");
  await charge(ctx, "settings", { userId, address: null });
  return row;
}

/** Asks whether this chat should own the wallet of a link (`argument` is the link's code); a tap claims it. */
export async function answerOwn(
  ctx: MutationCtx,
  { argument: code, sender, isTap }: CommandRequest,
): Promise<CommandOutcome> {
  const { userId, waits } = await claimByLink(ctx, code, sender.messengerId, isTap);
  if (isTap) {
    if (waits === null) return { answer: [[{ bold: "🔐 Owned" }], [OWNED]] };
    const later = `${waits.why}, so it is yours from ${formatDateTime(waits.until)}, unless somebody who knows its id ends your claim before. You are told here then; until then everything stays as it is.`;
    return { answer: [[{ bold: "🔐 Not yours yet" }], [later]] };
  }
  const wallet = await findWallet(ctx, userId, "custody");
  return {
    answer: [
      [{ bold: "🔐 Is this your wallet?" }],
      [wallet === null ? "There is no wallet yet." : { code: wallet.address }],
      [`Its account is called ${derivePseudonym(userId)}.`],
      [
        "If you tap Own, this chat decides: orders with only the account id wait for your tap, and nobody else can own it. Tap it only for a wallet that you, or a tool of yours, have made.",
      ],
      ...(waits === null ? [] : [[`${waits.why}, so it is yours 48 hours after your tap.`]]),
    ],
    buttons: [[{ text: "🔐 Own", command: `own ${code}` }]],
  };
}

/** Shows the limits and what is left of them; an amount sets the account's. */
export async function answerLimits(ctx: MutationCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { userId, argument, now } = request;
  if (argument !== "")
    await changeLimit(ctx, await requireLogin(ctx, request), argument.replace(/^\$\s*/, ""));
  const terms = listLimits(await findOwner(ctx, userId), await getChatAllowance(ctx, userId, now), now);
  return {
    answer: [
      [{ bold: "📏 Your limits in any 24 hours" }],
      ...terms.map(({ term, value, note = "" }) => [`${term}: ${value} ${note}`.trim()]),
      [
        "To set the first: ",
        { command: "limits" },
        " 500. A lower one holds at once, a higher one in two hours.",
      ],
    ],
  };
}

/** A link to the account's page. */
export async function answerMe(ctx: MutationCtx, { userId }: CommandRequest): Promise<CommandOutcome> {
  await charge(ctx, "settings", { userId, address: null });
  const row = await findOwner(ctx, userId);
  if (row === null)
    throw new AppError(
      "not_found",
      "Your account has no owner yet, and only an owner has a page: own it by its ownerUrl first",
    );
  const { secret, text } = createSecret("page");
  await storePageLink(ctx, row, "chat", text);
  return {
    answer: [
      [{ bold: "👤 Your page" }, "\nWhat you hold, your orders, limits, alerts and keys, and a freeze."],
      [{ words: "Open my page", href: buildPageUrl(SECRET_MARK) }],
      ["The link works once, within 10 minutes. Give it to nobody: whoever opens it sees all that."],
    ],
    secret,
  };
}

/** The scopes of the keys that the chat makes: what a button says, and what the key does. */
const KEYS = [
  { scope: "read", text: "Key that reads", does: "reads, and moves nothing" },
  { scope: "trade", text: "Key that swaps", does: "swaps without your tap" },
  { scope: "withdraw", text: "Key that sends", does: "sends to your recipients without your tap" },
] as const;

/** What an AI client is given to reach the service's tools. */
const describeTools = (site: string, userId: string): Paragraph => [
  { words: "Paste this address where your client takes a connector", href: `${site}/start#ai` },
  ":\n“",
  { code: `${site}${TOOLS_PATH}?userId=${userId}` },
  "”",
];

/** The account for AI clients and programs: the one place of the bot that shows its id. Taps make and revoke keys. */
export async function answerAi(ctx: MutationCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { userId, argument, isTap } = request;
  const [, keyId] = /^off (\S{1,40})$/.exec(argument) ?? [];
  if (isTap && keyId !== undefined) {
    await revokeKey(ctx, userId, keyId);
    return reply("That key opens nothing any more.");
  }
  const requestedKey = KEYS.find(({ scope }) => isTap && scope === argument);
  if (requestedKey !== undefined) {
    const { scope, does } = requestedKey;
    await requireLogin(ctx, request);
    const { secret, text } = createSecret("key");
    const keyRequest = { name: `${scope} from the bot`, scopes: [scope] };
    const { countsFrom } = await createKey(ctx, userId, keyRequest, text);
    const how = `with your id. From ${formatDateTime(countsFrom)} on it ${does}.`;
    return {
      answer: [
        [{ bold: "🔑 A key, shown this once" }, "\n", { code: SECRET_MARK }],
        [
          "A program sends it as “",
          { code: "Authorization: Bearer mk_…" },
          `” ${how} `,
          { command: "ai" },
          " revokes it.",
        ],
      ],
      secret,
    };
  }
  const keys = await listKeysOfAccount(ctx, userId);
  const name = await getAccountName(ctx, userId);
  return {
    answer: [
      [{ bold: "🤖 Your account in AI clients and programs" }],
      describeTools(getSiteUrl(), name),
      ["Your id, where a program asks for it: ", { code: name }],
      [
        "Whoever has it sees what you hold, and may ask for orders, which wait for your tap here. ",
        { command: "newid" },
        " replaces it.",
      ],
    ],
    buttons: [
      KEYS.map(({ scope, text }) => ({ text, command: `ai ${scope}` })),
      ...keys.map(({ _id, name }) => [{ text: `Revoke ${name}`, command: `ai off ${_id}` }]),
    ],
  };
}

/** The account's data as a file, which is made when it is sent. */
export async function answerExport(
  ctx: MutationCtx,
  { userId, sender }: CommandRequest,
): Promise<CommandOutcome> {
  await charge(ctx, "settings", { userId, address: null });
  const handle = await createFunctionHandle(internal.accounts.actions.exportData);
  return {
    answer: [["Everything that is stored about your account. It has no key of yours, and not your id."]],
    picture: { handle, subject: sender.messengerId, file: "account-data.json" },
  };
}

/** Deletes the account's data after a tap. */
export async function answerDelete(ctx: MutationCtx, request: CommandRequest): Promise<CommandOutcome> {
  if (request.isTap && request.argument === "yes") {
    await eraseAccount(ctx, await requireLogin(ctx, request));
    return reply("Your data are being deleted. The wallet stays yours, and this chat stays its login.");
  }
  return buildQuestion(
    "🗑 Delete your data?",
    [
      "Alerts, research, conversations, recipients and cards go for good. The wallet with what is in it, the records of its orders, your keys and this login stay: they protect your money. ",
      { command: "ai" },
      " revokes keys, and ",
      { command: "export" },
      " gives you a copy of your data first.",
    ],
    { text: "🗑 Delete", command: "delete yes" },
  );
}
