/**
 * Addresses of exchanges on Base, in lower case. Each line names its source: a stored copy of a public document that
 * names the address as the exchange's on this chain. An exchange without such a document is missing (Coinbase, for one,
 * publishes none), so its flows are not seen.
 */

/** The lists that these exchanges publish as their proof of reserves, from DefiLlama's copies, each at one revision. */
const LISTED = "https://github.com/DefiLlama/DefiLlama-Adapters/blob";
/**
 * Rows of network "BASE" in Binance's own list
 * (binance.com/en/blog/community/our-commitment-to-transparency-2895840147147652626).
 */
const BINANCE = `${LISTED}/b42f973e01c015c50bb1f345b1a26584dd8b3875/projects/binance/config.js`;
const BYBIT = `${LISTED}/9999551965adb5b61457a144b1d2f94e0e38df27/projects/bybit/index.js`;
const KUCOIN = `${LISTED}/02a8f05276ba852172dcb0da3c11bf0b6ce26546/projects/kucoin/index.js`;
const OKX = `${LISTED}/0748004f169415a13656a29188cdb956dad4afaf/projects/okex/index.js`;

const LINES = [
  ["0x3304e22ddaa22bcdc5fca2269b418046ae7b566a", "Binance", BINANCE],
  ["0xf977814e90da44bfa03b6295a0616a897441acec", "Binance", BINANCE],
  ["0x1db92e2eebc8e0c075a02bea49a2935bcd2dfcf4", "Bybit", BYBIT],
  ["0x7e8c73462aaa9d61c801bd9f5682db014387621a", "Bybit", BYBIT],
  ["0x88a1493366d48225fc3cefbdae9ebb23e323ade3", "Bybit", BYBIT],
  ["0xbaed383ede0e5d9d72430661f3285daa77e9439f", "Bybit", BYBIT],
  ["0xee5b5b923ffce93a870b3104b7ca09c3db80047a", "Bybit", BYBIT],
  ["0x17a30350771d02409046a683b18fe1c13ccfc4a8", "KuCoin", KUCOIN],
  ["0x18b0f4547a89fe4c5fe84f258bea3601fa281e9f", "KuCoin", KUCOIN],
  ["0x26c8e06590f73c2571d68a41ebccec38e12ddd9f", "KuCoin", KUCOIN],
  ["0x2933782b5a8d72f2754103d1489614f29bfa4625", "KuCoin", KUCOIN],
  ["0xb8e6d31e7b212b2b7250ee9c26c56cebbfbe6b23", "KuCoin", KUCOIN],
  ["0xcfdb97872667c55c15c255b9af5c715cc4bd8a69", "KuCoin", KUCOIN],
  ["0xd2cb829848f8857a589b03fa8b567c5ff0742e18", "KuCoin", KUCOIN],
  ["0xd6216fc19db775df9774a6e33526131da7d19a2c", "KuCoin", KUCOIN],
  ["0x0db6ffb36e26958cfa53cbe6d767f3cc7ba595d7", "OKX", OKX],
  ["0x10b7dfc30e290b77ded2550d66974c6a124dfa0d", "OKX", OKX],
  ["0x39591e7c099a379fd7b349ebfecaeef439c40454", "OKX", OKX],
  ["0xc8802feab2fafb48b7d1ade77e197002c210f391", "OKX", OKX],
] as const;

/** By address: its exchange, and the source of the label. */
export const LABELS: ReadonlyMap<string, { exchange: string; source: string }> = new Map(
  LINES.map(([address, exchange, source]) => [address, { exchange, source }]),
);

/** The address that tokens are minted from and burned to. */
export const ZERO = "0x0000000000000000000000000000000000000000";

/** Every address whose transfers are watched. */
export const PARTIES: readonly string[] = [...LABELS.keys(), ZERO];
