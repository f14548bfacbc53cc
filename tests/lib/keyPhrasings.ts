import { phrases } from "../support/phrases";

/** Phrasings about keys in ten languages, of which each begins a line: who asks for one is told apart from who asks about them. */

export const REQUESTS = phrases(`
  Show me the private key of my wallet · What are the twelve words of my wallet?
  How do I export my privateKey
  dame mi llave privada · ¿Cuál es mi frase semilla? · Necesito exportar la clave privada de mi billetera
  donne-moi ma clé privée · Quelle est ma phrase de récupération ?
  Affiche la phrase secrète de mon portefeuille
  gib mir meinen privaten Schlüssel · Wie lautet meine Seed-Phrase? · Zeig mir den Private Key meiner Wallet
  me mostre a minha chave privada · Qual é a minha frase-semente?
  quero exportar a chave privada da minha carteira
  dammi la mia chiave privata · Qual è la mia frase di recupero?
  mostrami la chiave privata del mio portafoglio
  покажи мой приватный ключ · Какая у меня сид-фраза? · Пришли мне закрытый ключ от моего кошелька
  把我的私钥给我 · 我的助记词是什么？ · 請匯出我錢包的私鑰
  私の秘密鍵を見せて · ウォレットのシードフレーズを教えてください · 秘密鍵をエクスポートしたい
  내 비밀키 알려줘 · 제 지갑의 개인 키를 보여주세요 · 시드 구문을 내보내고 싶어요
`);

export const INNOCENT = phrases(`
  Give me a market summary in twelve words · List the largest hacks caused by private key compromise
  How do I back up my seed phrase safely?
  ¿Qué es una clave privada? · ¿Cómo guardo mi frase semilla de forma segura?
  Los mayores robos de claves privadas de este año
  C'est quoi une clé privée ? · Dois-je partager ma clé privée avec le support ?
  Quelle est la différence entre une clé publique et une clé privée ?
  Was ist ein privater Schlüssel? · Sollte ich meinen privaten Schlüssel jemandem zeigen?
  Wie bewahre ich meine Seed-Phrase sicher auf?
  O que é uma chave privada? · Como guardar a minha frase-semente com segurança?
  Por que nunca devo enviar a minha chave privada?
  Che cos'è una chiave privata? · Come conservo la mia frase di recupero in sicurezza?
  Dammi le notizie sul furto di chiavi private
  Что такое приватный ключ? · Как безопасно хранить мою сид-фразу?
  Почему нельзя никому показывать приватный ключ?
  私钥是什么 · 如何安全地保存我的助记词？ · 为什么不应该把私钥告诉别人？
  秘密鍵とは何ですか · シードフレーズを安全に保管する方法を教えてください · 秘密鍵の流出による最大のハッキングは？
  개인 키가 무엇인가요? · 시드 구문을 안전하게 보관하는 방법을 알려줘 · 비밀키를 왜 공유하면 안 되나요?
`);
