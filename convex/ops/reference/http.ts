import * as z from "zod";
import { siteUrl } from "../../lib/env";
import { endpoint, Reply, type MountedEndpoint } from "../../lib/http/endpoint";

/**
 * The reference: one document, for programs and for people. It is made when it is asked for, by modules that no other
 * request evaluates.
 */

const CACHED = { "Cache-Control": "public, max-age=60" };

const openApiDocument = z.looseObject({ openapi: z.literal("3.1.1") });

/** @param domains All endpoints by tag, these included: read when the document is made. */
export function referenceEndpoints(
  domains: () => Record<string, readonly MountedEndpoint[]>,
): MountedEndpoint[] {
  const document: MountedEndpoint = endpoint({
    methods: ["GET"],
    path: "/openapi.json",
    summary: "This interface as an OpenAPI 3.1 document.",
    description:
      "Made from the schemas that requests and answers are held against. `servers` holds this deployment's own address.",
    needs: [],
    answerHeaders: { "Cache-Control": "For how long it may be kept." },
    example: { input: {}, output: { openapi: "3.1.1" } },
    input: z.object({}),
    returns: openApiDocument,
    handler: async () => {
      const { openApi } = await import("./document");
      const told: unknown = JSON.parse(JSON.stringify(openApi(domains(), siteUrl())));
      return new Reply(openApiDocument.parse(told), CACHED);
    },
  });

  const reference: MountedEndpoint = endpoint({
    methods: ["GET"],
    path: "/docs",
    summary: "This reference, as a page to read.",
    description: "The same as `/openapi.json`, for people; without scripts.",
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
    handler: async () => {
      const { openApi } = await import("./document");
      const { page } = await import("./page");
      const { html, headers } = page(openApi(domains(), siteUrl()));
      return new Reply(html, headers);
    },
  });

  return [document, reference];
}
