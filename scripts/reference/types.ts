import type { JsonSchema } from "./jsonSchema";

/** The part of OpenAPI 3.1 that the document uses. Source: the OpenAPI Specification, version 3.1.1. */

export type Parameter = {
  name: string;
  in: "query" | "path" | "header";
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
};

export type Header = { description: string; schema: JsonSchema; required?: boolean; example?: string };

export type Media = { schema: JsonSchema; example?: unknown };

export type Answer = {
  description: string;
  headers: Record<string, Header>;
  content: Record<string, Media>;
};

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
  security?: Record<string, string[]>[];
};

export type Method = "get" | "post";

export type OpenApi = {
  openapi: "3.1.1";
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    contact: { name: string; url: string };
    license: { name: string; identifier: string };
  };
  /** The default of operations. */
  security: Record<string, string[]>[];
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, { [One in Method]?: Operation }>;
  components: {
    schemas: Record<string, JsonSchema>;
    securitySchemes: Record<string, Record<string, string>>;
  };
};
