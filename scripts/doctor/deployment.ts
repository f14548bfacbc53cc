import * as z from "zod";
import { optional, setting } from "../../convex/lib/env";
import { exchange } from "../../convex/providers/call";
import type { Variables } from "../stack/env";
import { fault, good, off, warning, type Finding } from "./finding";

const PATIENCE_MS = 15_000;
/** Where the messenger is to send what people write to the bot. */
const WEBHOOK_PATH = "/messenger/webhook";

const health = z.looseObject({ status: z.string(), version: z.string(), time: z.iso.datetime() });
const webhook = z.object({
  ok: z.literal(true),
  result: z.looseObject({
    url: z.string(),
    pending_update_count: z.number().optional(),
    last_error_date: z.number().optional(),
  }),
});

/**
 * The deployment's HTTP address: the one given, else what the CLI wrote into `.env.local`.
 * @returns Without a slash at its end; null when nothing names it.
 */
export function siteAddress(given: string | undefined, settings: Variables): string | null {
  const address = given ?? settings.CONVEX_SITE_URL ?? "";
  if (address !== "") return address.replace(/\/$/, "");
  const [, name] = /^(?:dev|prod):([a-z0-9-]+)$/.exec(settings.CONVEX_DEPLOYMENT?.trim() ?? "") ?? [];
  return name === undefined ? null : `https://${name}.convex.site`;
}

/** Whether the deployment at `site` answers, and whether the messenger sends its updates there. */
export async function checkDeployment(site: string | null, nowMs: number): Promise<Finding[]> {
  if (site === null) {
    return [off("deployment", "is not asked: name it with -- --site https://<deployment>.convex.site")];
  }
  return [await checkHealth(site, nowMs), await checkWebhook(site)];
}

async function checkHealth(site: string, nowMs: number): Promise<Finding> {
  const subject = "deployment";
  const answer = await exchange(`${site}/health`, {}, PATIENCE_MS);
  if (answer.kind !== "answer") {
    return fault(
      subject,
      "could not be reached",
      "Deploy it with npx convex deploy, or correct the address.",
    );
  }
  const told = health.safeParse(answer.body);
  if (answer.status !== 200 || !told.success) {
    return fault(subject, `/health answers ${answer.status}`, "See its log with npx convex logs.");
  }
  const apart = Math.round((Date.parse(told.data.time) - nowMs) / 1000);
  if (Math.abs(apart) > 60) {
    return warning(
      "clock",
      `this machine is ${-apart} s ahead of the deployment`,
      "Set this machine's clock.",
    );
  }
  return good(subject, `version ${told.data.version} answers: ${told.data.status}`);
}

async function checkWebhook(site: string): Promise<Finding> {
  const subject = "messenger webhook";
  let token: string | undefined;
  try {
    token = optional("MESSENGER_BOT_TOKEN");
  } catch {
    // Malformed: told by the configuration's own check.
  }
  if (token === undefined) return off(subject, "is not asked: MESSENGER_BOT_TOKEN is not set");
  const url = `${setting("MESSENGER_API_URL")}/bot${token}/getWebhookInfo`;
  const answer = await exchange(url, {}, PATIENCE_MS);
  const told = answer.kind === "answer" ? webhook.safeParse(answer.body) : null;
  if (!told?.success) return fault(subject, "could not be asked", "See what is said of the messenger.");
  const { url: registered, pending_update_count: waiting = 0, last_error_date: failedAt } = told.data.result;
  if (registered === "") {
    return warning(
      subject,
      "is not registered: nobody can talk to the bot",
      "Register it with npm run register-webhook.",
    );
  }
  if (registered !== `${site}${WEBHOOK_PATH}`) {
    return fault(subject, "leads somewhere else", "Register it again with npm run register-webhook.");
  }
  if (failedAt !== undefined && waiting > 0) {
    return warning(
      subject,
      `${waiting} updates wait after a failure`,
      "See the deployment's log with npx convex logs.",
    );
  }
  return good(subject, `leads to this deployment, ${waiting} updates waiting`);
}
