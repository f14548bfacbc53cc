/** The address of the local stack on this machine, for other commands. */

const PATIENCE_MS = 3_000;

/** The address of its stand-ins: port `PROVIDERS_PORT`, otherwise 3299. */
export function inquiryUrl(variables: Record<string, string | undefined>): string {
  return `http://127.0.0.1:${variables.PROVIDERS_PORT || "3299"}`;
}

/** A token of the running stack's issuer; `null` if none answers there. */
export async function tokenOf(url: string, subject: string): Promise<string | null> {
  const answer = await ask(`${url}/_token`, { method: "POST", body: JSON.stringify({ subject }) });
  const token = typeof answer === "object" && answer !== null && "token" in answer ? answer.token : null;
  return typeof token === "string" ? token : null;
}

async function ask(url: string, init: RequestInit): Promise<unknown> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
