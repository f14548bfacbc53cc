/**
 * Messages of orders that are refused before anything is signed; by them clients know that nothing has moved. The proxy's
 * program has them, and nothing else of `lib/errors`.
 */

export const FROZEN =
  "The owner has frozen this account and alone can end that: with /unfreeze in the bot's chat, or in the web application";
export const PAUSED = "Sends and swaps are paused: try again later";

/** Refusals of a quote, which another moment's quote may not get. */
export const PRICE_MOVED = "The price has moved since it was approved: nothing was signed, so order it again";
export const WORSE_THAN_MARKET =
  "The quote is worse than the market price allows: try a smaller amount or a larger slippage";
