import { httpRouter } from "convex/server";
import { chatEndpoints } from "./chat/http";
import { mount } from "./lib/http";
import { marketEndpoints } from "./market/http";
import { messengerEndpoints } from "./messenger/http";
import { opsEndpoints } from "./ops/http";
import { researchEndpoints } from "./research/http";
import { walletEndpoints } from "./wallets/http";

export const endpoints = [
  ...marketEndpoints,
  ...chatEndpoints,
  ...researchEndpoints,
  ...messengerEndpoints,
  ...walletEndpoints,
  ...opsEndpoints,
];

const http = httpRouter();
mount(http, endpoints);

export default http;
