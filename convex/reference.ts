import { v } from "convex/values";
import { internalAction } from "./_generated/server";
import { domains } from "./http";
import { siteUrl } from "./lib/env";
import { openApi } from "./ops/openapi";
import { page } from "./ops/referencePage";

/**
 * The reference, made when it is asked for. It stands beside `http.ts`, whose endpoints it tells of, and apart from its own
 * routes, so that no other request evaluates what it takes.
 */

/** @returns The OpenAPI 3.1 document as JSON. */
export const document = internalAction({
  args: {},
  returns: v.string(),
  handler: () => JSON.stringify(openApi(domains, siteUrl())),
});

/** @returns The page to read, and the headers that go with it. */
export const html = internalAction({
  args: {},
  returns: v.object({ html: v.string(), headers: v.record(v.string(), v.string()) }),
  handler: () => page(openApi(domains, siteUrl())),
});
