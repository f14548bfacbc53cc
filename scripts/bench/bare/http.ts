import { httpActionGeneric, httpRouter, makeFunctionReference } from "convex/server";
import type { Value } from "convex/values";

/** The least HTTP actions can be: one that only answers, and one that answers with a stored document. */
const http = httpRouter();

http.route({
  path: "/constant",
  method: "GET",
  handler: httpActionGeneric(() => Promise.resolve(Response.json({ status: "ok" }))),
});

const stored = makeFunctionReference<"query", Record<string, never>, Value>("documents:stored");
http.route({
  path: "/stored",
  method: "GET",
  handler: httpActionGeneric(async (ctx) => Response.json(await ctx.runQuery(stored, {}))),
});

export default http;
