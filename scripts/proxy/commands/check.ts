import * as z from "zod/mini";
import type { BuiltIn } from "../interface";
import { callService, ServiceError } from "../service";
import { serviceUrlOf, SettingsError } from "../settings";

/** Asks the service how it does, and says in words what is wrong. */

const health = z.object({ status: z.string(), version: z.string(), reasons: z.array(z.string()) });

const PATIENCE_MS = 15_000;

/** @returns 0 when tools will work, else 1. */
export async function check({ serviceUrl: builtIn }: BuiltIn): Promise<number> {
  try {
    const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, builtIn);
    const answer = await callService({
      serviceUrl,
      method: "GET",
      path: "/health",
      input: {},
      idempotencyKey: null,
      repeatable: true,
      timeoutMs: PATIENCE_MS,
      signal: new AbortController().signal,
    });
    const told = health.safeParse(answer);
    if (!told.success)
      return failed(`${serviceUrl} answers, but is not this service: set NOELCLAW_CONVEX_URL.`);
    const { status, version, reasons } = told.data;
    console.log(`The service at ${serviceUrl} answers: version ${version}, ${status}.`);
    for (const reason of reasons) console.log(`- ${reason}`);
    return 0;
  } catch (error) {
    if (error instanceof ServiceError || error instanceof SettingsError) return failed(error.message);
    throw error;
  }
}

function failed(message: string): number {
  console.error(message);
  return 1;
}
