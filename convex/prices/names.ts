const SOURCES: Readonly<Record<string, string>> = {
  chainlink: "Chainlink",
  coinbase: "Coinbase",
  binance: "Binance",
  coingecko: "CoinGecko",
  llm: "a language model",
  model: "a language model",
};

/** Who told a figure, as readers know them. */
export function sourceName(source: string): string {
  return SOURCES[source] ?? source;
}
