import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { chatId, userId, withAliases } from "../lib/input";
import { seal } from "../lib/sealing";
import { assertMayMove } from "../users/access";
import { botTokenSeal } from "./seals";

const botToken = z
  .string("must be a string")
  .trim()
  .regex(/^[\x21-\x7e]{20,128}$/, "must be 20 to 128 printable characters")
  .describe("Token of the user's own messenger bot; an empty one goes back to the default bot.");

/** `""` clears a setting. */
const clearable = <Shape extends z.ZodType>(shape: Shape, problem: string) =>
  z
    .preprocess(
      (value) => (typeof value === "string" ? value.trim() : value),
      z.union([z.literal(""), shape], problem),
    )
    .optional();

const settings: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/user/messenger",
  summary:
    "Sets the user's own messenger bot and chat; either field may be sent alone, an empty one clears it.",
  needs: [],
  limit: "settings",
  input: withAliases(
    { telegramBotToken: "messengerBotToken", telegramChatId: "messengerChatId" },
    z.object({
      userId,
      messengerBotToken: clearable(botToken, "must be 20 to 128 printable characters, or empty"),
      messengerChatId: clearable(chatId, "must be a numeric chat id or @channel, or empty"),
    }),
  ),
  returns: z.object({ success: z.literal(true) }),
  handler: async (ctx, { userId, messengerBotToken, messengerChatId }) => {
    // Whoever sets the chat reads the reports.
    await assertMayMove(ctx, userId);
    const sealed = messengerBotToken ? await seal(messengerBotToken, botTokenSeal(userId)) : null;
    await ctx.runMutation(internal.messenger.settings.save, {
      userId,
      ...(messengerBotToken === undefined ? {} : { sealedBotToken: sealed }),
      ...(messengerChatId === undefined ? {} : { chatId: messengerChatId === "" ? null : messengerChatId }),
    });
    return { success: true as const };
  },
});

export const messengerEndpoints: MountedEndpoint[] = [settings];
