/** Filters of routes in the proxy's words. */

import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { BackendObjectReference, RouteFilter } from '#ingress/gateway/kinds.ts'
import type { HeaderChanges, Mirror, PathChange, Redirect, RequestChanges } from '#ingress/routing/route.ts'

const knownFilters: ReadonlySet<string> = new Set([
  ...['RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite', 'RequestMirror'],
])

export const unknownFilter = (filters: readonly RouteFilter[]): RouteFilter | undefined =>
  filters.find(({ type }) => !knownFilters.has(type))

// What the proxy writes into heads as it is: a character past U+00FF would become another one there, the end of a line among them.
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/
const wordPattern = /^[\x21-\x7e\x80-\xff]*$/
const namePattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Where a message ends and what connection it is on is the proxy's to say. */
const notToBeSet: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'host', 'http2-settings', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** What no request or answer may be given; undefined where nothing is wrong. */
export function unusableFilter(filters: readonly RouteFilter[]): string | undefined {
  for (const { requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite } of filters) {
    for (const change of [requestHeaderModifier, responseHeaderModifier]) {
      for (const { name, value } of [...(change?.set ?? []), ...(change?.add ?? [])]) {
        if (!namePattern.test(name) || notToBeSet.has(name.toLowerCase())) return `the header ${JSON.stringify(name)} cannot be set`
        if (!valuePattern.test(value)) return `the value of the header ${name} has characters that no header may have`
      }
    }
    for (const change of [requestRedirect, urlRewrite]) {
      const { replaceFullPath = '', replacePrefixMatch = '' } = change?.path ?? {}
      if (![replaceFullPath, replacePrefixMatch].every((path) => wordPattern.test(path)))
        return 'a path that is to replace another has characters that no path may have'
      if (!wordPattern.test(change?.hostname ?? '')) return 'a hostname has characters that no hostname may have'
    }
    if (!wordPattern.test(requestRedirect?.scheme ?? '')) return 'a scheme has characters that no scheme may have'
  }
  return undefined
}

export function changesOf(filters: readonly RouteFilter[]): RequestChanges {
  const headers = (kind: 'requestHeaderModifier' | 'responseHeaderModifier'): HeaderChanges[] =>
    filters.flatMap(({ [kind]: change }) => {
      if (change === undefined) return []
      const pairs = (list: { name: string; value: string }[] = []) => list.map(({ name, value }) => [name, value] as const)
      return [{ set: pairs(change.set), add: pairs(change.add), remove: change.remove ?? [] }]
    })
  const [request, response] = [headers('requestHeaderModifier'), headers('responseHeaderModifier')]
  const rewrite = filters.find(({ urlRewrite }) => urlRewrite !== undefined)?.urlRewrite
  const path = pathChange(rewrite?.path)
  const rewritten = defined({ hostname: rewrite?.hostname, path })
  return {
    ...omitEmpty({ requestHeaders: request, responseHeaders: response }),
    ...defined({ rewrite: rewrite === undefined ? undefined : rewritten }),
  }
}

function pathChange(path: { type: string; replaceFullPath?: string; replacePrefixMatch?: string } | undefined): PathChange | undefined {
  if (path?.type === 'ReplaceFullPath') return { type: 'ReplaceFullPath', value: path.replaceFullPath ?? '/' }
  if (path?.type === 'ReplacePrefixMatch') return { type: 'ReplacePrefixMatch', value: path.replacePrefixMatch ?? '/' }
  return undefined
}

const usualRedirect = 302

export function redirectOf(filters: readonly RouteFilter[]): Redirect | undefined {
  const redirect = filters.find(({ requestRedirect }) => requestRedirect !== undefined)?.requestRedirect
  if (redirect === undefined) return undefined
  const { scheme, hostname, port, statusCode = usualRedirect } = redirect
  const path = pathChange(redirect.path)
  return {
    status: statusCode,
    ...defined({ scheme, hostname, port, path }),
  }
}

const perMillion = 1_000_000

/** `keyFor` finds the backend of a reference; empty where it leads nowhere: such copies are not sent. */
export function mirrorsOf(filters: readonly RouteFilter[], keyFor: (reference: BackendObjectReference) => string): Mirror[] {
  return filters.flatMap(({ requestMirror: mirror }) => {
    if (mirror === undefined) return []
    const backend = keyFor(mirror.backendRef)
    const { percent = 100, fraction } = mirror
    const share = fraction === undefined ? percent / 100 : fraction.numerator / (fraction.denominator ?? 100)
    return backend === '' ? [] : [{ backend, perMillion: Math.round(share * perMillion) }]
  })
}
