import * as z from "zod";
import type { Issuer } from "./api/issuer";
import type { Standins } from "../standins/index";
import { json } from "../standins/http";
import { parseJson } from "../json";

/**
 * The stack's answers to other commands, on the stand-ins' port: `GET /_usage` shows what the
 * platform would bill, `POST /_token` signs a user in. Only for commands: requests
 * of web pages on this machine have an origin and are refused.
 */

const orderShape = z.object({ subject: z.string().min(1).max(256) });

const INQUIRIES = ["GET /_usage", "POST /_token"];

/** The stand-ins together with these answers. */
export function withInquiries(
  standins: Pick<Standins, "handle">,
  sources: {
    issuer: Issuer;
    usage: () => Promise<unknown>;
  },
): Pick<Standins, "handle"> {
  return {
    handle: async (request) => {
      const { pathname } = new URL(request.url);
      const inquiry = `${request.method} ${pathname}`;
      if (!INQUIRIES.includes(inquiry)) return standins.handle(request);
      if (request.headers.has("origin")) return json({ error: "Only for commands on this machine" }, 403);
      if (inquiry === "GET /_usage") return json(await sources.usage());
      const order = orderShape.safeParse(parseJson(await request.text()));
      if (!order.success) return json({ error: "The body must be { subject }" }, 400);
      return json({ token: await sources.issuer.issue(order.data.subject) });
    },
  };
}
