/** Request headers that several endpoints read, with what the API document says of them. */

export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "1 to 200 characters of your own choice. Repeating a call with the same key returns its first outcome instead of doing it again; with another request it is 409.",
};

/** How endpoints that heed it refuse. */
export const USER_TOKEN_ERRORS = {
  unauthorized:
    "The token is not valid, or the `userId` has an owner who keeps this for their token: the level `closed`.",
  forbidden:
    "The token belongs to another signed-in user; or the `userId` has an owner, whose level refuses orders and delivery settings by `userId` alone. The message names the ways out.",
};

export const USER_TOKEN = {
  Authorization:
    "`Bearer <token>`: the web application's token (JWT) of the owner of this `userId`. What a `userId` that has an owner still does without it is for the owner's level to say: `guarded` (everything but orders and delivery settings), `open` (orders too, up to the owner's cap) or `closed`. Not looked at for a `userId` without an owner.",
};

/** Of an answer to a repeat. */
export const REPLAYED = {
  "Idempotent-Replayed":
    "`true` where an earlier request with this idempotency key had this outcome, and this one has moved nothing.",
} as const;
