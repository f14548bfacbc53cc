import * as z from "zod";
import type { Variables } from "./env";
import type { Issuer } from "./api/issuer";
import type { Standins } from "../standins/index";
import { json } from "../standins/http";
import { parseJson } from "../json";

/**
 * The stack's answers to other commands, on the stand-ins' port: `GET /_stack` describes it,
 * `GET /_usage` shows what the platform would bill, `POST /_token` signs a user in. Only for commands: requests
 * of web pages on this machine have an origin and are refused.
 */

/** The answer to `GET /_stack`. */
export const factsShape = z.object({
  siteUrl: z.string(),
  apiUrl: z.string(),
  realProviders: z.array(z.string()),
  /** The stack's own values of simulated settings, without the operator's and without keys. */
  variables: z.record(z.string(), z.string()),
  /** The names of all variables that the application sees. */
  set: z.array(z.string()),
});
export type Facts = z.infer<typeof factsShape>;

const orderShape = z.object({ subject: z.string().min(1).max(256) });

const INQUIRIES = ["GET /_stack", "GET /_usage", "POST /_token"];

/** The stand-ins together with these answers. */
export function withInquiries(
  standins: Pick<Standins, "handle">,
  sources: {
    issuer: Issuer;
    facts: () => Promise<Facts>;
    usage: () => Promise<unknown>;
  },
): Pick<Standins, "handle"> {
  return {
    handle: async (request) => {
      const { pathname } = new URL(request.url);
      const inquiry = `${request.method} ${pathname}`;
      if (!INQUIRIES.includes(inquiry)) return standins.handle(request);
      if (request.headers.has("origin")) return json({ error: "Only for commands on this machine" }, 403);
      if (inquiry === "GET /_stack") return json(await sources.facts());
      if (inquiry === "GET /_usage") return json(await sources.usage());
      const order = orderShape.safeParse(parseJson(await request.text()));
      if (!order.success) return json({ error: "The body must be { subject }" }, 400);
      return json({ token: await sources.issuer.issue(order.data.subject) });
    },
  };
}

/** The variables of the application that are the stack's own, without those that seal or sign. */
export function ownVariables(seen: Variables, settings: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(seen).flatMap(([name, value]) => {
      const secret = /^WALLET_ENCRYPTION_KEY|_SECRET$|_PRIVATE_KEY$/.test(name);
      return value === undefined || secret || settings[name] ? [] : [[name, value]];
    }),
  );
}
