/** What refuses an order before anything is signed, in words by which clients know that nothing has moved. */

export const FROZEN = "The owner has frozen this account";
export const PAUSED = "Sends and swaps are paused: try again later";
