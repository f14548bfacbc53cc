import type { Address } from "viem";
import { LABELS } from "../../convex/whales/chain/labels";
import type { Coin, Move } from "../chain/moves";
import { random } from "../standins/random";

/** The transfers of `whales.ts`: what is sent, and the alert that is to come of it. */

type Token = Exclude<Coin, "ETH">;

export type Planned = {
  kind: string;
  steps:
    | { kind: "single"; move: Move }
    | { kind: "together"; moves: (Move & { coin: Token })[] }
    | { kind: "mint"; coin: "USDC" | "USDT" | "DAI" | "CBBTC"; to: Address; amount: bigint };
  /** `null`: there is to be none. */
  alert: { type: "cex_inflow" | "cex_outflow" | "large_transfer"; quantity: string } | null;
};

/** So many of each; a thousand in all, 400 of them within an exchange. */
const COUNTS = {
  "within an exchange": 300,
  "within an exchange through somebody else's hands": 100,
  "into an exchange": 150,
  "out of an exchange": 120,
  "between exchanges": 40,
  "passed on to another exchange": 25,
  "in two parts": 25,
  minted: 30,
  "below the floor": 120,
  "between strangers": 60,
  failed: 30,
};

const KINDS = [
  "within an exchange",
  "within an exchange through somebody else's hands",
  "into an exchange",
  "out of an exchange",
  "between exchanges",
  "passed on to another exchange",
  "in two parts",
  "minted",
  "below the floor",
  "between strangers",
  "failed",
] as const satisfies readonly (keyof typeof COUNTS)[];

const COINS = ["USDC", "USDT", "DAI", "WETH", "CBBTC", "ETH"] as const satisfies readonly Coin[];
/** In the smallest unit: about a dollar's worth for stablecoins, and for coins what is worth much more than that. */
const UNIT: Record<Coin, bigint> = {
  USDC: 10n ** 6n,
  USDT: 10n ** 6n,
  DAI: 10n ** 18n,
  // A thousandth of an ether, a hundred-thousandth of a bitcoin: no market makes them a tenth or a tenfold of this.
  WETH: 10n ** 15n,
  ETH: 10n ** 15n,
  CBBTC: 10n ** 3n,
};
const STRANGERS = 20;

export function planned(): Planned[] {
  const chance = random("whales", "plan");
  const byExchange = new Map<string, Address[]>();
  for (const [address, { exchange }] of LABELS) {
    byExchange.set(exchange, [...(byExchange.get(exchange) ?? []), asAddress(address)]);
  }
  const exchanges = [...byExchange.values()];
  const strangers = Array.from({ length: STRANGERS }, () => asAddress(`0x${chance.hex(40)}`));
  const coin = () => chance.pick(COINS);
  const token = () => chance.pick(["USDC", "USDT", "DAI", "WETH", "CBBTC"] as const);
  /** Well above the floor, each another one. */
  const large = (of: Coin) => UNIT[of] * BigInt(chance.whole(3_000_000, 50_000_000));
  const small = (of: Coin) => UNIT[of] * BigInt(chance.whole(1_000, 90_000));
  const stranger = () => chance.pick(strangers);
  const own = () => chance.pick(exchanges);
  const pair = <Item>(items: readonly Item[]): [Item, Item] => {
    const [one, other] = chance.shuffled([...items]);
    if (one === undefined || other === undefined) throw new Error("There are too few");
    return [one, other];
  };
  const single = (kind: string, move: Move, type: NonNullable<Planned["alert"]>["type"] | null): Planned => ({
    kind,
    steps: { kind: "single", move },
    alert: type === null ? null : { type, quantity: move.amount.toString() },
  });

  const makers: Record<keyof typeof COUNTS, (kind: string) => Planned> = {
    "within an exchange": (kind) => {
      const [from, to] = pair(own());
      const of = coin();
      return single(kind, { coin: of, from, to, amount: large(of) }, null);
    },
    "within an exchange through somebody else's hands": (kind) => {
      const [from, to] = pair(own());
      const [between, of] = [stranger(), token()];
      const amount = large(of);
      const moves = [
        { coin: of, from, to: between, amount },
        { coin: of, from: between, to, amount },
      ];
      return { kind, steps: { kind: "together", moves }, alert: null };
    },
    "into an exchange": (kind) => {
      const of = coin();
      const move = { coin: of, from: stranger(), to: chance.pick(own()), amount: large(of) };
      return single(kind, move, "cex_inflow");
    },
    "out of an exchange": (kind) => {
      const of = coin();
      const move = { coin: of, from: chance.pick(own()), to: stranger(), amount: large(of) };
      return single(kind, move, "cex_outflow");
    },
    "between exchanges": (kind) => {
      const [one, other] = pair(exchanges);
      const of = coin();
      const move = { coin: of, from: chance.pick(one), to: chance.pick(other), amount: large(of) };
      return single(kind, move, "large_transfer");
    },
    "passed on to another exchange": (kind) => {
      const [one, other] = pair(exchanges);
      const [between, of] = [stranger(), token()];
      const amount = large(of);
      const moves = [
        { coin: of, from: chance.pick(one), to: between, amount },
        { coin: of, from: between, to: chance.pick(other), amount },
      ];
      return {
        kind,
        steps: { kind: "together", moves },
        alert: { type: "large_transfer", quantity: `${amount}` },
      };
    },
    "in two parts": (kind) => {
      const [first, second] = pair(own());
      const [from, of] = [stranger(), token()];
      const parts = [large(of), large(of)] as const;
      const moves = [
        { coin: of, from, to: first, amount: parts[0] },
        { coin: of, from, to: second, amount: parts[1] },
      ];
      const quantity = (parts[0] + parts[1]).toString();
      return { kind, steps: { kind: "together", moves }, alert: { type: "cex_inflow", quantity } };
    },
    minted: (kind) => {
      const of = chance.pick(["USDC", "USDT", "DAI"] as const);
      const amount = large(of);
      const alert = { type: "large_transfer", quantity: amount.toString() } as const;
      return { kind, steps: { kind: "mint", coin: of, to: stranger(), amount }, alert };
    },
    "below the floor": (kind) => {
      const of = coin();
      return single(kind, { coin: of, from: stranger(), to: chance.pick(own()), amount: small(of) }, null);
    },
    "between strangers": (kind) => {
      const [from, to] = pair(strangers);
      const of = coin();
      return single(kind, { coin: of, from, to, amount: large(of) }, null);
    },
    failed: (kind) => {
      const move = { coin: token(), from: stranger(), to: chance.pick(own()), amount: 10n ** 40n };
      return single(kind, move, null);
    },
  };
  const all = KINDS.flatMap((kind) => Array.from({ length: COUNTS[kind] }, () => makers[kind](kind)));
  return chance.shuffled(all);
}

function asAddress(text: string): Address {
  return `0x${text.slice(2)}`;
}
