/** A request that cannot be carried out; nothing was changed. */
export class UsageError extends Error {}
