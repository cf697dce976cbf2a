/**
 * `node:http`, without what comes with importing it: that would load Node's whole implementation of `fetch` and WebSocket
 * (20 to 40 ms, some megabytes), since an import looks at every export.
 */
export const plainHttp: typeof import('node:http') = process.getBuiltinModule('node:http')
