import openapiTypes, { astToString } from "openapi-typescript";
import { offered } from "../../convex/endpoints";
import type { JsonSchema } from "../../convex/lib/http/jsonSchema";
import { openApi } from "../reference/document";
import { shared } from "../reference/components";
import type { OpenApi } from "../reference/types";
import packageFile from "../../package.json";
import type { proxyPackage } from "../proxy/bundle";
import { properOf } from "../proxy/schemas";

/** A client for programs, typed by the API document, and for the web application, typed by the functions' validators. */

/** @returns Its files, without the types, by name. */
export function clientFiles({
  name,
  version,
  license,
}: Awaited<ReturnType<typeof proxyPackage>>): Record<string, string> {
  const manifest = {
    name: `${name}-client`,
    version,
    description:
      "A typed client of the service's HTTP interface, and types of the web application's functions.",
    license,
    type: "module",
    files: ["*.js", "*.d.ts"],
    exports: {
      ".": { types: "./index.d.ts", default: "./index.js" },
      "./web": { types: "./web.d.ts", default: "./web.js" },
    },
    dependencies: { "openapi-fetch": packageFile.devDependencies["openapi-fetch"] },
    peerDependencies: { convex: "^1.0.0" },
    peerDependenciesMeta: { convex: { optional: true } },
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "index.js": [
      'import createClient from "openapi-fetch";',
      "",
      `export const createService = (baseUrl = ${JSON.stringify(packageFile.config.serviceUrl)}, options = {}) =>`,
      "  createClient({ ...options, baseUrl });",
      "",
    ].join("\n"),
    "index.d.ts": [
      'import type { Client, ClientOptions } from "openapi-fetch";',
      'import type { components, paths } from "./api.js";',
      "",
      "export type { components, paths };",
      'export type Schemas = components["schemas"];',
      "/** A client of the service at `baseUrl`; without one, of the service that was built in. */",
      "export declare function createService(baseUrl?: string, options?: ClientOptions): Client<paths>;",
      "",
    ].join("\n"),
    "web.js": 'export { anyApi as api } from "convex/server";\n',
  };
}

/** The document's types. Of the accepted spellings of a field they only have the proper one, for completion in editors. */
export async function apiTypes(): Promise<string> {
  const whole = openApi(offered, packageFile.config.serviceUrl);
  const { paths, components } = whole;
  const proper: OpenApi = {
    ...whole,
    paths: mapped(paths, (item) =>
      mapped(item, (operation) => ({
        ...operation,
        ...(operation.parameters === undefined
          ? {}
          : { parameters: operation.parameters.map((one) => ({ ...one, schema: properOf(one.schema) })) }),
      })),
    ),
    components: {
      ...components,
      schemas: mapped(components.schemas, (schema, name) =>
        name.endsWith("Input") ? properInput(schema) : schema,
      ),
    },
  };
  return astToString(await openapiTypes(JSON.stringify(shared(proper))));
}

function properInput(schema: JsonSchema): JsonSchema {
  if (schema.properties === undefined) return schema;
  const own = Object.entries(schema.properties).filter(
    ([, field]) => typeof field !== "object" || field.deprecated !== true,
  );
  const properties = mapped(Object.fromEntries(own), (field) =>
    typeof field === "object" ? properOf(field) : field,
  );
  const { anyOf, ...rest } = schema;
  // Of two names for one field, the older is removed.
  const required = (anyOf ?? []).flatMap((one) => (typeof one === "object" ? (one.required ?? []) : []));
  const named = required.filter((name) => Object.hasOwn(properties, name));
  return { ...rest, properties, required: [...new Set([...(schema.required ?? []), ...named])] };
}

function mapped<From, To>(
  from: Readonly<Record<string, From>>,
  by: (one: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([name, one]) => [name, by(one, name)]));
}
