import type { Part } from "./parts";

/** The morning of rising prices in Spanish, by two hands. */
export const SPANISH_UP: Part = {
  majors: [
    `Bitcoin cotiza a 97.250 dólares [BTC.price], un 3,2 % [BTC.change24h] por encima de ayer. Quien manda es Ether, que gana un 5,1 % [ETH.change24h] y alcanza los 3.659 $ [ETH.price]. Solana va por libre: cede un 1,4 % [SOL.change24h], hasta 164,14 $ [SOL.price]. Cuando los dos grandes suben y el tercero baja, conviene mirar dónde está el dinero y no solo el titular.`,
    `- BTC: {BTC.price} ({BTC.change24h} en 24 horas)\n- ETH: {ETH.price} ({ETH.change24h} en 24 horas)\n- SOL: {SOL.price} ({SOL.change24h} en 24 horas)\n\nEther lidera, Bitcoin acompaña y Solana se queda atrás. La fuerza relativa está en Ether y nada en la sesión lo desmiente.`,
  ],
  levels: [
    `El rango de 24 horas de Bitcoin va de 94.180 $ [BTC.dayLow] a 98.104 $ [BTC.dayHigh]. En Ether el mínimo fue 3.475 $ [ETH.dayLow] y el máximo 3.722 $ [ETH.dayHigh]; el techo de los dos últimos días está en 3.747 $ [ETH.high48h]. Por encima no hay oferta reciente, y por debajo del mínimo del día la subida perdería su sentido.`,
    `La resistencia de Bitcoin está en {BTC.dayHigh} y el soporte en {BTC.dayLow}; faltan {BTC.dayHigh-BTC.price} para el máximo. En Solana el nivel clave es {SOL.dayLow}, que coincide con el mínimo de 48 horas. Si lo pierde, no hay apoyo cercano a la vista.`,
  ],
  books: [
    `El libro de órdenes favorece a los compradores en Bitcoin: 51,1 millones de dólares [BTC.bidDepth] en compras frente a 44,9 millones [BTC.askDepth] en ventas. En Ether pesan más las ventas, 31,0 millones [ETH.askDepth] contra 27,6 millones [ETH.bidDepth]. El volumen fue de 38.400 millones [BTC.volume24h] en Bitcoin y 21.700 millones [ETH.volume24h] en Ether.`,
    `Cerca del precio hay órdenes de compra por {BTC.bidDepth} y de venta por {BTC.askDepth} en Bitcoin. Se negociaron {BTC.volume24h} en Bitcoin y {ETH.volume24h} en Ether durante el día. El diferencial de {BTC.spread} es mínimo, de modo que ejecutar una orden grande no resulta caro.`,
  ],
  breadth: [
    `La amplitud acompaña: 39 de las 50 mayores monedas [market.rising] suben. Hyperliquid avanza un 9,4 % [HYPE.change24h] y Chainlink un 6,3 % [LINK.change24h], mientras Dogecoin pierde un 4,1 % [DOGE.change24h] y vale 0,172 $ [DOGE.price]. La más buscada es Pepe [PEPE.trendingPlace], lo que mide la curiosidad y no el capital.`,
    `Suben {market.rising} de las cincuenta mayores monedas. HYPE encabeza con {HYPE.change24h}, LINK suma {LINK.change24h} y DOGE cierra la lista con {DOGE.change24h}. Un avance tan repartido suele durar más que el de dos o tres nombres sueltos.`,
  ],
  leverage: [
    `El apalancamiento apenas cuenta. La tasa de financiación es del 0,0015 % por hora [BTC.funding] en Bitcoin y del 0,0021 % [ETH.funding] en Ether, y en Solana es ligeramente negativa, −0,0005 % [SOL.funding]. El interés abierto suma 2.914 millones de dólares [BTC.openInterest] en Bitcoin y 388 millones [SOL.openInterest] en Solana.`,
    `Los largos pagan {BTC.funding} por hora en Bitcoin y {ETH.funding} en Ether; en Solana pagan los cortos, {SOL.funding}. Hay posiciones abiertas por {BTC.openInterest} en Bitcoin y {ETH.openInterest} en Ether. Con tasas así nadie está obligado a cerrar.`,
  ],
  flows: [
    `La oferta de monedas estables en dólares creció un 0,21 % [market.stablecoinWeek] en una semana, hasta 240.900 millones [market.stablecoinSupply]. En Base hay 4.316 millones de dólares [Base.usdcSupply] en USDC y el último bloque llevó 214 transacciones [Base.blockTransactions]. Un titular lo resume: «Bitcoin funds take in $812 million as rally extends» [market.headline]. El tono sigue siendo positivo mientras aguante la amplitud.`,
    `Las monedas estables suman {market.stablecoinSupply}, con una variación de {market.stablecoinWeek} en siete días. Bitcoin vale {BTC.marketCap} y Ether {ETH.marketCap}. Entra dinero nuevo, aunque despacio, y eso sostiene los precios sin recalentarlos. Mantenemos la confianza con un límite de pérdidas ajustado.`,
  ],
};
