/** What a hostile test tells of itself, for the table of `npm run test:hostile`. */
declare module "vitest" {
  interface TaskMeta {
    /** How often it was tried to get through. */
    tries?: number;
    /** How often that went well. */
    through?: number;
    /** What was measured, in a sentence. */
    figures?: string;
  }
}

export {};
