/** Requests to pods, services and nodes through the API server, whatever they ask for. */
import type { KubernetesObject } from '#api/resource.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { SpecialSubresource } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { forward } from '#apiserver/node-connections/forward.ts'
import { isUpgradeRequest } from '#apiserver/node-connections/proxied-headers.ts'
import { type Admission, admit } from '#apiserver/subresources/admit.ts'
import { nodeBackend, type ProxyServices, podBackend, serviceBackend } from '#apiserver/subresources/proxy-backends.ts'

const backends = { pods: podBackend, services: serviceBackend, nodes: nodeBackend } as const

/** What admission is shown of a request that is passed on. */
const optionKinds = { pods: 'PodProxyOptions', services: 'ServiceProxyOptions', nodes: 'NodeProxyOptions' } as const

export function proxySubresource(resource: keyof typeof backends, services: ProxyServices & { admission: Admission }): SpecialSubresource {
  return {
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
    async handle(context, served) {
      const { prefix, path } = splitProxyPath(context.info.path)
      await admitted(context, served, optionKinds[resource], path, services.admission)
      const backend = await backends[resource](context.info, services)
      const { exchange } = context
      const mark = exchange.target.indexOf('?')
      const query = mark < 0 ? '' : exchange.target.slice(mark + 1)
      // Relative links of a page would lead astray if its path did not end in a slash.
      if (path === '' && (exchange.method === 'GET' || exchange.method === 'HEAD') && !isUpgradeRequest(exchange)) {
        exchange.respond(301, { location: `${context.info.path}/${query === '' ? '' : `?${query}`}` })
        return
      }
      await forward(context, { backend, path: path === '' ? '/' : path, query, prefix })
    },
  }
}

async function admitted(
  context: RequestContext,
  { registry: { definition } }: ServedResource,
  kind: string,
  path: string,
  admission: Admission,
): Promise<void> {
  const object = { kind, apiVersion: 'v1', metadata: {}, path } as KubernetesObject
  const { name } = context.info
  await admit(admission, context, {
    operation: 'CONNECT',
    definition,
    kind: { group: '', version: 'v1', kind },
    name,
    object,
    isDryRun: false,
  })
}

/** The path up to `/proxy`, and what is behind it, cleared of dots: nobody climbs out of it. */
export function splitProxyPath(path: string): { prefix: string; path: string } {
  const match = /^(\/+api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy)(.*)$/.exec(path)
  const [, prefix = path, rest = ''] = match ?? []
  if (rest === '') return { prefix, path: '' }
  const kept: string[] = []
  for (const part of rest.split('/')) {
    const plain = part.replace(/%2e/gi, '.')
    if (plain === '..') kept.pop()
    else if (plain !== '.' && part !== '') kept.push(part)
  }
  const endsInSlash = rest.endsWith('/') && kept.length > 0
  return { prefix, path: `/${kept.join('/')}${endsInSlash ? '/' : ''}` }
}
