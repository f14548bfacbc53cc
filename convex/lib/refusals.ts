/**
 * Messages of orders that are refused before anything is signed; by them clients know that nothing has moved. The proxy's
 * program has them, and nothing else of `lib/errors`.
 */

export const FROZEN = "The owner has frozen this account";
export const PAUSED = "Sends and swaps are paused: try again later";
