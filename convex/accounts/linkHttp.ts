import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getOptional, isSet } from "../lib/env";
import { AppError } from "../lib/errors";
import { type MountedEndpoint, defineEndpoint } from "../platform/http/endpoint";
import {
  EXAMPLE_ADDRESS,
  requiredText,
  optionalUnlessBlank,
  maxLengthString,
  EXAMPLE_USER,
} from "../platform/http/input";
import { charge } from "../platform/limits/charges";
import { isEqualBytes, derivePseudonym } from "../lib/crypto";
import type { MessengerAccount } from "../messenger/linking";
import { hashCode } from "../messenger/model";
import { ensureWallet } from "../wallets/custody/wallets";

/** Links between messenger accounts and users, for other bots than the service's own. */

const ACCOUNT = "must be a messenger account's id: up to 64 letters, digits, _ and -, or a number";
const accountName = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/, ACCOUNT);
const messengerId = z
  .union([accountName, z.int().nonnegative()], ACCOUNT)
  .transform(String)
  .describe("The messenger's id of the account: up to 64 letters, digits, _ and -, or a number.");
/**
 * If the operator has set a secret, only bots that have it can link accounts and look them up.
 * @throws AppError `unauthorized`
 */
function guard(headers: Headers): void {
  const secret = getOptional("MESSENGER_CONNECT_SECRET");
  const sent = /^Bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1] ?? "";
  if (secret === undefined || isEqualBytes(utf8ToBytes(sent), utf8ToBytes(secret))) return;
  throw new AppError(
    "unauthorized",
    "This service accepts links only from bots that have its secret: send it as Authorization: Bearer <secret>",
  );
}
const BOTS_SECRET = {
  Authorization:
    "`Bearer <secret>`: the operator's secret for bots that link accounts. Needed if the operator has set one, otherwise ignored.",
};
const NO_SECRET = "The operator has set a secret for bots that link accounts, and it was not sent.";
const connect: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/messenger/connect",
  summary: "Links a messenger account to the signed-in user who made the code, and to that user's wallet.",
  description:
    "A bot calls this when somebody sends it a code, which is valid for 10 minutes and one link; every call counts as a guess. Without a secret of the operator the link is not confirmed: the account gets nothing of the user's until it sends `/connect` with the same code to the service's own bot. Only the account, through that bot, or the signed-in user replaces or ends a link.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  guard,
  headers: BOTS_SECRET,
  errors: {
    unauthorized: NO_SECRET,
    not_found: "The code is unknown, expired or used.",
    conflict: "The messenger account or the user of the code has a link already, confirmed or not.",
    rate_limited: "Too many codes were tried from here.",
  },
  example: {
    input: { linkToken: "K7QM2XWD", messengerId: "123456789", messengerUsername: "alice" },
    output: { success: true, walletAddress: EXAMPLE_ADDRESS },
  },
  input: z.object({
    linkToken: requiredText(64).describe("The code that the user created in the web application."),
    messengerId,
    messengerUsername: optionalUnlessBlank(maxLengthString(64).trim()).describe(
      "The account's name, for the user to recognise it by.",
    ),
  }),
  returns: z.object({
    success: z.literal(true),
    walletAddress: z.string().describe("The user's custody wallet"),
  }),
  handler: async (ctx, { linkToken, messengerId, messengerUsername }, { caller }) => {
    // If there is a secret, the guard has checked it.
    const by = isSet("MESSENGER_CONNECT_SECRET") ? ("bot" as const) : ("caller" as const);
    const account = { codeHash: hashCode(linkToken), messengerId, messengerUsername, by };
    const { walletAddress } = await connectAccount(ctx, account, caller.address);
    return { success: true as const, walletAddress };
  },
});
const wallet: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/messenger/wallet",
  summary: "The user and custody wallet that a messenger account is linked to.",
  description:
    "A confirmed account's `userId` could be used like a password, and ids of messenger accounts can be guessed: without a secret of the operator, its pseudonym stands here; for an account whose login is the chat itself, always.",
  guard,
  headers: BOTS_SECRET,
  errors: { unauthorized: NO_SECRET },
  limit: "account",
  example: {
    input: { messengerId: "123456789" },
    output: { linked: true, confirmed: true, walletAddress: EXAMPLE_ADDRESS, userId: EXAMPLE_USER },
  },
  input: z.object({ messengerId }),
  returns: z.object({
    linked: z.boolean(),
    confirmed: z
      .boolean()
      .describe(
        "Whether the account has proved the link in its chat with the service's own bot, or a bot with the operator's secret has. Notices, buttons and trades rely on confirmed links only.",
      ),
    walletAddress: z.string().nullable(),
    userId: z
      .string()
      .nullable()
      .describe(
        "The user's id; of a confirmed link only for bots with the operator's secret, of a chat's own account for none: else a pseudonym, `usr_…`, which opens nothing",
      ),
  }),
  handler: async (ctx, { messengerId }) => {
    const link = await ctx.runQuery(internal.messenger.linking.findLinkedAccount, { messengerId });
    if (link === null) return { linked: false, confirmed: false, walletAddress: null, userId: null };
    const { userId, accountName, confirmed, isOfChat } = link;
    const found = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, {
      userId,
      kind: "custody",
    });
    const isShown = !isOfChat && (!confirmed || isSet("MESSENGER_CONNECT_SECRET"));
    const publicId = isShown ? accountName : derivePseudonym(userId);
    return { linked: true, confirmed, walletAddress: found?.address ?? null, userId: publicId };
  },
});

/**
 * Links a messenger account to the user who made the code, and uses the code up. For actions. Each call counts as a
 * guess: in the bot by the account, elsewhere by the network address, because any caller can name an account.
 * @returns The user, and the address of their custody wallet, which is created if there is none.
 * @throws AppError `not_found` if the code is unknown, expired or used; `conflict` if the account or the user has a
 * link that cannot be replaced; `rate_limited`, `not_configured`.
 */
export async function connectAccount(
  ctx: ActionCtx,
  { codeHash, messengerId, messengerUsername, by }: MessengerAccount,
  address: string | null,
): Promise<{ userId: string; walletAddress: string }> {
  const guesser = by === "account" ? { userId: `messenger:${messengerId}`, address: null } : { address };
  await charge(ctx, "link", guesser);
  // The wallet is created first, so that a linked account always has one, even if this is interrupted.
  const account = { codeHash, messengerId, by };
  const userId = await ctx.runQuery(internal.messenger.linking.getCodeOwner, { ...account, now: Date.now() });
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.messenger.linking.link, {
    ...account,
    ...(messengerUsername === undefined ? {} : { messengerUsername }),
  });
  return { userId, walletAddress: wallet.address };
}

export const linkEndpoints: MountedEndpoint[] = [connect, wallet];
