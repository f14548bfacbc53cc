import * as z from "zod";
import { siteUrl } from "../lib/env";
import { endpoint, Reply, type MountedEndpoint } from "../lib/http";
import { openApi } from "./openapi";
import { page } from "./referencePage";

/** The reference: one document, for programs and for people. Both are made when they are asked for, not before. */

const CACHED = { "Cache-Control": "public, max-age=60" };

/** @param domains All endpoints by domain, these included: read when asked, since the list holds this one. */
export function referenceEndpoints(domains: () => Record<string, MountedEndpoint[]>): MountedEndpoint[] {
  const document = endpoint({
    methods: ["GET"],
    path: "/openapi.json",
    summary: "This interface as an OpenAPI 3.1 document.",
    needs: [],
    answerHeaders: { "Cache-Control": "For how long it may be kept." },
    example: { input: {}, output: { openapi: "3.1.1" } },
    input: z.object({}),
    returns: z.looseObject({ openapi: z.literal("3.1.1") }),
    handler: () => Promise.resolve(new Reply(openApi(domains(), siteUrl()), CACHED)),
  });

  const reference = endpoint({
    methods: ["GET"],
    path: "/docs",
    summary: "This reference, as a page to read.",
    needs: [],
    answerHeaders: {
      "Cache-Control": "For how long it may be kept.",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Content-Security-Policy": "Nothing is loaded from anywhere, and nothing runs.",
    },
    media: "text/html",
    input: z.object({}),
    returns: z.string(),
    handler: () => {
      const { html, headers } = page(openApi(domains(), siteUrl()));
      return Promise.resolve(new Reply(html, { ...CACHED, ...headers }));
    },
  });

  return [document, reference];
}
