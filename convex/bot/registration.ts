import { v } from "convex/values";
import { internalAction } from "../_generated/server";
import { required, siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { counted } from "../lib/outside/providerCalls";
import { botUsername, register as registerAt } from "../providers/messenger";
import { commands } from "./commands";

/**
 * `npx convex run bot/registration:register`: tells the messenger where this deployment's bot gets its messages, and
 * which commands it has. Safe to run twice.
 * @returns The bot's name and the address, never the token or the secret.
 */
export const register = internalAction({
  args: {},
  returns: v.object({ bot: v.string(), webhook: v.string(), commands: v.number() }),
  handler: counted(async () => {
    const token = required("MESSENGER_BOT_TOKEN");
    const bot = await botUsername(token);
    if (bot === null) throw new AppError("not_configured", "The messenger does not know MESSENGER_BOT_TOKEN");
    const webhook = `${siteUrl()}/messenger/webhook`;
    const menu = commands
      .filter(({ traits }) => !traits.includes("hidden"))
      .map(({ name, summary }) => ({ command: name, description: summary }));
    await registerAt(token, { webhook, secret: required("MESSENGER_WEBHOOK_SECRET"), menu });
    return { bot: `@${bot}`, webhook, commands: menu.length };
  }),
});
