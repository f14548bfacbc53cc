/** Modules that exist in the bundle alone: `bundle.ts` writes them. */

declare module "built:listing" {
  import type { ListToolsResult } from "@modelcontextprotocol/sdk/types.js";

  /** What `tools/list` answers. */
  export const listing: ListToolsResult;
}

declare module "built:operations" {
  /** By tool name. */
  export const operations: Readonly<Record<string, Operation>>;

  export type Operation = {
    /** The fields of the input that are texts. */
    texts: readonly string[];
  };
}
