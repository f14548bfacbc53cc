/** Request headers that several endpoints read, with what the API document says of them. */

export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "1 to 200 characters of your own choice. Repeating a call with the same key returns its first outcome instead of doing it again; with another request it is 409.",
};

/** How endpoints that heed it refuse. */
export const USER_TOKEN_ERRORS = {
  unauthorized: "The `userId` belongs to a signed-in user, and no valid token of theirs was sent.",
  forbidden: "The token belongs to another signed-in user.",
};

export const USER_TOKEN = {
  Authorization:
    "`Bearer <token>`: the web application's token (JWT) of the signed-in user whose `userId` this is. Needed once the `userId` belongs to a signed-in user, not looked at before.",
};
