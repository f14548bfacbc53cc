import * as z from "zod";
import { optional, setting } from "../../convex/lib/env";
import { exchange } from "../../convex/providers/call";
import type { Variables } from "../stack/env";
import { fault, good, off, warning, type Finding } from "./finding";
import type { Tell } from "./output";

const PATIENCE_MS = 15_000;
/** Where the messenger has to send what people write to the bot. */
const WEBHOOK_PATH = "/messenger/webhook";

const age = z.number().nullable();
const health = z.looseObject({
  status: z.string(),
  version: z.string(),
  time: z.iso.datetime(),
  reasons: z.array(z.string()).optional(),
  caller: z.looseObject({ address: z.string() }).optional(),
  checks: z.looseObject({
    configured: z.record(z.string(), z.boolean()).default({}),
    crons: z.record(z.string(), age),
    outbox: z.looseObject({ waiting: z.number(), oldestSeconds: age }),
    pending: z.record(z.string(), age),
    providers: z.record(z.string(), z.looseObject({ works: z.boolean(), since: z.string() })),
  }),
});
type Health = z.infer<typeof health>;

/** From this age on waiting work is reported; `/health` is degraded at twice the age. */
const SLOW_SECONDS = 15 * 60;
const webhook = z.object({
  ok: z.literal(true),
  result: z.looseObject({
    url: z.string(),
    pending_update_count: z.number().optional(),
    last_error_date: z.number().optional(),
  }),
});

/**
 * The deployment's HTTP address: the given one, otherwise the one that the CLI wrote into `.env.local`.
 * @returns Without a slash at its end; null if there is none.
 */
export function siteAddress(given: string | undefined, settings: Variables): string | null {
  const address = given ?? settings.CONVEX_SITE_URL ?? "";
  if (address !== "") return address.replace(/\/$/, "");
  const [, name] = /^(?:dev|prod):([a-z0-9-]+)$/.exec(settings.CONVEX_DEPLOYMENT?.trim() ?? "") ?? [];
  return name === undefined ? null : `https://${name}.convex.site`;
}

/** Whether the deployment at `site` answers, and whether the messenger sends its updates there. */
export async function checkDeployment(
  { site, local, nowMs }: { site: string | null; local: boolean; nowMs: number },
  tell: Tell,
): Promise<void> {
  if (site === null) {
    return tell(off("deployment", "is not asked: name it with -- --site https://<deployment>.convex.site"));
  }
  const findings = await checkHealth(site, nowMs);
  for (const finding of findings) tell(finding);
  if (local) {
    return tell(off("messenger webhook", "is not asked: the local stack passes messages to the bot itself"));
  }
  if (findings.every(({ level }) => level !== "fault")) tell(await checkForgedAddress(site));
  tell(await checkWebhook(site));
}

/** Reserved for documents: nobody's address (RFC 5737). */
const FORGED = "203.0.113.77";

/** Whether a caller can choose the address that limits are counted by. */
async function checkForgedAddress(site: string): Promise<Finding> {
  const subject = "callers' addresses";
  const headers = { "X-Forwarded-For": FORGED };
  const answer = await exchange(`${site}/health`, { headers }, PATIENCE_MS);
  const parsed = answer.kind === "answer" ? health.safeParse(answer.body) : null;
  const address = parsed?.success ? parsed.data.caller?.address : undefined;
  if (address === undefined) return off(subject, "are not shown by /health of this version");
  if (!address.includes(FORGED))
    return good(subject, "a forged X-Forwarded-For does not change the caller's address");
  const remedy =
    "Let the proxy in front of the service replace the header, and set TRUSTED_PROXY_HOPS to the number of proxies.";
  const says =
    "a forged X-Forwarded-For changes the caller's address, so callers can evade limits by address";
  // On the machine itself no proxy could replace it.
  const near = /^http:\/\/(?:127\.0\.0\.1|localhost)[:/]?/.test(site);
  return near ? warning(subject, says, remedy) : fault(subject, says, remedy);
}

async function checkHealth(site: string, nowMs: number): Promise<Finding[]> {
  const subject = "deployment";
  const answer = await exchange(`${site}/health`, {}, PATIENCE_MS);
  if (answer.kind !== "answer") {
    return [
      fault(subject, "could not be reached", "Deploy it with npx convex deploy, or correct the address."),
    ];
  }
  const parsed = health.safeParse(answer.body);
  if (answer.status !== 200 || !parsed.success) {
    return [fault(subject, `/health answers ${answer.status}`, "See its log with npx convex logs.")];
  }
  const apart = Math.round((Date.parse(parsed.data.time) - nowMs) / 1000);
  if (Math.abs(apart) > 60) {
    const gap = `this machine is ${Math.abs(apart)} s ${apart > 0 ? "behind" : "ahead of"} the deployment`;
    return [warning("clock", gap, "Set this machine's clock.")];
  }
  const { version, status, reasons = [] } = parsed.data;
  const says = `version ${version} answers: ${status}`;
  const standing =
    status === "ok"
      ? good(subject, says)
      : warning(subject, [says, ...reasons].join("; "), "See the findings below.");
  return [standing, ...unconfigured(parsed.data), ...work(parsed.data)];
}

/** Variables that are missing by the deployment's own report; it may have others than those checked here. */
function unconfigured({ checks: { configured } }: Health): Finding[] {
  const missing = Object.keys(configured).filter((name) => configured[name] === false);
  return missing.flatMap((name) =>
    // The configuration's check explains these.
    name === "MESSENGER_BOT_TOKEN" || name === "AGENT_API_URL"
      ? []
      : [
          fault(
            name,
            "is not configured on the deployment",
            "Set it in .env.local, then run npm run env:push.",
          ),
        ],
  );
}

/** Problems of the deployment's own work. */
function work({ checks: { crons, outbox, pending, providers } }: Health): Finding[] {
  const ages = Object.values(crons);
  const slow = (seconds: number | null) => (seconds ?? 0) > SLOW_SECONDS;
  const minutes = (seconds: number | null) => `${Math.round((seconds ?? 0) / 60)} min`;
  const findings: Finding[] = [];
  // One of them runs every minute, so the lowest age shows whether any run at all.
  if (ages.every((one) => one === null)) {
    findings.push(
      warning("crons", "none has run yet", "Wait a minute after the first deploy, then ask again."),
    );
  } else if (slow(Math.min(...ages.flatMap((one) => one ?? [])))) {
    findings.push(
      fault("crons", "have stopped", "See whether the deployment is paused or over its plan's limits."),
    );
  }
  if (slow(outbox.oldestSeconds)) {
    const says = `${outbox.waiting} messages wait, the oldest for ${minutes(outbox.oldestSeconds)}`;
    findings.push(warning("outbox", says, "See npx convex data messages, and the messenger's answer below."));
  }
  for (const [kind, seconds] of Object.entries(pending)) {
    if (!slow(seconds)) continue;
    const says = `the oldest has waited for ${minutes(seconds)}`;
    findings.push(warning(kind, says, "See npx convex logs; the crons resume lost work."));
  }
  for (const [name, { works, since }] of Object.entries(providers)) {
    if (works) continue;
    findings.push(warning(name, `its calls fail since ${since}`, "See its own answer below."));
  }
  return findings;
}

async function checkWebhook(site: string): Promise<Finding> {
  const subject = "messenger webhook";
  let token: string | undefined;
  try {
    token = optional("MESSENGER_BOT_TOKEN");
  } catch {
    // Malformed: reported by the configuration's check.
  }
  if (token === undefined) return off(subject, "is not asked: MESSENGER_BOT_TOKEN is not set");
  const url = `${setting("MESSENGER_API_URL")}/bot${token}/getWebhookInfo`;
  const answer = await exchange(url, {}, PATIENCE_MS);
  const parsed = answer.kind === "answer" ? webhook.safeParse(answer.body) : null;
  if (!parsed?.success) {
    const remedy =
      "See the findings on the messenger: MESSENGER_BOT_TOKEN or MESSENGER_API_URL may be wrong.";
    return fault(subject, "could not be reached", remedy);
  }
  const {
    url: registered,
    pending_update_count: waiting = 0,
    last_error_date: failedAt,
  } = parsed.data.result;
  if (registered === "") {
    return warning(
      subject,
      "is not registered: nobody can talk to the bot",
      "Register it with npm run register-webhook.",
    );
  }
  if (registered !== `${site}${WEBHOOK_PATH}`) {
    return fault(subject, "points to another address", "Register it again with npm run register-webhook.");
  }
  if (failedAt !== undefined && waiting > 0) {
    return warning(
      subject,
      `${waiting} updates wait after a failure`,
      "See the deployment's log with npx convex logs.",
    );
  }
  return good(subject, `points to this deployment, ${waiting} updates are waiting`);
}
