import * as z from "zod";
import { defineEndpoint, type Endpoint, type MountedEndpoint } from "../../platform/http/endpoint";
import { PROXY_PATH } from "../../lib/version";
import { texts } from "./texts";

/** The endpoints of the reference, for programs and for people, described like any other endpoint. */

const CACHE_HEADERS = {
  "Cache-Control": "How long it may be cached.",
  ETag: "Names this version: a caller that has it sends it in `If-None-Match`, and gets 304 without a body.",
  Vary: "It is compressed for callers that accept gzip.",
  "Content-Encoding": "gzip, if it was accepted.",
};
const rejectCall = () => Promise.reject(new Error("The router sends this text itself: it has no handler"));

const document: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/openapi.json",
  summary: "This interface as an OpenAPI 3.1 document.",
  description:
    "Made from the schemas that requests and answers are held against. `servers` holds this deployment's own address. `/docs` is the same to read.",
  answerHeaders: CACHE_HEADERS,
  unchanged: "It is what `If-None-Match` names.",
  example: { input: {}, output: { openapi: "3.1.1" } },
  input: z.object({}),
  returns: z.looseObject({ openapi: z.string().describe("Its version of OpenAPI, 3.1.1") }),
  handler: rejectCall,
});

const page = {
  methods: ["GET"],
  answerHeaders: {
    ...CACHE_HEADERS,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy":
      "Nothing is loaded from elsewhere, and nothing runs but the page's own script.",
  },
  unchanged: "It is what `If-None-Match` names.",
  media: "text/html",
  returns: z.string(),
  handler: rejectCall,
} as const;
const reference: MountedEndpoint = defineEndpoint({
  ...page,
  path: "/docs",
  summary: "This reference, as pages to read: what holds for all, and the list of endpoints.",
  input: z.object({}),
});
const subject: MountedEndpoint = defineEndpoint({
  ...page,
  path: "/docs/{subject}",
  summary: "The endpoints of one subject, as a page to read.",
  errors: { not_found: "There is no such subject: /docs lists them." },
  input: z.object({ subject: z.string().describe("Its name, as in `market`") }),
});

/** Defines the endpoint of a text that is the same for every caller. */
function defineText(
  described: Pick<Endpoint, "path" | "summary" | "description" | "media" | "unchanged">,
): MountedEndpoint {
  const isTagged = described.unchanged !== undefined;
  return defineEndpoint({
    ...described,
    methods: ["GET"],
    answerHeaders: isTagged ? CACHE_HEADERS : { "Cache-Control": "How long it may be cached." },
    input: z.object({}),
    returns: z.string(),
    handler: rejectCall,
  });
}

const llms = defineText({
  path: "/llms.txt",
  media: "text/plain",
  summary: "What this service offers and where, in a page for language models.",
  description: "Markdown, as https://llmstxt.org describes it, with the address of every endpoint.",
  unchanged: "It is what `If-None-Match` names.",
});
const proxy = defineText({
  path: PROXY_PATH,
  media: "text/javascript",
  summary: "The program that AI clients start: 19 tools over MCP, for Node 20.",
  description: "One file without dependencies; /start says how to use it.",
  unchanged: "It is what `If-None-Match` names.",
});
const robots = defineText({
  path: "/robots.txt",
  media: "text/plain",
  summary: "What crawlers may read.",
  description:
    "Pages, references, and reads from a cache; not endpoints that need a `userId` or cost something.",
});
const icon = defineText({
  path: "/favicon.ico",
  media: "image/svg+xml",
  summary: "The service's picture, for browsers.",
  description: "An SVG, as browsers take it under this name, too.",
});

export const referenceEndpoints: MountedEndpoint[] = [
  { ...document, handle: texts.document.handle },
  { ...reference, handle: texts.page.handle },
  { ...subject, handle: texts.subject.handle },
  { ...llms, handle: texts.llms.handle },
  { ...proxy, handle: texts.proxy.handle },
  { ...robots, handle: texts.robots.handle },
  { ...icon, handle: texts.icon.handle },
];
