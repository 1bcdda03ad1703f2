/* api.js - requests to the daemon that served the page. All addresses are relative to the page, so that it works behind any prefix. */

/** What the daemon refused, in its own words. */
export class ApiError extends Error {
  /**
   * @param {number} status of HTTP; 0: the daemon did not answer
   * @param {string} message
   * @param {string} [details]
   */
  constructor(status, message, details = "") {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.details = details;
  }
}

/** Was a request ended because nobody waits for it any more? */
export function isAbort(error) {
  return error?.name === "AbortError";
}

/**
 * Relative address of a request.
 * @param {string} path "api/query"
 * @param {Object<string, (string|number|boolean|null|Array)>} [params] null and undefined are left out, arrays are repeated, "" and true are
 *   bare names
 */
export function address(path, params = {}) {
  const parts = [];
  for (const [name, value] of Object.entries(params))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== null && one !== undefined && one !== false)
        parts.push(encodeURIComponent(name) + (one === true || one === "" ? "" : "=" + encodeURIComponent(one)));
  return path.replace(/^\/+/, "") + (parts.length ? "?" + parts.join("&") : "");
}

/** The same with scheme and host, for commands that are typed elsewhere. */
export function absolute(path, params = {}) {
  return new URL(address(path, params), document.baseURI).href;
}

function failure(status, text) {
  try {
    const {error} = JSON.parse(text);
    if (error?.message)
      return new ApiError(status, error.message, error.details ?? "");
  } catch { /* not of the API: a proxy's page */ }
  return new ApiError(status, `The answer was ${status}${text && text.length < 200 && !text.startsWith("<") ? ": " + text : ""}`);
}

async function answer(path, params, options) {
  let response;
  try {
    response = await fetch(new URL(address(path, params), document.baseURI), {credentials: "same-origin", ...options});
  } catch (error) {
    if (isAbort(error))
      throw error;
    throw new ApiError(0, "The daemon does not answer. Does it still run?", String(error.message));
  }
  if (!response.ok)
    throw failure(response.status, await response.text());
  return response;
}

async function json(response) {
  const text = await response.text();
  if (!text)
    return null;
  try {
    return JSON.parse(text);
  } catch { /* values that JSON has no words for: OpenTSDB prints them bare */
    return JSON.parse(text.replace(/([:,[])\s*(-?)(NaN|Infinity)(?=\s*[,\]}])/g, "$1null"));
  }
}

/**
 * GET, parsed as JSON; lacks: a sentence with a blank before it, if the answer lacks something (header X-Tsd-Left-Out).
 * @param {string} path relative to the page
 * @param {Object} [params] see address()
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<*>}
 * @throws {ApiError} what the daemon said; AbortError if the signal ended it
 */
export async function get(path, params = {}, {signal} = {}) {
  const r = await answer(path, params, {signal}), data = await json(r), lacks = r.headers.get("X-Tsd-Left-Out");
  if (lacks)
    data.lacks = ` ${lacks}.`;
  return data;
}

/** GET, as text. Contract: get. */
export async function getText(path, params = {}, {signal} = {}) {
  return (await answer(path, params, {signal})).text();
}

/** POST of a JSON body. Contract: get. */
export async function post(path, body, {signal, params = {}, method = "POST"} = {}) {
  return json(await answer(path, params, {signal, method, headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}));
}

/** PUT of a JSON body. Contract: get. */
export function put(path, body, options = {}) {
  return post(path, body, {...options, method: "PUT"});
}

/** Any other method (DELETE, PUT) without a body. Contract: get. */
export async function send(method, path, params = {}, {signal} = {}) {
  return json(await answer(path, params, {signal, method}));
}
