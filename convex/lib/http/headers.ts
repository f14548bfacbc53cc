/** Request headers that several endpoints read, with their descriptions in the API document. */

export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "1 to 200 characters of your own choice. Repeating a call with the same key returns its first outcome instead of doing it again; with another request it is 409.",
};

/** How endpoints that read this header refuse. */
export const USER_TOKEN_ERRORS = {
  unauthorized:
    "The token is not valid, or the owner of the `userId` requires a token for this (level `closed`).",
  forbidden:
    "The token belongs to another signed-in user; or the `userId` has an owner whose level refuses orders and delivery settings by `userId` alone. The message says what to do.",
};

export const USER_TOKEN = {
  Authorization:
    "`Bearer <token>`: the web application's token (JWT) of the owner of this `userId`. What a `userId` that has an owner still does without it is for the owner's level to say: `guarded` (everything but orders and delivery settings), `open` (orders too, up to the owner's cap) or `closed`. Not looked at for a `userId` without an owner.",
};

/** Header of the answer to a repeated request. */
export const REPLAYED = {
  "Idempotent-Replayed":
    "`true` if an earlier request with this idempotency key had this outcome, and this one has moved nothing.",
} as const;
