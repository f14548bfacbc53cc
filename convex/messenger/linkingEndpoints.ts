import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import { equalBytes } from "../lib/security/crypto";
import { isSet, optional } from "../lib/env";
import { AppError } from "../lib/errors";
import { EXAMPLE_ADDRESS, EXAMPLE_USER } from "../lib/http/described";
import { endpoint, type MountedEndpoint, type RequestHead } from "../lib/http/endpoint";
import { absentWhenEmpty, atMost, text } from "../lib/http/input";
import { codeHash } from "./codes";
import { charge } from "../lib/limits/charges";
import type { Account } from "./links";
import { ensureWallet } from "../wallets/model";
import type { ActionCtx } from "../_generated/server";

/** Links between messenger accounts and users, for bots that are not the service's own. */

const messengerId = z
  .union(
    [
      z
        .string()
        .trim()
        .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/),
      z.int().nonnegative(),
    ],
    "must be a messenger account's id",
  )
  .transform(String)
  .describe("The messenger's id of the account: up to 64 letters, digits, _ and -, or a number.");

/**
 * If the operator has set a secret, only bots that have it can link accounts and look them up.
 * @throws AppError `unauthorized`
 */
function guard({ header }: RequestHead): void {
  const secret = optional("MESSENGER_CONNECT_SECRET");
  if (secret === undefined) return;
  const sent = /^Bearer +(\S+)$/i.exec(header("authorization")?.trim() ?? "")?.[1] ?? "";
  if (equalBytes(utf8ToBytes(sent), utf8ToBytes(secret))) return;
  throw new AppError(
    "unauthorized",
    "This service accepts links only from bots that have its secret: Authorization: Bearer <secret>",
  );
}

const BOTS_SECRET = {
  Authorization:
    "`Bearer <secret>`: the operator's secret for bots that link accounts. Needed if the operator has set one, otherwise ignored.",
};
const NO_SECRET = "The operator has set a secret for bots that link accounts, and it was not sent.";

const confirmed = z
  .boolean()
  .describe(
    "Whether the link is proved: by the account, in its chat with the service's own bot, or by a bot that has the operator's secret. The service's own notices, buttons and trades rely on confirmed links only.",
  );

const connect: MountedEndpoint = endpoint({
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
    linkToken: text(64).describe("The code that the user created in the web application."),
    messengerId,
    messengerUsername: absentWhenEmpty(atMost(64).trim()).describe(
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
    const account = { codeHash: codeHash(linkToken), messengerId, messengerUsername, by };
    const { walletAddress } = await connectAccount(ctx, account, caller.address);
    return { success: true as const, walletAddress };
  },
});

const wallet: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/messenger/wallet",
  summary: "The user and custody wallet that a messenger account is linked to.",
  guard,
  headers: BOTS_SECRET,
  errors: { unauthorized: NO_SECRET },
  // Ids of accounts can be tried one after another, so each guess is counted.
  limit: "settings",
  example: {
    input: { messengerId: "123456789" },
    output: { linked: true, confirmed: true, walletAddress: EXAMPLE_ADDRESS, userId: EXAMPLE_USER },
  },
  input: z.object({ messengerId }),
  returns: z.object({
    linked: z.boolean(),
    confirmed,
    walletAddress: z.string().nullable(),
    userId: z.string().nullable(),
  }),
  handler: async (ctx, { messengerId }) => {
    const link = await ctx.runQuery(internal.messenger.links.find, { messengerId });
    if (link === null) return { linked: false, confirmed: false, walletAddress: null, userId: null };
    const { userId, named, confirmed } = link;
    const found = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
    return { linked: true, confirmed, walletAddress: found?.address ?? null, userId: named };
  },
});

/**
 * Links a messenger account to the user who made the code, and uses the code up. For actions. Each call counts as a
 * guess of its sender: in the bot this is the account, elsewhere the network address, because anybody can name an
 * account.
 * @returns The user, and the address of their custody wallet, which is created if there is none.
 * @throws AppError `not_found` if the code is unknown, expired or used; `conflict` if the account or the user has a
 * link that cannot be replaced; `rate_limited`, `not_configured`.
 */
export async function connectAccount(
  ctx: ActionCtx,
  { codeHash, messengerId, messengerUsername, by }: Account,
  address: string | null,
): Promise<{ userId: string; walletAddress: string }> {
  await charge(
    ctx,
    "link",
    by === "account" ? { userId: `messenger:${messengerId}`, address: null } : { address },
  );
  // The wallet is created first, so that a linked account always has one, even if this is interrupted.
  const account = { codeHash, messengerId, by };
  const userId = await ctx.runQuery(internal.messenger.links.codeOwner, { ...account, now: Date.now() });
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.messenger.links.link, {
    ...account,
    ...(messengerUsername === undefined ? {} : { messengerUsername }),
  });
  return { userId, walletAddress: wallet.address };
}

export const linkingEndpoints: MountedEndpoint[] = [connect, wallet];
