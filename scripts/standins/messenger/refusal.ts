/** What the Bot API answers to a request that it refuses: a status, and a description. */
export class Refusal extends Error {
  constructor(
    description: string,
    readonly status = 400,
  ) {
    super(description);
  }
}

/** @throws Refusal */
export function refuse(problem: string): never {
  throw new Refusal(`Bad Request: ${problem}`);
}
