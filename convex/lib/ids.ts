/** Whose that is which is no user's: the service's own accounts and cards. Users' ids are never empty. */
export const NOBODY = "";

/** So many random letters and digits hold as much as a UUID. */
export const LEAST_ID_CHARS = 22;

/** Whether a `userId` is short enough to be guessed. */
export function isGuessable(id: string): boolean {
  return id.length < LEAST_ID_CHARS;
}

/** What to tell whoever has a wallet under an id that could be guessed; `undefined` for a long one. */
export function guessableWarning(id: string): string | undefined {
  if (!isGuessable(id)) return undefined;
  return `This userId is short enough to be guessed, and whoever knows it controls the wallet: use one of at least ${LEAST_ID_CHARS} random characters.`;
}
