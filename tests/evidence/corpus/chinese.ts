import type { Part } from "./parts";

/** The morning of falling prices in Chinese, by two hands. */
export const CHINESE_DOWN: Part = {
  majors: [
    `市场普遍下跌。比特币下跌4.35% [BTC.change24h]，报61,480美元 [BTC.price]；以太坊下跌7.86% [ETH.change24h]，报1,643美元 [ETH.price]；Solana跌幅最大，达9.12% [SOL.change24h]，报84.31美元 [SOL.price]。风险越高的资产跌得越多，这说明投资者在全面降低仓位，而不是某一条链出了问题。`,
    `- BTC：{BTC.price}，24小时{BTC.change24h}\n- ETH：{ETH.price}，24小时{ETH.change24h}\n- SOL：{SOL.price}，24小时{SOL.change24h}\n\n三大币种全部走低，跌幅与风险成正比。在这个顺序反转之前，看不到买盘回归的迹象。`,
  ],
  levels: [
    `比特币24小时内最高到64,520美元 [BTC.dayHigh]，最低到60,910美元 [BTC.dayLow]。以太坊的低点是1,618美元 [ETH.dayLow]，Solana的低点是82.95美元 [SOL.dayLow]。这些价位同时也是两天来的低点，一旦跌破，近期没有明显的支撑。`,
    `比特币的支撑位在{BTC.dayLow}，阻力位在{BTC.dayHigh}。两天前它还曾触及{BTC.high48h}。以太坊需要守住{ETH.dayLow}。目前价格离底部更近，应当谨慎。`,
  ],
  books: [
    `订单簿印证了这一判断：比特币价格附近的卖单为5,570万美元 [BTC.askDepth]，买单只有3,820万美元 [BTC.bidDepth]。以太坊的卖单为2,310万美元 [ETH.askDepth]，买单为1,490万美元 [ETH.bidDepth]。24小时成交额分别为513亿美元 [BTC.volume24h]和289.5亿美元 [ETH.volume24h]。`,
    `比特币附近的卖单（{BTC.askDepth}）多于买单（{BTC.bidDepth}）。全天成交额为{BTC.volume24h}，买卖价差为{BTC.spread}。做市商正在后退，每一次波动都会因此放大。`,
  ],
  breadth: [
    `50个最大币种中只有4个 [market.rising]上涨。Zcash逆势上涨12.7% [ZEC.change24h]，报71.20美元 [ZEC.price]。Aave下跌12.8% [AAVE.change24h]，Chainlink下跌11.3% [LINK.change24h]，狗狗币下跌10.4% [DOGE.change24h]。如此一边倒的行情很少持续，但往往不会在第一天结束。`,
    `五十个最大币种中，上涨的只有{market.rising}个。ZEC逆势{ZEC.change24h}，AAVE为{AAVE.change24h}，LINK为{LINK.change24h}。仍有人在挑选，而不是全部抛售。`,
  ],
  leverage: [
    `资金费率已经转负：比特币每小时-0.0011% [BTC.funding]，以太坊-0.0034% [ETH.funding]，Solana为-0.0062% [SOL.funding]，也就是空头向多头付费。未平仓合约方面，比特币为21.05亿美元 [BTC.openInterest]，Solana为2.41亿美元 [SOL.openInterest]。`,
    `每小时资金费率：比特币{BTC.funding}，以太坊{ETH.funding}，Solana{SOL.funding}。未平仓合约分别为{BTC.openInterest}和{ETH.openInterest}。多数人站在同一边，任何反弹都会让他们措手不及。`,
  ],
  flows: [
    `美元稳定币供应一周内减少0.36% [market.stablecoinWeek]，降至2,384亿美元 [market.stablecoinSupply]。Base最新区块包含171笔交易 [Base.blockTransactions]，基础费用为0.0118 gwei [Base.baseFee]。新闻也不利：“Regulator delays decision on Ether staking funds” [market.headline]。我们保持防守。`,
    `稳定币总量为{market.stablecoinSupply}，七天变化{market.stablecoinWeek}。比特币市值{BTC.marketCap}，以太坊市值{ETH.marketCap}。资金减少，又缺少催化剂，举证责任在买方。`,
  ],
};
