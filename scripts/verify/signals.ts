import { parseArgs } from "node:util";
import { BaseError, isAddress } from "viem";
import { checkPublicFigures } from "./figures";
import {
  chainAt,
  checkAnchors,
  checkMarket,
  fetchJson,
  venueMarket,
  type Anchor,
  type Market,
} from "./outside";
import { checkChain, Failure, readRecord, listStories, type Findings, type SignalRecord } from "./record";

/**
 * `npm run verify-signals`: checks a signal record against its hash chain, its own rules, the market and its anchors.
 * It imports nothing of the service that it checks and computes everything again, so that it can be read on its own.
 */

const USAGE = `Usage: npm run verify-signals -- URL [--candles venue|URL] [--rpc URL --anchor ADDRESS] [--head HASH]

Computes entries and outcomes again from one-minute --candles ("venue": Coinbase's public API), reads from an RPC of Base
what the account of the anchors has sent, and looks for a hash that a card has published as the --head.
Exit code 0: everything that was checked holds, and the rest is listed; 1: it does not hold; 2: it could not be read.`;

type Means = { head?: string | undefined; market?: Market | undefined; anchor?: Anchor | undefined };

/** Checks a record with the available sources, and reports the rest as unchecked. @throws Failure */
export async function verify(record: SignalRecord, { head, market, anchor }: Means = {}): Promise<Findings> {
  const found: Findings = { problems: [], notes: [], unchecked: [] };
  checkChain(record, head, found);
  const stories = listStories(record, found);
  checkPublicFigures(record, stories, found);
  if (market === undefined) found.unchecked.push("entries and outcomes against the market: --candles venue");
  else await checkMarket(stories, market, found);
  if (anchor === undefined)
    found.unchecked.push("since when the events are fixed: --rpc URL --anchor ADDRESS");
  else await checkAnchors(record, stories, anchor, found);
  return found;
}

const VENUE = "https://api.exchange.coinbase.com";

export async function main(args: string[]): Promise<number> {
  const text = { type: "string" } as const;
  const options = { candles: text, rpc: text, anchor: text, head: text };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { rpc, anchor: address, candles } = values;
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Failure(USAGE);
  if ((rpc === undefined) !== (address === undefined))
    throw new Failure("--anchor and --rpc go together: one without the other checks nothing");
  if (address !== undefined && !isAddress(address)) throw new Failure(`${address} is no address`);
  const record = await readRecord((path) => fetchJson(source.replace(/\/+$/, "") + path));
  const { problems, notes, unchecked } = await verify(record, {
    head: values.head?.toLowerCase(),
    market: candles === undefined ? undefined : venueMarket(candles === "venue" ? VENUE : candles),
    anchor: rpc === undefined || address === undefined ? undefined : { address, chain: chainAt(rpc) },
  });
  const size = `${record.events.length} events, head ${record.head ?? "none"}`;
  if (problems.length === 0) console.log(`✓ The record holds, as far as it was checked: ${size}`);
  else console.log(["✗ The record does not hold:", ...problems].join("\n  - "));
  for (const note of notes) console.log(`  Note: ${note}`);
  if (unchecked.length > 0) console.log(["Not checked:", ...unchecked].join("\n  - "));
  return problems.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith("verify/signals.ts") === true) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    const isKnown = [Failure, TypeError, SyntaxError, BaseError].some((one) => error instanceof one);
    console.error(isKnown ? String(error) : error);
    process.exitCode = 2;
  }
}
