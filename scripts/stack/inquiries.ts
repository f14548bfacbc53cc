import * as z from "zod";
import { parseJson } from "../json";
import { foreignness } from "../sockets";
import type { Issuer } from "./api";

/**
 * What other commands ask the stack, on the stand-ins' port: `GET /_usage` shows the functions' calls and bytes,
 * `POST /_token` signs a user in. Only for commands: requests of web pages on this machine have an origin and are refused.
 */

const orderShape = z.object({ subject: z.string().min(1).max(256) });
const tokenShape = z.object({ token: z.string() });
const PATIENCE_MS = 3_000;

/** @returns `null` for any other request. */
export async function inquiryAnswer(
  request: Request,
  { issuer, usage }: { issuer: Issuer; usage: () => Promise<unknown> },
): Promise<Response | null> {
  const inquiry = `${request.method} ${new URL(request.url).pathname}`;
  if (inquiry !== "GET /_usage" && inquiry !== "POST /_token") return null;
  if (request.headers.has("origin") || foreignness(request) !== null)
    return Response.json({ error: "Only for commands on this machine" }, { status: 403 });
  if (inquiry === "GET /_usage") return Response.json(await usage());
  const order = orderShape.safeParse(parseJson(await request.text()));
  if (!order.success) return Response.json({ error: "The body must be { subject }" }, { status: 400 });
  return Response.json({ token: await issuer.issue(order.data.subject) });
}

/** A token of the running stack's issuer; `null` if none answers at the address of its stand-ins. */
export async function tokenOf(url: string, subject: string): Promise<string | null> {
  const init = {
    method: "POST",
    body: JSON.stringify({ subject }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
  const answer = await fetch(`${url}/_token`, init).catch(() => null);
  return tokenShape.safeParse(parseJson((await answer?.text()) ?? "")).data?.token ?? null;
}
