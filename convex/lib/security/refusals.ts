/** Messages of orders that are refused before anything is signed; by them clients know that nothing has moved. */

export const FROZEN = "The owner has frozen this account";
export const PAUSED = "Sends and swaps are paused: try again later";
