import type { Fact, Kind } from "../../../convex/evidence/tables";
import { KINDS, wordingOf } from "../../../convex/evidence/kinds";

/** Two mornings as a writer's prompt tells of them, with figures that never change: what the corpus was written from. */

export type Scene = "up" | "down";

/** Epoch ms: a Thursday and a Tuesday, 09:00 UTC. */
export const MOMENTS: Record<Scene, number> = {
  up: Date.UTC(2026, 2, 12, 9),
  down: Date.UTC(2026, 5, 9, 9),
};

type Told = Partial<Record<Kind, number | string>>;

const EXCHANGE: readonly Kind[] = [
  "lastTrade",
  "dayChange",
  "dayHigh",
  "dayLow",
  "high48h",
  "low48h",
  "dayVolume",
  "bidDepth",
  "askDepth",
  "spread",
];

function sourceOf(kind: Kind): string {
  if (EXCHANGE.includes(kind)) return "Coinbase";
  if (kind === "funding" || kind === "openInterest") return "Hyperliquid";
  if (kind === "stablecoinSupply" || kind === "stablecoinWeek") return "DefiLlama";
  if (kind === "usdcSupply" || kind === "blockTransactions" || kind === "baseFee")
    return "Base, read over RPC";
  return kind === "headline" ? "markets.example, found by GDELT" : "CoinGecko";
}

const UP: [subject: string, told: Told][] = [
  [
    "BTC",
    {
      ...{
        price: 97_250.5,
        change24h: 3.21,
        lastTrade: 97_262.1,
        dayChange: 3.18,
        dayHigh: 98_104,
        dayLow: 94_180.25,
      },
      ...{ high48h: 98_104, low48h: 92_910, dayVolume: 14_212.6, volume24h: 38_420_000_000 },
      ...{ marketCap: 1_926_000_000_000, rank: 1, bidDepth: 51_130_000, askDepth: 44_870_000, spread: 0.102 },
      ...{ funding: 0.0015, openInterest: 2_914_000_000, name: "Bitcoin" },
    },
  ],
  [
    "ETH",
    {
      ...{
        price: 3_659.12,
        change24h: 5.08,
        lastTrade: 3_660.02,
        dayChange: 5.02,
        dayHigh: 3_722.4,
        dayLow: 3_475.13,
      },
      ...{ high48h: 3_747.2, low48h: 3_455.9, dayVolume: 182_340, volume24h: 21_700_000_000 },
      ...{ marketCap: 441_600_000_000, rank: 2, bidDepth: 27_640_000, askDepth: 31_020_000, spread: 0.27 },
      ...{ funding: 0.0021, openInterest: 1_622_000_000, name: "Ethereum" },
    },
  ],
  [
    "SOL",
    {
      ...{
        price: 164.14,
        change24h: -1.42,
        lastTrade: 164.05,
        dayChange: -1.47,
        dayHigh: 168.9,
        dayLow: 161.72,
      },
      ...{ high48h: 171.35, low48h: 161.72, dayVolume: 1_914_000, volume24h: 4_310_000_000 },
      ...{ marketCap: 90_770_000_000, rank: 6, bidDepth: 8_420_000, askDepth: 9_950_000, spread: 0.61 },
      ...{ funding: -0.0005, openInterest: 388_000_000, name: "Solana" },
    },
  ],
  ["market", { rising: 39, stablecoinSupply: 240_924_292_473, stablecoinWeek: 0.2125 }],
  ["Base", { usdcSupply: 4_316_000_000, blockTransactions: 214, baseFee: 0.0052 }],
  ["PEPE", { trendingPlace: 1, name: "Pepe" }],
  ["HYPE", { trendingPlace: 2, price: 39.4, change24h: 9.4, name: "Hyperliquid" }],
  ["SUI", { trendingPlace: 3, name: "Sui" }],
  ["LINK", { price: 15.3, change24h: 6.31, name: "Chainlink" }],
  ["DOGE", { price: 0.172, change24h: -4.13, name: "Dogecoin" }],
  ["market", { headline: "Bitcoin funds take in $812 million as rally extends" }],
  ["market", { headline: "Developers of Ethereum set date for next upgrade" }],
];

const DOWN: [subject: string, told: Told][] = [
  [
    "BTC",
    {
      ...{
        price: 61_480,
        change24h: -4.35,
        lastTrade: 61_455.5,
        dayChange: -4.41,
        dayHigh: 64_520,
        dayLow: 60_910,
      },
      ...{ high48h: 65_880, low48h: 60_910, dayVolume: 22_870, volume24h: 51_300_000_000 },
      ...{ marketCap: 1_215_000_000_000, rank: 1, bidDepth: 38_200_000, askDepth: 55_700_000, spread: 0.16 },
      ...{ funding: -0.0011, openInterest: 2_105_000_000, name: "Bitcoin" },
    },
  ],
  [
    "ETH",
    {
      ...{
        price: 1_642.75,
        change24h: -7.86,
        lastTrade: 1_641.2,
        dayChange: -7.95,
        dayHigh: 1_798,
        dayLow: 1_618.4,
      },
      ...{ high48h: 1_834.6, low48h: 1_618.4, dayVolume: 401_200, volume24h: 28_950_000_000 },
      ...{ marketCap: 198_300_000_000, rank: 2, bidDepth: 14_900_000, askDepth: 23_100_000, spread: 0.61 },
      ...{ funding: -0.0034, openInterest: 1_108_000_000, name: "Ethereum" },
    },
  ],
  [
    "SOL",
    {
      ...{ price: 84.31, change24h: -9.12, lastTrade: 84.22, dayChange: -9.2, dayHigh: 93.4, dayLow: 82.95 },
      ...{ high48h: 95.7, low48h: 82.95, dayVolume: 5_220_000, volume24h: 6_120_000_000 },
      ...{ marketCap: 48_900_000_000, rank: 6, bidDepth: 5_310_000, askDepth: 8_020_000, spread: 1.19 },
      ...{ funding: -0.0062, openInterest: 241_000_000, name: "Solana" },
    },
  ],
  ["market", { rising: 4, stablecoinSupply: 238_412_000_000, stablecoinWeek: -0.36 }],
  ["Base", { usdcSupply: 4_102_000_000, blockTransactions: 171, baseFee: 0.0118 }],
  ["ZEC", { trendingPlace: 3, price: 71.2, change24h: 12.7, name: "Zcash" }],
  ["LINK", { price: 8.94, change24h: -11.3, name: "Chainlink" }],
  ["DOGE", { price: 0.0921, change24h: -10.4, name: "Dogecoin" }],
  ["AAVE", { price: 96.4, change24h: -12.8, name: "Aave" }],
  ["market", { headline: "Regulator delays decision on Ether staking funds" }],
  ["market", { headline: "Bitcoin slides as traders cut risk" }],
];

/** What the collectors brought, in the order in which a prompt numbers it. */
export function factsOfScene(scene: Scene): Fact[] {
  const observedAt = MOMENTS[scene];
  return { up: UP, down: DOWN }[scene].flatMap(([subject, told]) =>
    kindsOf(told).map((kind): Fact => {
      const source = sourceOf(kind);
      const url = "https://example.org/figures";
      return { subject, kind, value: told[kind] ?? 0, unit: wordingOf(kind).unit, observedAt, source, url };
    }),
  );
}

function kindsOf(told: Told): Kind[] {
  return Object.keys(told).filter((name): name is Kind => Object.hasOwn(KINDS, name));
}
