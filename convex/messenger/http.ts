import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { EXAMPLE_USER, chatId, userId, withAliases } from "../platform/http/input";
import { isEqualBytes } from "../lib/crypto";
import { getBotTokenSeal } from "./tables";

/** Settings of a user's own bot and chat. */

/** Either field may be sent alone; an empty one clears it. */
const settingsInput = withAliases(
  { telegramBotToken: "messengerBotToken", telegramChatId: "messengerChatId" },
  z.object({
    userId,
    messengerBotToken: z
      .string("must be a string")
      .trim()
      .regex(/^(?:[\x21-\x7e]{20,128})?$/, "must be 20 to 128 printable characters, or empty")
      .describe("Token of the user's own messenger bot; an empty one goes back to the default bot.")
      .optional(),
    messengerChatId: z
      .union([z.literal(""), chatId], "must be a numeric chat id or @channel, or empty")
      .optional(),
  }),
);

type Settings = z.output<typeof settingsInput>;

/** The changes to a user's settings, with the bot token sealed. */
async function buildChanges(ctx: ActionCtx, { userId, messengerBotToken, messengerChatId }: Settings) {
  const sealed = messengerBotToken ? await sealNewToken(ctx, userId, messengerBotToken) : null;
  return {
    ...(messengerBotToken === undefined || sealed === undefined ? {} : { sealedBotToken: sealed }),
    ...(messengerChatId === undefined ? {} : { chatId: messengerChatId === "" ? null : messengerChatId }),
  };
}

/** `undefined` if this token is set already. The sealing code is loaded only if there is something to seal. */
async function sealNewToken(ctx: ActionCtx, userId: string, botToken: string): Promise<string | undefined> {
  const { openSeal, seal } = await import("../lib/seals");
  const context = getBotTokenSeal(userId);
  const stored = await ctx.runQuery(internal.messenger.notices.getSealedToken, { userId });
  // A token that cannot be opened is replaced.
  const opened = stored === null ? null : await openSeal(stored, context).catch(() => null);
  const isHeld = opened !== null && isEqualBytes(utf8ToBytes(opened), utf8ToBytes(botToken));
  return isHeld ? undefined : seal(botToken, context);
}

/** Defines the settings endpoint, under one of its names. */
export function defineSettingsEndpoint(described: {
  path: `/${string}`;
  summary: string;
  description?: string;
  example: Record<string, string>;
}): MountedEndpoint {
  return defineEndpoint({
    methods: ["POST"],
    path: described.path,
    summary: described.summary,
    description:
      described.description ??
      "If the user has set a bot of their own, it sends their reports; otherwise the default bot does. The token is sealed before it is stored, never returned and not tested: if the messenger refuses it for the next card, `deliveryProblem` of `/mcp/research/status` says so. A private chat that its account has confirmed as another user's gets nothing through the default bot.",
    limit: "settings",
    // The person who sets the chat can read the reports.
    access: "delivery",
    example: { input: described.example, output: { success: true } },
    input: settingsInput,
    returns: z.object({ success: z.literal(true) }),
    handler: async (ctx, input, { caller: { keyHash } }) => {
      const key = keyHash === undefined ? {} : { keyHash };
      const changes = await buildChanges(ctx, input);
      await ctx.runMutation(internal.messenger.notices.save, { userId: input.userId, ...changes, ...key });
      return { success: true as const };
    },
  });
}

export const messengerEndpoints: MountedEndpoint[] = [
  defineSettingsEndpoint({
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
