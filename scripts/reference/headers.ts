import type { MountedEndpoint } from "../../convex/platform/http/endpoint";
import type { Header, Parameter } from "./types";

/** The headers in the API document: those of requests, and those common to all answers. */

export function buildHeaders({ headers = {} }: MountedEndpoint): Parameter[] {
  // OpenAPI describes Authorization as a security scheme, and ignores it among the parameters.
  return Object.entries(headers)
    .filter(([name]) => name !== "Authorization")
    .map(([name, description]) => ({
      name,
      in: "header",
      description,
      schema: { type: "string" },
    }));
}

/** The headers of every answer. */
const EVERY_ANSWER: Record<string, Header> = {
  "X-Request-Id": {
    description: "This request's id, which its log line has too",
    required: true,
    schema: { type: "string", format: "uuid" },
  },
  "Cache-Control": {
    description: "no-store, unless the answer may be kept",
    required: true,
    schema: { type: "string" },
  },
  "X-Content-Type-Options": {
    description: "The content is what its type says",
    required: true,
    schema: { const: "nosniff" },
  },
  "Access-Control-Allow-Origin": { description: "Any origin", required: true, schema: { const: "*" } },
};

export const RETRY_AFTER: Header = {
  description: "Seconds until it may work again",
  required: true,
  schema: { type: "string", pattern: "^[1-9][0-9]*$" },
};

export function answerHeaders(further: Readonly<Record<string, string>> = {}): Record<string, Header> {
  const furtherHeaders = Object.entries(further).map(([name, description]): [string, Header] => [
    name,
    { description, schema: { type: "string" } },
  ]);
  return { ...EVERY_ANSWER, ...Object.fromEntries(furtherHeaders) };
}
