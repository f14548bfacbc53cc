/** What was asked for in a way that cannot be carried out; nothing has been changed. */
export class UsageError extends Error {}
