import type { Part } from "./parts";

/** The morning of falling prices in French, by two hands. */
export const FRENCH_DOWN: Part = {
  majors: [
    `La séance est difficile. Le bitcoin recule de 4,35 % [BTC.change24h] à 61 480 $ [BTC.price], l’ether perd 7,9 % [ETH.change24h] à 1 643 $ [ETH.price] et Solana abandonne 9,1 % [SOL.change24h] à 84,31 $ [SOL.price]. Plus l’actif est risqué, plus il souffre : c’est la marque d’une réduction générale des positions et non d’un accident isolé.`,
    `- BTC : {BTC.price}, {BTC.change24h} sur 24 heures\n- ETH : {ETH.price}, {ETH.change24h} sur 24 heures\n- SOL : {SOL.price}, {SOL.change24h} sur 24 heures\n\nTout baisse, et l’ordre des pertes suit celui du risque. Rien n’indique pour l’instant que l’appétit revienne.`,
  ],
  levels: [
    `Le bitcoin a évolué entre 60 910 $ [BTC.dayLow] et 64 520 $ [BTC.dayHigh] en 24 heures. Le plancher de l’ether se situe à 1 618 $ [ETH.dayLow], celui de Solana à 82,95 $ [SOL.dayLow]. Ces seuils sont aussi les plus bas de deux jours [BTC.low48h][ETH.low48h][SOL.low48h]. S’ils cèdent, aucun appui récent ne subsiste.`,
    `Le support du bitcoin est à {BTC.dayLow}, la résistance à {BTC.dayHigh}. Il y a deux jours il touchait encore {BTC.high48h}. Pour l’ether, {ETH.dayLow} est le niveau à surveiller. Les cours sont plus proches du plancher que du plafond, et la prudence s’impose.`,
  ],
  books: [
    `Les carnets confirment le tableau : 55,7 millions de dollars [BTC.askDepth] de ventes contre 38,2 millions [BTC.bidDepth] d’achats près du cours du bitcoin, 23,1 millions [ETH.askDepth] contre 14,9 millions [ETH.bidDepth] pour l’ether. Les volumes atteignent 51,3 milliards [BTC.volume24h] pour le premier et 28,95 milliards [ETH.volume24h] pour le second.`,
    `Près du cours, les ordres de vente ({BTC.askDepth}) dépassent les ordres d’achat ({BTC.bidDepth}) sur le bitcoin. Le volume de la journée s’élève à {BTC.volume24h}, et l’écart entre achat et vente à {BTC.spread}. Les teneurs de marché se retirent, ce qui agrandit chaque mouvement.`,
  ],
  breadth: [
    `Seules 4 des 50 plus grandes cryptomonnaies [market.rising] progressent. Zcash fait exception avec +12,7 % [ZEC.change24h] à 71,20 $ [ZEC.price]. Aave chute de 12,8 % [AAVE.change24h], Chainlink de 11,3 % [LINK.change24h] et Dogecoin de 10,4 % [DOGE.change24h]. Une telle unanimité dure rarement, mais elle ne s’arrête pas toujours au premier jour.`,
    `Sur les cinquante plus grandes, {market.rising} seulement montent. ZEC gagne {ZEC.change24h} à contre-courant, tandis qu’AAVE cède {AAVE.change24h} et LINK {LINK.change24h}. Quelqu’un choisit encore, puisque tout ne tombe pas du même pas.`,
  ],
  leverage: [
    `Les taux de financement sont passés sous zéro : −0,0011 % par heure [BTC.funding] sur le bitcoin, −0,0034 % [ETH.funding] sur l’ether et −0,0062 % [SOL.funding] sur Solana. Les vendeurs paient donc les acheteurs. Les positions ouvertes représentent 2,1 milliards de dollars [BTC.openInterest] sur le bitcoin et 241 millions [SOL.openInterest] sur Solana.`,
    `Financement horaire : {BTC.funding} sur le bitcoin, {ETH.funding} sur l’ether, {SOL.funding} sur Solana. L’intérêt ouvert s’établit à {BTC.openInterest} et {ETH.openInterest} pour les deux premiers. La foule penche d’un seul côté, et le moindre rebond la surprendrait.`,
  ],
  flows: [
    `L’offre de stablecoins en dollars se contracte de 0,36 % [market.stablecoinWeek] en une semaine, à 238,4 milliards [market.stablecoinSupply]. Le dernier bloc de Base contient 171 transactions [Base.blockTransactions] et ses frais de base sont de 0,0118 gwei [Base.baseFee]. L’actualité pèse aussi : « Regulator delays decision on Ether staking funds » [market.headline]. Nous restons sur la défensive.`,
    `Les stablecoins totalisent {market.stablecoinSupply}, soit {market.stablecoinWeek} en sept jours. Le bitcoin vaut {BTC.marketCap}, l’ether {ETH.marketCap}. Moins de liquidités, pas de catalyseur : la charge de la preuve revient aux acheteurs, et nous attendons un premier creux plus haut avant de revenir.`,
  ],
};
