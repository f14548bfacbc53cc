import * as z from "zod/mini";
import { SLOW_MS, tool, type Tool } from "../tool";

const SETTINGS = ["messengerBotToken", "messengerChatId", "telegramBotToken", "telegramChatId"];

const setTelegram = tool({
  name: "set_telegram",
  title: "Set up the messenger bot",
  description:
    "Sets where the user's reports and alerts go: their own bot (messengerBotToken, also telegramBotToken), their chat (messengerChatId, also telegramChatId), or both; what is left out stays, an empty text clears. The bot token is sealed and never shown again.",
  endpoint: { method: "POST", path: "/user/messenger" },
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  repeats: "keyed",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.object({
    success: z.boolean(),
    status: z.optional(z.string()),
    idempotencyKey: z.optional(z.string()),
  }),
  text: ({ status, idempotencyKey }, input) => {
    if (status === "approved") return "Approved, and saved in a moment.";
    if (status !== undefined)
      return `NOTHING was changed yet: the owner of this userId was asked in their chat. Once they have approved it there, call again with the same input and idempotencyKey "${idempotencyKey}" to see that it is saved.`;
    return SETTINGS.some((name) => input[name] !== undefined && input[name] !== null)
      ? "The messenger settings are saved."
      : "Nothing was changed: neither a bot token nor a chat was given.";
  },
});

export const messengerTools: Tool[] = [setTelegram];
