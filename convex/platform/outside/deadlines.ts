import { SECOND } from "../../lib/time";

/**
 * How long the service waits for providers and for its own work, in milliseconds. They become `AbortSignal.timeout`s:
 * real time even on a local stack whose clock runs faster. One mutable object, so that a test of slowness can shorten
 * them.
 */
export const deadlines = {
  /** An HTTP caller's wait for work that continues in the background. Clients give up after 30 s, so answers leave by 28 s. */
  caller: 27 * SECOND,
  /** A language-model call while its caller waits. */
  llmInteractive: 25 * SECOND,
  /** A language-model call of scheduled work. */
  llmScheduled: 60 * SECOND,
  /** The sentiment model searches while it answers: 45 s is usual, and its documentation asks for 120 s. */
  sentiment: 120 * SECOND,
  /** How long on-demand research waits for sources that are being asked before it uses their last observation. */
  researchSources: 11 * SECOND,
  /** How long chat waits for a market refresh before it answers with older figures. */
  chatContext: 5 * SECOND,
  chain: 10 * SECOND,
  /** One source of prices, asked one after another: the feeds, then each ticker. */
  price: 3 * SECOND,
  /** All sources of prices, asked together before the model. */
  grounding: 3 * SECOND,
  publicData: 8 * SECOND,
  /** One request to the payment facilitator, which itself waits for the chain. */
  facilitator: 20 * SECOND,
  swap: 10 * SECOND,
  /** How long a caller waits for a transaction: until it has a hash, and for its receipt while time is left. */
  transaction: 24 * SECOND,
  receipt: 15 * SECOND,
  /** How long an order waits for its owner's tap before its caller gets an answer that says so. */
  tap: 20 * SECOND,
  /** How long a swap waits until its approval is mined. */
  approval: 20 * SECOND,
  /** How long a caller waits for a payment that no node knows: most such hashes are made up. */
  unknownHash: 2.5 * SECOND,
  /** How far behind its neighbours a node may be: three blocks. Until then no view of what has not happened is final. */
  lag: 6 * SECOND,
  /** How long a proof is looked up while its caller waits, before this goes on as work that outlives them. */
  look: 8 * SECOND,
  /** One token of the gateway. */
  probe: 5 * SECOND,
  /** How long a deposit webhook waits for the chain; webhook senders treat 5 s without an answer as a failure. */
  deposit: 3 * SECOND,
  messenger: 15 * SECOND,
  /** A model's reading of an alert's words, at most two turns while a caller waits; the answer is a few words. */
  alertWords: 12 * SECOND,
  webhook: 10 * SECOND,
  /** How long the caller who asked for a card waits for its delivery. */
  delivery: 8 * SECOND,
  /** One request to the agent API, which answers immediately: its work continues in the background. */
  agentApi: 15 * SECOND,
};
