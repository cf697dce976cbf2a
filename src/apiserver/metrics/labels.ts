/** How metrics name a request: the words are upstream's, where verbs are those of HTTP with a few more. */
import type { RequestInfo } from '#apiserver/http/request-info.ts'

const connections = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])
const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

export function reportedVerb(info: RequestInfo, method: string, contentType: string | undefined): string {
  if (info.verb === 'watch') return 'WATCH'
  if (info.isResourceRequest && connections.has(info.subresource)) return 'CONNECT'
  if (info.verb === 'list') return 'LIST'
  if (method === 'HEAD') return 'GET'
  if (method === 'PATCH' && contentType === 'application/apply-patch+yaml') return 'APPLY'
  return methods.has(method) ? method : 'other'
}

export function scopeOf({ name, verb, namespace, isResourceRequest }: RequestInfo): 'resource' | 'namespace' | 'cluster' | '' {
  if (name !== '' || verb === 'create') return 'resource'
  if (namespace !== '') return 'namespace'
  return isResourceRequest ? 'cluster' : ''
}

/** Requests that stay open for as long as the client wants: they take no seat, and their length says nothing. */
export function isLongRunning({ verb, isResourceRequest, subresource }: RequestInfo): boolean {
  return verb === 'watch' || (isResourceRequest && connections.has(subresource))
}
