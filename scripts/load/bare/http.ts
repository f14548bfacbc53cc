import { httpActionGeneric, httpRouter } from "convex/server";

/** The least that an HTTP action can be. */
const http = httpRouter();

http.route({
  path: "/constant",
  method: "GET",
  handler: httpActionGeneric(() => Promise.resolve(Response.json({ status: "ok" }))),
});

export default http;
