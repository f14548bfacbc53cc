/** Serves the stand-ins over HTTP, for local use. A connection that is to fail has its socket destroyed. */

import type { ServerResponse } from "node:http";
import type { Standins } from "./index";
import { headersOf, send } from "../sockets/bridge";
import { bodyOf, type Handler } from "../sockets/listener";
import { foreignness } from "../sockets/sameMachine";
import { ConnectionLost, json } from "./http";

export function standinsHandler(standins: Pick<Standins, "handle">): Handler {
  return async (incoming, outgoing) => {
    const caller = new AbortController();
    outgoing.once("close", () => caller.abort());
    try {
      const foreign = foreignness(incoming.headers);
      if (foreign !== null) return await send(json({ error: foreign }, 403), outgoing);
      const body = await bodyOf(incoming);
      if (body === null) return await send(json({ error: "The body is too large" }, 413), outgoing);
      const { url = "/", method = "GET" } = incoming;
      const request = new Request(new URL(url, "http://stand-ins"), {
        method,
        headers: headersOf(incoming),
        signal: caller.signal,
        body: method === "GET" || method === "HEAD" ? null : body,
      });
      await send(await standins.handle(request), outgoing);
    } catch (error) {
      await failed(error, caller.signal.aborted, outgoing);
    }
  };
}

async function failed(error: unknown, isGone: boolean, outgoing: ServerResponse): Promise<void> {
  if (error instanceof ConnectionLost || isGone || outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  console.error("A stand-in failed:", error);
  await send(json({ error: "The stand-in failed" }, 500), outgoing);
}
