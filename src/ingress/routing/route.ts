/** What requests are matched by, and what becomes of them: the words that Ingress, HTTPRoute and GRPCRoute are translated into. Plain data, sent to threads. */

export type PathMatch = { readonly type: 'Exact' | 'Prefix' | 'RegularExpression'; readonly value: string }
export type ValueMatch = { readonly type: 'Exact' | 'RegularExpression'; readonly name: string; readonly value: string }

export type HeaderChanges = {
  readonly set?: readonly (readonly [name: string, value: string])[]
  readonly add?: readonly (readonly [name: string, value: string])[]
  readonly remove?: readonly string[]
}

export type PathChange = { readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch'; readonly value: string }

export type Redirect = {
  readonly scheme?: string
  readonly hostname?: string
  readonly port?: number
  readonly path?: PathChange
  readonly status: number
}

/** Made to a request on its way to one backend. */
export type RequestChanges = {
  readonly requestHeaders?: readonly HeaderChanges[]
  readonly responseHeaders?: readonly HeaderChanges[]
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathChange }
}

export type WeightedBackend = RequestChanges & {
  /** The key of a backend; empty where the reference leads nowhere: such a request gets 500. */
  readonly backend: string
  readonly weight: number
}

export type Mirror = { readonly backend: string /** Of a million requests. */; readonly perMillion: number }

export type Route = RequestChanges & {
  /** For logs: `Ingress default/web`. */
  readonly name: string
  /** That of its site, for counts. */
  readonly host?: string
  readonly path: PathMatch
  readonly method?: string
  readonly headers?: readonly ValueMatch[]
  readonly query?: readonly ValueMatch[]
  /** Of routes that match equally well the first in this order counts. */
  readonly order: string
  /** After all others. */
  readonly isFallback?: boolean
  readonly redirect?: Redirect
  readonly mirrors?: readonly Mirror[]
  readonly backends: readonly WeightedBackend[]
  readonly timeouts?: { readonly requestMs?: number; readonly backendRequestMs?: number }
  /** Refusals are answered as gRPC. */
  readonly isGrpc?: boolean
}

/**
 * The routes of one host at one listener. A listener with a host of its own has the requests for that host, whether or not it has a route for them.
 * `*.example.com` stands for one label in an Ingress, for any number in a Gateway.
 */
export type Site = {
  /** `http`, `https`, or a port of a Gateway with its protocol: `http:8080`. */
  readonly listener: string
  /** Empty: any. */
  readonly listenerHost: string
  /** Empty: any that no other site of the listener has. */
  readonly host: string
  readonly wildcard: 'label' | 'labels'
  readonly routes: readonly Route[]
}

export const siteKey = ({ listener, listenerHost, host, wildcard }: Site): string => `${listener} ${listenerHost} ${host} ${wildcard}`
