/** What a report is put together from: by subject, the same told by several hands. */
export const SUBJECTS = ["majors", "levels", "books", "breadth", "leverage", "flows"] as const;
export type Part = Record<(typeof SUBJECTS)[number], readonly string[]>;
