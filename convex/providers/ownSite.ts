import * as z from "zod";

/** This deployment as its callers reach it, through whatever stands before it. */

/** An address for documents (RFC 5737): nobody has it. */
export const FORGED = "203.0.113.9";

const healthShape = z.object({ caller: z.object({ address: z.string() }) });

/** The address by which a deployment counts a caller who sends a forged one; `null` if it was not reached. */
export async function readCountedAddress(siteUrl: string, timeoutMs: number): Promise<string | null> {
  try {
    const headers = { "X-Forwarded-For": FORGED };
    const response = await fetch(`${siteUrl}/health`, { headers, signal: AbortSignal.timeout(timeoutMs) });
    return healthShape.parse(await response.json()).caller.address;
  } catch {
    return null;
  }
}
