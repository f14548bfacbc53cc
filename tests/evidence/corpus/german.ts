import type { Part } from "./parts";

/** The morning of rising prices in German, by two hands. */
export const GERMAN_UP: Part = {
  majors: [
    `Bitcoin kostet 97.250 Dollar [BTC.price] und liegt damit 3,2 % [BTC.change24h] höher als am Vortag. Stärker ist Ether: Ein Plus von 5,1 Prozent [ETH.change24h] führt den Kurs auf 3.659 $ [ETH.price]. Solana fällt aus der Reihe und gibt 1,4 % [SOL.change24h] auf 164,14 $ [SOL.price] nach. Diese Spreizung ist auffälliger als jede einzelne Bewegung.`,
    `- BTC: {BTC.price}, {BTC.change24h} binnen 24 Stunden\n- ETH: {ETH.price}, {ETH.change24h} binnen 24 Stunden\n- SOL: {SOL.price}, {SOL.change24h} binnen 24 Stunden\n\nEther führt, Bitcoin zieht mit, Solana bleibt zurück. Wer dem Markt folgen will, findet die Stärke derzeit bei Ether.`,
  ],
  levels: [
    `Die Spanne der letzten 24 Stunden reicht bei Bitcoin von 94.180 $ [BTC.dayLow] bis 98.104 $ [BTC.dayHigh]. Ether bewegte sich zwischen 3.475 $ [ETH.dayLow] und 3.722 $ [ETH.dayHigh]; das Hoch der vergangenen zwei Tage liegt bei 3.747 $ [ETH.high48h]. Oberhalb davon fehlt es an Widerstand, unterhalb des Tagestiefs wäre der Anstieg fürs Erste beendet.`,
    `Widerstand findet Bitcoin bei {BTC.dayHigh}, Unterstützung bei {BTC.dayLow}. Zum Hoch fehlen {BTC.dayHigh-BTC.price}. Für Solana ist {SOL.dayLow} die entscheidende Marke, denn dort lag auch das Tief der letzten 48 Stunden. Bricht sie, dann ist der Weg nach unten frei.`,
  ],
  books: [
    `Im Orderbuch stehen bei Bitcoin Kaufaufträge über 51,1 Mio. $ [BTC.bidDepth] Verkaufsaufträgen über 44,9 Mio. $ [BTC.askDepth] gegenüber. Bei Ether überwiegen die Verkäufer mit 31,0 Mio. $ [ETH.askDepth] zu 27,6 Mio. $ [ETH.bidDepth]. Gehandelt wurden in 24 Stunden Bitcoin für 38,4 Mrd. $ [BTC.volume24h] und Ether für 21,7 Mrd. $ [ETH.volume24h].`,
    `Der Umsatz war mit {BTC.volume24h} in Bitcoin und {ETH.volume24h} in Ether hoch. Nahe am Kurs warten Gebote über {BTC.bidDepth} auf Bitcoin, Angebote über {BTC.askDepth} stehen dagegen. Die Geld-Brief-Spanne ist mit {BTC.spread} sehr eng. Größere Aufträge lassen sich also ohne Not ausführen.`,
  ],
  breadth: [
    `Die Marktbreite überzeugt: 39 der 50 größten Coins [market.rising] notieren höher. Hyperliquid gewinnt 9,4 % [HYPE.change24h], Chainlink 6,3 % [LINK.change24h]. Dogecoin verliert dagegen 4,1 % [DOGE.change24h] und kostet noch 0,172 $ [DOGE.price]. Am häufigsten gesucht wird Pepe [PEPE.trendingPlace], ein Zeichen von Neugier, nicht von Kapital.`,
    `Von den fünfzig größten Coins steigen {market.rising}. Spitzenreiter ist HYPE mit {HYPE.change24h}, Schlusslicht DOGE mit {DOGE.change24h}. LINK legt {LINK.change24h} zu. Eine so breite Bewegung trägt erfahrungsgemäß länger als ein Anstieg, den nur zwei oder drei Namen machen.`,
  ],
  leverage: [
    `Der Hebel spielt kaum eine Rolle. Die Finanzierungsrate beträgt bei Bitcoin 0,0015 % je Stunde [BTC.funding], bei Ether 0,0021 % [ETH.funding]; bei Solana ist sie mit −0,0005 % [SOL.funding] leicht negativ. Offen sind Positionen über 2,9 Mrd. $ [BTC.openInterest] in Bitcoin und 388 Mio. $ [SOL.openInterest] in Solana.`,
    `Die Käufer zahlen bei Bitcoin {BTC.funding} und bei Ether {ETH.funding} je Stunde, bei Solana zahlen die Verkäufer {SOL.funding}. Das offene Interesse erreicht {BTC.openInterest} in Bitcoin und {ETH.openInterest} in Ether. Erzwungene Verkäufe sind bei solchen Sätzen nicht zu erwarten.`,
  ],
  flows: [
    `Die Menge der Dollar-Stablecoins wuchs binnen einer Woche um 0,21 % [market.stablecoinWeek] auf 240,9 Mrd. $ [market.stablecoinSupply]. Auf Base liegen 4,3 Mrd. $ [Base.usdcSupply] in USDC, der letzte Block enthielt 214 Transaktionen [Base.blockTransactions]. Eine Schlagzeile lautet: „Bitcoin funds take in $812 million as rally extends“ [market.headline]. Der Ausblick bleibt freundlich, solange die Breite hält.`,
    `Stablecoins kommen auf {market.stablecoinSupply}, das ist in sieben Tagen eine Änderung um {market.stablecoinWeek}. Bitcoin ist {BTC.marketCap} wert, Ether {ETH.marketCap}. Frisches Geld fließt also, wenn auch langsam. Wir bleiben zuversichtlich und setzen die Grenze für Verluste dicht unter das Tagestief.`,
  ],
};
