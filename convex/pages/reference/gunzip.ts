/** The one part of the library that unpacks texts: an import of the whole would put all of it into what others evaluate. */
export { gunzipSync } from "fflate";
