import * as z from "zod";

/** What the build takes from the service's endpoints and from `package.json`, and puts into the bundle. */

/** JSON Schema of an object, as tools declare it. */
export const objectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
});

export type ObjectSchema = z.output<typeof objectSchema>;

export type BuiltIn = {
  /** The package's, and the program's. */
  name: string;
  version: string;
  /** The service's address where the setting is not set. */
  serviceUrl: string;
};

declare global {
  /** Replaced by its value when the bundle is made: see `bundle.ts`. */
  const BUILT_IN: BuiltIn;
}
