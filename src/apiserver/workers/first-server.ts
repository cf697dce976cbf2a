/** Requests that only the first API server of the process can answer: those for its own extensions and nodes, and for documents it keeps. */
import { userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import { socketBackend } from '#apiserver/node-connections/backend.ts'
import { forward, untilAnswered } from '#apiserver/node-connections/forward.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'

/** What leads to kubelets and pods, some of which live in the first server's thread. */
const nodeSubresources: ReadonlySet<string> = new Set([
  'pods/attach',
  'pods/exec',
  'pods/log',
  'pods/portforward',
  'pods/proxy',
  'nodes/proxy',
  'services/proxy',
])
const ownPaths = /^\/(livez|readyz|healthz|version)(\/|$)/

export type ServedHere = (group: string, version: string, resource: string) => boolean

/** Undefined where a worker answers by itself. */
export type FirstServerRoute = (info: RequestInfo, isServed: ServedHere) => Endpoint | undefined

/** `client` leads to the first server's socket. */
export function firstServerRoute(client: UpgradeClient): FirstServerRoute {
  const backend = socketBackend(client, 'http', 'first-api-server')
  const passOn: Endpoint = (context) => untilAnswered((onAnswer) => forward(context, { backend, ...placeOf(context), onAnswer }))
  return (info, isServed) => {
    if (!info.isResourceRequest) return ownPaths.test(info.path) ? undefined : passOn
    const { group, version, resource, subresource } = info
    // Whether the components of the process are well is known to those who run there.
    if (group === '' && (nodeSubresources.has(`${resource}/${subresource}`) || resource === 'componentstatuses')) return passOn
    // Whatever has just been defined, or is another server's.
    return isServed(group, version, resource) ? undefined : passOn
  }
}

function placeOf({ exchange, user }: RequestContext) {
  const mark = exchange.target.indexOf('?')
  const [path, query] = mark < 0 ? [exchange.target, ''] : [exchange.target.slice(0, mark), exchange.target.slice(mark + 1)]
  return { path, query, headers: userHeaders(user) }
}
