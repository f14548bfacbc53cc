import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_ADDRESS, EXAMPLE_USER } from "../lib/examples";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, atMost, text } from "../lib/input";
import { codeHash } from "../messenger/codes";
import { connectAccount } from "./linking";

/** Links between messenger accounts and users, for bots that are not the service's own. */

const messengerId = z
  .union([z.string(), z.int()], "must be a messenger account's id")
  .transform((value) => String(value).trim())
  .pipe(z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/, "must be a messenger account's id"))
  .meta({
    description: "The messenger's id of the account.",
    accepts: () => ({
      anyOf: [
        { type: "string", pattern: String.raw`^\s*[A-Za-z0-9_][A-Za-z0-9_-]{0,63}\s*$` },
        { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      ],
    }),
  });

const connect: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/messenger/connect",
  summary: "Links a messenger account to the signed-in user who made the code, and to that user's wallet.",
  description:
    "For a bot to call when somebody sends it a code. A code is good for 10 minutes and one link; every call counts as a guess at one. The user's custody wallet is created when there is none. Anybody can call this with any account's id: the account is shown and sent nothing of the user's, and a newer code replaces the link, until the account has confirmed it to the service's own bot: `/confirm` with the same code.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: {
    not_found: "The code is unknown, expired or used.",
    conflict:
      "The messenger account is linked and confirmed already, or the user of the code has confirmed another one.",
    rate_limited: "Too many codes were tried, from here or by everybody together.",
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
    const account = { codeHash: codeHash(linkToken), messengerId, messengerUsername, by: "caller" as const };
    const { walletAddress } = await connectAccount(ctx, account, caller.address);
    return { success: true as const, walletAddress };
  },
});

const wallet: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/messenger/wallet",
  summary: "The user and custody wallet that a messenger account is linked to.",
  description:
    "An account that is not linked, or has not confirmed its link to the service's own bot, has `linked: false`, and null for the other two.",
  needs: [],
  // Accounts' ids can be counted through: a guess costs something.
  limit: "settings",
  example: {
    input: { messengerId: "123456789" },
    output: { linked: true, walletAddress: EXAMPLE_ADDRESS, userId: EXAMPLE_USER },
  },
  input: z.object({ messengerId }),
  returns: z.object({
    linked: z.boolean(),
    walletAddress: z.string().nullable(),
    userId: z.string().nullable(),
  }),
  handler: async (ctx, { messengerId }) => {
    const userId = await ctx.runQuery(internal.messenger.links.find, { messengerId });
    if (userId === null) return { linked: false, walletAddress: null, userId: null };
    const found = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
    return { linked: true, walletAddress: found?.address ?? null, userId };
  },
});

export const linkingEndpoints: MountedEndpoint[] = [connect, wallet];
