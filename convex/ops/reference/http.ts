import * as z from "zod";
import { siteUrl } from "../../lib/env";
import { endpoint, Reply, type Endpoint, type MountedEndpoint } from "../../lib/http/endpoint";

/**
 * The reference: one document, for programs and for people. It is made when it is asked for, by modules that no other
 * request evaluates.
 */

const CACHED = { "Cache-Control": "public, max-age=60" };

const openApiDocument = z.looseObject({ openapi: z.literal("3.1.1") });

/** A text that is the same for everybody. */
function textEndpoint({
  text,
  ...described
}: Pick<Endpoint, "path" | "summary" | "description" | "media"> & {
  text: () => Promise<string>;
}): MountedEndpoint {
  return endpoint({
    ...described,
    methods: ["GET"],
    needs: [],
    answerHeaders: { "Cache-Control": "For how long it may be kept." },
    input: z.object({}),
    returns: z.string(),
    handler: async () => new Reply(await text(), { "Cache-Control": "public, max-age=86400" }),
  });
}

/** @param domains All endpoints by tag, these included: read when the document is made. */
export function referenceEndpoints(
  domains: () => Record<string, readonly MountedEndpoint[]>,
): MountedEndpoint[] {
  const document: MountedEndpoint = endpoint({
    methods: ["GET"],
    path: "/openapi.json",
    summary: "This interface as an OpenAPI 3.1 document.",
    description:
      "Made from the schemas that requests and answers are held against. `servers` holds this deployment's own address. What stands in several places is told once, among the components; every example of an answer is on `/docs`.",
    needs: [],
    answerHeaders: { "Cache-Control": "For how long it may be kept." },
    example: { input: {}, output: { openapi: "3.1.1" } },
    input: z.object({}),
    returns: openApiDocument,
    handler: async () => {
      const { openApi } = await import("./document");
      const { shared } = await import("./shared");
      const told: unknown = JSON.parse(JSON.stringify(shared(openApi(domains(), siteUrl()))));
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

  const texts = [
    textEndpoint({
      path: "/llms.txt",
      media: "text/plain",
      summary: "What this service offers and where, in a page for language models.",
      description: "Markdown, as https://llmstxt.org describes it, with the address of every endpoint.",
      text: async () => (await import("./texts")).llmsText(domains(), siteUrl()),
    }),
    textEndpoint({
      path: "/robots.txt",
      media: "text/plain",
      summary: "What crawlers may read.",
      description: "Pages and references; not what is asked by `userId` or costs something.",
      text: async () => (await import("./texts")).ROBOTS,
    }),
    textEndpoint({
      path: "/favicon.ico",
      media: "image/svg+xml",
      summary: "The service's picture, for browsers.",
      description: "An SVG, as browsers take it under this name, too.",
      text: async () => (await import("./texts")).FAVICON,
    }),
  ];

  return [document, reference, ...texts];
}
