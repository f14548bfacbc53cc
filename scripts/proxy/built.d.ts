/** Modules that only exist in the bundle: `bundle.ts` writes them. */

declare module "built:listing" {
  import type { ListToolsResult } from "@modelcontextprotocol/sdk/types.js";

  /** The answer to `tools/list`. */
  export const listing: ListToolsResult;
}

declare module "built:operations" {
  /** By tool name. */
  export const operations: Readonly<Record<string, Operation>>;

  export type Operation = {
    /** The names of the input's text fields. */
    texts: readonly string[];
  };
}
