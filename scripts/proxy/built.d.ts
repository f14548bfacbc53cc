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
    /** Of a structured tool: whether an answer is what the endpoint answers. What is wrong is then in `errors`. */
    check: Check | null;
    /** The fields of the input that are texts. */
    texts: readonly string[];
  };

  export type Check = {
    (answer: unknown): answer is Record<string, unknown>;
    errors?: readonly { instancePath: string; message?: string }[] | null;
  };
}
