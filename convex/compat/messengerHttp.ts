import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_USER, requiredText, userId } from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { defineSettingsEndpoint } from "../messenger/http";
import { awaitDelivery } from "../messenger/notices";

/** Messenger endpoints under the names of earlier clients. */

const settings = defineSettingsEndpoint({
  path: "/user/telegram",
  summary: "Sets the user's own messenger bot and chat; now /user/messenger.",
  example: {
    userId: EXAMPLE_USER,
    telegramBotToken: "123456789:replace-with-your-bots-token",
    telegramChatId: "123456789",
  },
});

/** Longer than any answer of the service. Delivery splits it into parts. */
const MESSAGE_CHARS = 12_000;

const notify: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/user/telegram/notify",
  summary: "Sends a text to the user's own messenger.",
  limit: "card",
  input: z.object({
    userId,
    message: requiredText(MESSAGE_CHARS).describe("Plain text: markup in it is shown as it is."),
  }),
  returns: z.object({
    sent: z.boolean(),
    reason: z
      .enum(["no_config", "refused", "pending"])
      .optional()
      .describe("no_config: no chat, no linked account or no bot; pending: still on its way."),
  }),
  access: "delivery",
  handler: async (ctx, { userId, message }, { caller: { keyHash } }) => {
    const messageId = await ctx.runMutation(internal.messenger.notices.notify, {
      userId,
      message,
      ...(keyHash === undefined ? {} : { keyHash }),
    });
    if (messageId === null) return { sent: false, reason: "no_config" as const };
    const sent = await awaitDelivery(ctx, messageId);
    if (sent === true) return { sent };
    return { sent: false, reason: sent === null ? ("pending" as const) : ("refused" as const) };
  },
});

export const compatMessengerEndpoints: MountedEndpoint[] = [settings, notify];
