import { httpRouter } from "convex/server";
import { resolveAccountForRequest } from "./identity/access";
import { loadEndpoint, mount, type Routes } from "./platform/http/router";

const standing = () => import("./alerts/standingHttp").then(({ standingEndpoints }) => standingEndpoints);
const alerts = () => import("./alerts/http").then(({ alertEndpoints }) => alertEndpoints);
const bot = () => import("./bot/http").then(({ botEndpoints }) => botEndpoints);
const chat = () => import("./chat/http").then(({ chatEndpoints }) => chatEndpoints);
const compat = () => import("./compat/http").then(({ compatEndpoints }) => compatEndpoints);
const compatMessenger = () =>
  import("./compat/messengerHttp").then(({ compatMessengerEndpoints }) => compatMessengerEndpoints);
const deposits = () => import("./payments/depositHttp").then(({ depositEndpoints }) => depositEndpoints);
const links = () => import("./accounts/linkHttp").then(({ linkEndpoints }) => linkEndpoints);
const market = () => import("./market/http").then(({ marketEndpoints }) => marketEndpoints);
const messenger = () => import("./messenger/http").then(({ messengerEndpoints }) => messengerEndpoints);
const ops = () => import("./ops/http").then(({ opsEndpoints }) => opsEndpoints);
const paper = () => import("./accounts/paperHttp").then(({ paperEndpoints }) => paperEndpoints);
const pageForms = () => import("./accounts/pageHttp").then(({ pageFormEndpoints }) => pageFormEndpoints);
const pageLinks = () => import("./accounts/pageHttp").then(({ pageLinkEndpoints }) => pageLinkEndpoints);
const pages = () => import("./pages/http").then(({ pageEndpoints }) => pageEndpoints);
const paidReports = () => import("./payments/http").then(({ paidReportEndpoints }) => paidReportEndpoints);
const reference = () => import("./pages/reference/texts").then(({ texts }) => Object.values(texts));
const research = () => import("./research/http").then(({ researchEndpoints }) => researchEndpoints);
const signals = () => import("./signals/http").then(({ signalEndpoints }) => signalEndpoints);
const social = () => import("./social/http").then(({ socialEndpoints }) => socialEndpoints);
const orders = () => import("./wallets/orders/http").then(({ orderEndpoints }) => orderEndpoints);
const wallets = () => import("./wallets/http").then(({ walletEndpoints }) => walletEndpoints);
const webhooks = () => import("./messenger/webhooks/http").then(({ webhookEndpoints }) => webhookEndpoints);
const tools = () =>
  import("./tools/http").then(({ createToolEndpoint }) => [
    createToolEndpoint((method, path) => loadEndpoint(routes, method, path)),
  ]);
const whales = () => import("./whales/http").then(({ whaleEndpoints }) => whaleEndpoints);

const routes: Routes = {
  "/": { GET: pages },
  "/start": { GET: pages },
  "/record": { GET: pages },
  "/signals/{id}": { GET: pages },
  "/signals/feed.xml": { GET: pages },
  "/research": { GET: pages },
  "/coins/{symbol}": { GET: pages },
  "/whales": { GET: pages },
  "/whales/feed.xml": { GET: pages },
  "/pictures/{name}": { GET: pages },
  "/sitemap.xml": { GET: pages },
  "/status": { GET: pages },
  "/me": { GET: pages },
  "/me/link": { POST: pageLinks },
  "/me/open": { GET: pages, POST: pageForms },
  "/me/freeze": { POST: pages },
  "/me/logout": { POST: pageForms },
  "/mcp": { POST: tools },
  "/mcp/market": { GET: market },
  "/mcp/token": { GET: market, POST: market },
  "/mcp/prices": { GET: market },
  "/mcp/chat": { POST: chat },
  "/mcp/research": { POST: research },
  "/mcp/research/start": { POST: research },
  "/mcp/research/stop": { POST: research },
  "/mcp/research/status": { GET: research },
  "/mcp/research/report": { GET: research },
  "/mcp/signals/latest": { GET: signals, POST: signals },
  "/mcp/signals/history": { GET: signals, POST: signals },
  "/mcp/signals/recap": { GET: signals, POST: signals },
  "/signals/proof": { GET: signals },
  "/signals/export.json": { GET: signals },
  "/signals/export.csv": { GET: signals },
  "/mcp/whale-alerts": { GET: whales, POST: whales },
  "/alerts": { GET: alerts, POST: alerts },
  "/alerts/set": { POST: alerts },
  "/alerts/confirm": { POST: alerts },
  "/alerts/off": { POST: alerts },
  "/webhooks": { GET: webhooks, POST: webhooks },
  "/webhooks/off": { POST: webhooks },
  "/webhooks/events": { GET: webhooks },
  "/agent/research/paid": { GET: paidReports, POST: paidReports },
  "/indexer/deposit": { POST: deposits },
  "/user/messenger": { POST: messenger },
  "/messenger/connect": { POST: links },
  "/messenger/wallet": { GET: links },
  "/messenger/webhook": { POST: bot },
  "/claim/end": { GET: pages, POST: pages },
  "/mcp/wallet/create": { POST: wallets },
  "/mcp/wallet/balance": { GET: wallets },
  "/mcp/defi/connect": { GET: wallets, POST: wallets },
  "/mcp/defi/gas": { POST: orders },
  "/mcp/defi/paper": { GET: paper, POST: paper },
  "/mcp/defi/portfolio": { GET: wallets },
  "/mcp/defi/history": { GET: wallets },
  "/mcp/defi/send": { POST: orders },
  "/mcp/defi/standing": { GET: standing, POST: standing },
  "/mcp/defi/standing/call": { POST: standing },
  "/mcp/defi/standing/off": { POST: standing },
  "/mcp/defi/swap": { POST: orders },
  "/mcp/defi/transaction": { GET: wallets },
  "/social/mention": { GET: social, POST: social },
  "/signals/latest": { GET: compat },
  "/signals/history": { GET: compat },
  "/signals/winrate": { GET: compat },
  "/whales/latest": { GET: compat },
  "/recap/today": { GET: compat },
  "/user/telegram": { POST: compatMessenger },
  "/user/telegram/notify": { POST: compatMessenger },
  "/health": { GET: ops },
  "/openapi.json": { GET: reference },
  "/docs": { GET: reference },
  "/docs/{subject}": { GET: reference },
  "/llms.txt": { GET: reference },
  "/proxy.mjs": { GET: reference },
  "/robots.txt": { GET: reference },
  "/favicon.ico": { GET: reference },
};

const http = httpRouter();
mount(http, routes, {
  resolveAccount: resolveAccountForRequest,
  failurePage: async (failing) => (await import("./pages/layout")).buildFailureReply(failing, Date.now()),
});

export default http;
