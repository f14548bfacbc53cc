import * as z from "zod";
import type { Variables } from "./env";
import type { Issuer } from "./issuer";
import type { Standins } from "../standins/index";
import { json, parseJson } from "../standins/http";

/**
 * What the stack tells the commands beside it, on the stand-ins' port: `GET /_stack` says what it is, `GET /_work`
 * what work is open, `GET /_usage` what the platform would bill, `POST /_token` signs a user in. To commands alone, not to pages of this machine, whose requests come with an origin.
 */

/** What `GET /_stack` answers. */
export const factsShape = z.object({
  siteUrl: z.string(),
  apiUrl: z.string(),
  realProviders: z.array(z.string()),
  /** The stack's own values, for what is simulated; never the operator's, and no key of the stack's. */
  variables: z.record(z.string(), z.string()),
  /** The names of all variables that the application sees. */
  set: z.array(z.string()),
});
export type Facts = z.infer<typeof factsShape>;

const orderShape = z.object({ subject: z.string().min(1).max(256) });

const ASKED = ["GET /_stack", "GET /_work", "GET /_usage", "POST /_token"];

/** The stand-ins, with the desk beside them. */
export function withDesk(
  standins: Pick<Standins, "handle">,
  desk: {
    issuer: Issuer;
    facts: () => Promise<Facts>;
    work: () => Promise<unknown>;
    usage: () => Promise<unknown>;
  },
): Pick<Standins, "handle"> {
  return {
    handle: async (request) => {
      const { pathname } = new URL(request.url);
      const asked = `${request.method} ${pathname}`;
      if (!ASKED.includes(asked)) return standins.handle(request);
      if (request.headers.has("origin")) return json({ error: "Only for commands on this machine" }, 403);
      if (asked === "GET /_stack") return json(await desk.facts());
      if (asked === "GET /_work") return json(await desk.work());
      if (asked === "GET /_usage") return json(await desk.usage());
      const order = orderShape.safeParse(parseJson(await request.text()));
      if (!order.success) return json({ error: "The body must be { subject }" }, 400);
      return json({ token: await desk.issuer.issue(order.data.subject) });
    },
  };
}

/** Of what the application sees: the values that are the stack's own, without what seals or signs. */
export function ownVariables(seen: Variables, settings: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(seen).flatMap(([name, value]) => {
      const secret = /^WALLET_ENCRYPTION_KEY|_SECRET$|_PRIVATE_KEY$/.test(name);
      return value === undefined || secret || settings[name] ? [] : [[name, value]];
    }),
  );
}
