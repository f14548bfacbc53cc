import * as z from "zod/mini";
import { QUICK_MS, tool, type Tool } from "../tool";

const SETTINGS = ["messengerBotToken", "messengerChatId", "telegramBotToken", "telegramChatId"];

const setTelegram = tool({
  name: "set_telegram",
  title: "Set up the messenger bot",
  description:
    "Sets where the user's reports and alerts go: their own bot (messengerBotToken, also telegramBotToken), their chat (messengerChatId, also telegramChatId), or both; what is left out stays, an empty text clears. Overwrites the earlier setting. The bot token is sealed and never shown again.",
  endpoint: { method: "POST", path: "/user/messenger" },
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  repeats: "freely",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({ success: z.literal(true) }),
  text: (_answer, input) =>
    SETTINGS.some((name) => input[name] !== undefined && input[name] !== null)
      ? "The messenger settings are saved."
      : "Nothing was changed: neither a bot token nor a chat was given.",
});

export const messengerTools: Tool[] = [setTelegram];
