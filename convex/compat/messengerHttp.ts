import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_USER, USER_TOKEN, USER_TOKEN_ERRORS } from "../lib/http/described";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { text, userId } from "../lib/http/input";
import { settingsEndpoint } from "../messenger/http";
import { awaitDelivery } from "../messenger/notices";

/** Messenger endpoints under the names of earlier clients. */

const settings = settingsEndpoint({
  path: "/user/telegram",
  summary: "Sets the user's own messenger bot and chat; now /user/messenger.",
  description: "The same settings as those of `/user/messenger`, which describes them.",
  example: {
    userId: EXAMPLE_USER,
    telegramBotToken: "123456789:replace-with-your-bots-token",
    telegramChatId: "123456789",
  },
});

/** Longer than any answer of the service. The messenger gets it in parts. */
const MESSAGE_CHARS = 12_000;

const notify: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/user/telegram/notify",
  summary: "Sends a text to the user's own messenger.",
  description:
    "The user's own bot sends it, or otherwise the default bot, to the chat that the user has set or the account that they have linked; it never goes to the service's own chat. The answer waits up to 8 seconds for the delivery.",
  limit: "card",
  errors: USER_TOKEN_ERRORS,
  headers: USER_TOKEN,
  example: {
    input: { userId: EXAMPLE_USER, message: "BTC is above 100,000 USD." },
    output: { sent: false, reason: "no_config" },
  },
  input: z.object({
    userId,
    message: text(MESSAGE_CHARS).describe("Plain text: markup in it is shown as it is."),
  }),
  returns: z.object({
    sent: z.boolean(),
    reason: z
      .enum(["no_config", "refused", "pending"])
      .optional()
      .describe(
        "Why it has not been sent. no_config: the user has set no chat and linked no account, or there is no bot; refused: the messenger did not accept it; pending: it is still on its way.",
      ),
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
