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
