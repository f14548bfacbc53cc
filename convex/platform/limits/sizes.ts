import { getSetting, isSet } from "../../lib/env";

/**
 * How much runs at once: it follows the deployment's class on the platform (`CONVEX_CLASS`). S16 runs 64 actions, HTTP
 * requests among them, and 8 scheduled functions at once; S256 runs 512 and 256.
 */
type Sizes = {
  /** Pieces of work with models that run at once; the other scheduled functions are sends, cards, deposits and crons. */
  models: number;
  /** Orders without a caller, of standing orders, that are carried out at once. */
  orders: number;
  /** Requests that may wait for an answer. The other actions are free for requests that answer at once. */
  slots: number;
  /** How many of them are kept for orders and payments, and how many callers without a sign-in may hold. */
  keptForOrders: number;
  anonymous: number;
  /** Research shifts that are active at once. */
  shifts: number;
};

const SIZES = {
  S16: { models: 4, orders: 3, slots: 48, keptForOrders: 8, anonymous: 36, shifts: 100 },
  S256: { models: 64, orders: 48, slots: 384, keptForOrders: 64, anonymous: 288, shifts: 800 },
} as const satisfies Readonly<Record<string, Sizes>>;

/** The sizes of this deployment. A malformed class counts as the smallest: no transaction ends for it. */
export function getSizes(): Sizes {
  return isSet("CONVEX_CLASS") && getSetting("CONVEX_CLASS") === "S256" ? SIZES.S256 : SIZES.S16;
}
