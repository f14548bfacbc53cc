import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { EXAMPLE_USER, USER_TOKEN, USER_TOKEN_ERRORS } from "../lib/http/described";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { chatId, userId, withAliases } from "../lib/http/input";
import type { Caller } from "../lib/limits/callers";
import { equalBytes } from "../lib/security/crypto";
import { assertMay } from "../accounts/access";
import { botTokenSeal } from "./model";

/** A user's own bot and chat, as endpoints take them. */

const botToken = z
  .string("must be a string")
  .trim()
  .regex(/^[\x21-\x7e]{20,128}$/, "must be 20 to 128 printable characters")
  .describe("Token of the user's own messenger bot; an empty one goes back to the default bot.");

const blank = z.literal("");

/** `""` clears a setting. */
const clearable = <Shape extends z.ZodType>(shape: Shape, problem: string) =>
  z
    .preprocess(
      (value) => (typeof value === "string" ? value.trim() : value),
      z.union([blank, shape], problem),
    )
    .optional();

/** Either field may be sent alone; an empty one clears it. */
const settingsInput = withAliases(
  { telegramBotToken: "messengerBotToken", telegramChatId: "messengerChatId" },
  z.object({
    userId,
    messengerBotToken: clearable(botToken, "must be 20 to 128 printable characters, or empty"),
    messengerChatId: clearable(chatId, "must be a numeric chat id or @channel, or empty"),
  }),
);

type Settings = z.output<typeof settingsInput>;

/**
 * Stores a user's settings, with the bot token sealed.
 * @throws AppError `unauthorized` or `forbidden` for an id with an owner, unless its owner's token or a key was sent,
 * because the chat gets the reports; `not_configured` if a token is set without a key; `rate_limited`.
 */
async function configure(ctx: ActionCtx, settings: Settings, caller: Caller): Promise<void> {
  const { keyHash } = caller;
  await ctx.runMutation(internal.messenger.configs.save, {
    ...(await changesOf(ctx, settings)),
    ...(keyHash === undefined ? {} : { keyHash }),
    userId: settings.userId,
  });
}

async function changesOf(
  ctx: ActionCtx,
  { userId, messengerBotToken, messengerChatId }: Settings,
): Promise<{ sealedBotToken?: string | null; chatId?: string | null }> {
  const sealed = messengerBotToken ? await sealedToken(ctx, userId, messengerBotToken) : null;
  return {
    ...(messengerBotToken === undefined || sealed === undefined ? {} : { sealedBotToken: sealed }),
    ...(messengerChatId === undefined ? {} : { chatId: messengerChatId === "" ? null : messengerChatId }),
  };
}

/** `undefined` if this token is set already. The code that seals is loaded only if there is something to seal. */
async function sealedToken(ctx: ActionCtx, userId: string, botToken: string): Promise<string | undefined> {
  const { open, seal } = await import("../lib/security/seals");
  const context = botTokenSeal(userId);
  const stored = await ctx.runQuery(internal.messenger.configs.sealedToken, { userId });
  // A token that cannot be opened is replaced.
  const opened = stored === null ? null : await open(stored, context).catch(() => null);
  const isHeld = opened !== null && equalBytes(utf8ToBytes(opened), utf8ToBytes(botToken));
  return isHeld ? undefined : seal(botToken, context);
}

/** The endpoint that takes them, under any of its names. */
export function settingsEndpoint(named: {
  path: `/${string}`;
  summary: string;
  description?: string;
  example: Record<string, string>;
}): MountedEndpoint {
  return endpoint({
    methods: ["POST"],
    path: named.path,
    summary: named.summary,
    description:
      named.description ??
      "If the user has set a bot of their own, it sends their reports; otherwise the default bot does. The token is sealed before it is stored, never returned and not tested: if the messenger refuses it for the next card, `deliveryProblem` of `/mcp/research/status` says so. A private chat that its account has confirmed as another user's gets nothing through the default bot.",
    limit: "settings",
    // The person who sets the chat can read the reports.
    access: (ctx, { userId }, caller) => assertMay(ctx, userId, "delivery", caller),
    errors: USER_TOKEN_ERRORS,
    headers: USER_TOKEN,
    example: { input: named.example, output: { success: true } },
    input: settingsInput,
    returns: z.object({ success: z.literal(true) }),
    handler: async (ctx, input, { caller }) => {
      await configure(ctx, input, caller);
      return { success: true as const };
    },
  });
}

export const messengerEndpoints: MountedEndpoint[] = [
  settingsEndpoint({
    path: "/user/messenger",
    summary:
      "Sets the user's own messenger bot and chat; either field may be sent alone, an empty one clears it.",
    example: {
      userId: EXAMPLE_USER,
      messengerBotToken: "123456789:replace-with-your-bots-token",
      messengerChatId: "123456789",
    },
  }),
];
