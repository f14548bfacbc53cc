import * as z from "zod";
import { commands } from "../convex/bot/list";
import { command } from "./command";
import { settingsFile } from "./env/file";
import { operatorSettings } from "./stack/env";
import { bold, nextStep } from "./terminal";

/**
 * `npm run register-webhook -- https://<deployment>.convex.site`: tells the messenger's Bot API where the bot's updates
 * go and which commands it has, then shows what is registered. The bot's token and the secret are never shown.
 */

const USAGE = `Usage: npm run register-webhook -- [URL] [--show] [--json]

  URL      the deployment's site address; CONVEX_SITE_URL by default
  --show   only shows what is registered, and changes nothing
  --json   prints what is registered as JSON

Environment, or .env.local (LOCAL_ENV_FILE): MESSENGER_BOT_TOKEN, MESSENGER_WEBHOOK_SECRET, MESSENGER_API_URL`;

const PATH = "/messenger/webhook";
const TIMEOUT_MS = 15_000;

class RegistrationError extends Error {}

const answerShape = z.union([
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({ ok: z.literal(false), description: z.string().default("no reason given") }),
]);
const botShape = z.object({ username: z.string() });
const webhookShape = z.object({
  url: z.string(),
  pending_update_count: z.number(),
  last_error_message: z.string().optional(),
  allowed_updates: z.array(z.string()).default([]),
});
const commandsShape = z.array(z.object({ command: z.string(), description: z.string() }));

type Settings = Record<string, string | undefined>;
type Ask = (method: string, parameters?: object) => Promise<unknown>;

async function main(site: string | undefined, isShown: boolean): Promise<Registered> {
  const settings = await operatorSettings(settingsFile());
  const ask = botApi(settings);
  const { username } = botShape.parse(await ask("getMe"));
  if (!isShown) await register(ask, settings, site ?? settings.CONVEX_SITE_URL);
  return {
    bot: username,
    webhook: webhookShape.parse(await ask("getWebhookInfo")),
    commands: commandsShape.parse(await ask("getMyCommands")),
  };
}

async function register(ask: Ask, settings: Settings, site: string | undefined): Promise<void> {
  await ask("setWebhook", {
    url: webhookUrl(site),
    secret_token: needed(settings, "MESSENGER_WEBHOOK_SECRET", /^[A-Za-z0-9_-]{8,256}$/),
    allowed_updates: ["message", "callback_query"],
  });
  const listed = commands.filter(({ hidden }) => hidden !== true);
  const menu = listed.map(({ name, summary }) => ({ command: name, description: summary }));
  await ask("setMyCommands", { commands: menu });
}

type Registered = {
  bot: string;
  webhook: z.infer<typeof webhookShape>;
  commands: z.infer<typeof commandsShape>;
};

function shown({ bot, webhook, commands: menu }: Registered): string {
  return [
    bold(`@${bot}`),
    `  webhook   ${webhook.url === "" ? "none" : webhook.url}`,
    `  updates   ${webhook.allowed_updates.join(", ") || "the messenger's default"}`,
    `  waiting   ${webhook.pending_update_count}`,
    ...(webhook.last_error_message === undefined ? [] : [`  trouble   ${webhook.last_error_message}`]),
    `  commands  ${menu.length === 0 ? "none" : ""}`,
    ...menu.map(({ command, description }) => `    /${command.padEnd(12)} ${description}`),
    webhook.url === ""
      ? nextStep("npm run register-webhook -- https://<deployment>.convex.site")
      : nextStep(`send /help to @${bot}`),
  ].join("\n");
}

function webhookUrl(site: string | undefined): string {
  const url = site === undefined || !URL.canParse(site) ? null : new URL(site);
  if (url?.protocol !== "https:") {
    throw new RegistrationError(
      "Name the deployment's site address, which must be https: " +
        "npm run register-webhook -- https://<deployment>.convex.site",
    );
  }
  return `${url.origin}${PATH}`;
}

/** Calls the Bot API. Its address holds the token, so it is part of no message. */
function botApi(settings: Settings): Ask {
  const token = needed(settings, "MESSENGER_BOT_TOKEN", /^\d+:[A-Za-z0-9_-]+$/);
  const base = (settings.MESSENGER_API_URL || "https://api.telegram.org").replace(/\/+$/, "");
  return async (method, parameters = {}) => {
    const response = await fetch(`${base}/bot${token}/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(parameters),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch(() => {
      throw new RegistrationError(`The Bot API could not be reached for ${method}`);
    });
    const answer = answerShape.safeParse(await response.json().catch(() => null));
    if (!answer.success) {
      throw new RegistrationError(
        `The Bot API answered ${method} with status ${response.status} and no JSON of its own`,
      );
    }
    if (answer.data.ok) return answer.data.result;
    const { description } = answer.data;
    if (response.status === 401 || response.status === 404) {
      throw new RegistrationError(`The Bot API does not know this MESSENGER_BOT_TOKEN (${description})`);
    }
    throw new RegistrationError(`The Bot API refused ${method}: ${description}`);
  };
}

function needed(settings: Settings, name: string, shape: RegExp): string {
  const value = settings[name]?.trim() ?? "";
  if (value === "") throw new RegistrationError(`${name} is not set, neither here nor in .env.local`);
  if (!shape.test(value)) throw new RegistrationError(`${name} is malformed`);
  return value;
}

const about = {
  usage: USAGE,
  flags: { show: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
  most: 1,
  forOperator: [RegistrationError],
} as const;
await command(about, async ({ values: { show, json }, positionals: [site] }) => {
  const registered = await main(site, show);
  console.log(json ? JSON.stringify(registered, null, 2) : shown(registered));
});
