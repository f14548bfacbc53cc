import * as z from "zod/mini";
import type { BuiltIn } from "../interface";
import { callService, ServiceError } from "../service";
import { serviceUrlOf, SettingsError } from "../settings";

/** Checks the service, and reports problems in words. */

const health = z.object({ status: z.string(), version: z.string(), reasons: z.array(z.string()) });

const PATIENCE_MS = 15_000;

/** @returns 0 if tools will work, otherwise 1. */
export async function check({ serviceUrl: builtIn }: BuiltIn): Promise<number> {
  try {
    const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, builtIn);
    const { body } = await callService({
      serviceUrl,
      method: "GET",
      path: "/health",
      input: {},
      idempotencyKey: null,
      repeatable: true,
      timeoutMs: PATIENCE_MS,
      signal: new AbortController().signal,
    });
    const parsed = health.safeParse(body);
    if (!parsed.success)
      return failed(`${serviceUrl} answers, but is not this service: set NOELCLAW_CONVEX_URL.`);
    const { status, version, reasons } = parsed.data;
    console.log(`The service at ${serviceUrl} answers: version ${version}, ${status}.`);
    for (const reason of reasons) console.log(`- ${reason}`);
    return 0;
  } catch (error) {
    if (error instanceof ServiceError) return failed(advised(error.message));
    if (error instanceof SettingsError) return failed(error.message);
    throw error;
  }
}

/** An error of another service, or of another address of this one, contains no advice. */
function advised(message: string): string {
  const setting = process.env.NOELCLAW_CONVEX_URL ?? "";
  const advice = message.includes("NOELCLAW_CONVEX_URL")
    ? []
    : ["Set NOELCLAW_CONVEX_URL to the service's address."];
  if (setting.includes(".convex.cloud")) advice.push("It is the one that ends in .convex.site.");
  else if (/\w\/\w/.test(setting)) advice.push("It ends after the host: leave out the path.");
  return [message.replace(/\w$/, "$&."), ...advice].join(" ");
}

function failed(message: string): number {
  console.error(message);
  return 1;
}
