import { optional } from "../lib/env";
import { SECOND, sleep } from "../lib/time";
import { showTyping } from "../providers/messenger";

/** Shows chats that the bot is working. A failure is ignored, because this is not a message. */

/** The messenger shows it for five seconds. */
const AGAIN_MS = 4 * SECOND;
const LONGEST_MS = 60 * SECOND;

/** Shows it until it is stopped. For actions, which await its stop. */
export function typeIn(chatId: string): { stop: () => Promise<void> } {
  const botToken = optional("MESSENGER_BOT_TOKEN");
  if (botToken === undefined) return { stop: () => Promise.resolve() };
  let stop: () => void = () => undefined;
  const stopped = new Promise<"stopped">((resolve) => (stop = () => resolve("stopped")));
  const shown = (async () => {
    for (let passed = 0; passed < LONGEST_MS; passed += AGAIN_MS) {
      await showTyping(botToken, chatId);
      if ((await Promise.race([stopped, sleep(AGAIN_MS)])) === "stopped") return;
    }
  })();
  return {
    stop: async () => {
      stop();
      await shown;
    },
  };
}
