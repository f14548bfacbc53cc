import * as z from "zod";

/** What the build takes from the service's endpoints and from `package.json` for the bundle. */

/** JSON Schema of an object, as tools declare it. */
export const objectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
});

export type ObjectSchema = z.output<typeof objectSchema>;

export type BuiltIn = {
  /** The name of the package and of the program. */
  name: string;
  version: string;
  /** The default of the service's address. */
  serviceUrl: string;
};

declare global {
  /** Replaced by its value when the bundle is made: see `bundle.ts`. */
  const BUILT_IN: BuiltIn;
}
