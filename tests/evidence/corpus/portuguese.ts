import type { Part } from "./parts";

/** The morning of rising prices in Portuguese, by two hands. */
export const PORTUGUESE_UP: Part = {
  majors: [
    `O Bitcoin é negociado a US$ 97.250 [BTC.price], alta de 3,2% [BTC.change24h] em um dia. O destaque é o Ether, que sobe 5,1% [ETH.change24h] e chega a US$ 3.659 [ETH.price]. A Solana destoa: recua 1,4% [SOL.change24h], para US$ 164,14 [SOL.price]. A diferença entre eles diz mais do que cada número sozinho.`,
    `- BTC: {BTC.price}, {BTC.change24h} em 24 horas\n- ETH: {ETH.price}, {ETH.change24h} em 24 horas\n- SOL: {SOL.price}, {SOL.change24h} em 24 horas\n\nO Ether lidera, o Bitcoin acompanha e a Solana fica para trás. A força relativa está no Ether.`,
  ],
  levels: [
    `A faixa de 24 horas do Bitcoin vai de US$ 94.180 [BTC.dayLow] a US$ 98.104 [BTC.dayHigh]. O Ether oscilou entre US$ 3.475 [ETH.dayLow] e US$ 3.722 [ETH.dayHigh], e a máxima de dois dias é US$ 3.747 [ETH.high48h]. Acima disso não há oferta recente; abaixo da mínima do dia a alta perde força.`,
    `A resistência do Bitcoin está em {BTC.dayHigh} e o suporte em {BTC.dayLow}. Faltam {BTC.dayHigh-BTC.price} para a máxima. Na Solana, {SOL.dayLow} é o nível decisivo, pois é também a mínima de 48 horas. Se ceder, o caminho fica aberto para baixo.`,
  ],
  books: [
    `No livro de ofertas do Bitcoin há US$ 51,1 milhões [BTC.bidDepth] em compras contra US$ 44,9 milhões [BTC.askDepth] em vendas. No Ether as vendas pesam mais: US$ 31,0 milhões [ETH.askDepth] contra US$ 27,6 milhões [ETH.bidDepth]. O volume do dia foi de US$ 38,4 bilhões [BTC.volume24h] em Bitcoin e US$ 21,7 bilhões [ETH.volume24h] em Ether.`,
    `Perto do preço há ordens de compra de {BTC.bidDepth} e de venda de {BTC.askDepth} no Bitcoin. O giro somou {BTC.volume24h} em Bitcoin e {ETH.volume24h} em Ether. O spread de {BTC.spread} é estreito, e ordens grandes passam sem susto.`,
  ],
  breadth: [
    `A alta é ampla: 39 das 50 maiores moedas [market.rising] sobem. A Hyperliquid ganha 9,4% [HYPE.change24h] e a Chainlink 6,3% [LINK.change24h]. A Dogecoin cai 4,1% [DOGE.change24h] e vale US$ 0,172 [DOGE.price]. A mais procurada é a Pepe [PEPE.trendingPlace], sinal de curiosidade e não de capital.`,
    `Das cinquenta maiores moedas, {market.rising} sobem. HYPE puxa a fila com {HYPE.change24h}, LINK soma {LINK.change24h} e DOGE fica por último com {DOGE.change24h}. Um avanço tão espalhado costuma durar mais.`,
  ],
  leverage: [
    `A alavancagem conta pouco. A taxa de financiamento é de 0,0015% por hora [BTC.funding] no Bitcoin e 0,0021% [ETH.funding] no Ether; na Solana é levemente negativa, -0,0005% [SOL.funding]. As posições em aberto somam US$ 2,9 bilhões [BTC.openInterest] em Bitcoin e US$ 388 milhões [SOL.openInterest] em Solana.`,
    `Os comprados pagam {BTC.funding} por hora no Bitcoin e {ETH.funding} no Ether; na Solana pagam os vendidos, {SOL.funding}. Há {BTC.openInterest} em aberto em Bitcoin e {ETH.openInterest} em Ether. Com taxas assim ninguém é forçado a sair.`,
  ],
  flows: [
    `A oferta de stablecoins em dólar cresceu 0,21% [market.stablecoinWeek] em uma semana, para US$ 240,9 bilhões [market.stablecoinSupply]. Na Base há US$ 4,3 bilhões [Base.usdcSupply] em USDC, e o último bloco teve 214 transações [Base.blockTransactions]. Uma manchete resume: “Bitcoin funds take in $812 million as rally extends” [market.headline]. O tom segue positivo enquanto a amplitude durar.`,
    `As stablecoins somam {market.stablecoinSupply}, variação de {market.stablecoinWeek} em sete dias. O Bitcoin vale {BTC.marketCap} e o Ether {ETH.marketCap}. Entra dinheiro novo, ainda que devagar. Seguimos confiantes, com um limite de perdas próximo.`,
  ],
};
