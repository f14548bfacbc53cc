import { optional } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { open } from "../../lib/security/seals";
import { botTokenSeal } from "../seals";

/** The bot and the chat for a card. */

type Route =
  | { kind: "ready"; botToken: string; chatId: string }
  | { kind: "closed"; state: "skipped" | "failed"; reason: string };

const unsent = (reason: string): Route => ({ kind: "closed", state: "skipped", reason });

/** The user's own bot, otherwise the default one; the default chat only with the default bot. */
export async function routeOf(work: {
  userId: string;
  sealedBotToken: string | null;
  chatId: string | null;
}): Promise<Route> {
  try {
    const own =
      work.sealedBotToken === null ? null : await open(work.sealedBotToken, botTokenSeal(work.userId));
    const botToken = own ?? optional("MESSENGER_BOT_TOKEN");
    const chatId = work.chatId ?? (own === null ? optional("MESSENGER_CHAT_ID") : undefined);
    if (botToken === undefined)
      return unsent("No bot is configured: set messengerBotToken and messengerChatId");
    if (chatId === undefined) return unsent("No chat is configured: set messengerChatId");
    return { kind: "ready", botToken, chatId };
  } catch (error) {
    return { kind: "closed", state: "failed", reason: messageOf(error) };
  }
}
