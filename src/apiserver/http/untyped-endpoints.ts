/** Which endpoint of a custom resource a request is for. Upstream serves these by a handler of its own, and it shows. */
import { badRequest, notFound } from '#api/meta/status-error.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import { verbNotSupported } from '#apiserver/http/refusals.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'

export type VerbEndpoints = Readonly<Record<string, Endpoint>>

const namedVerbs: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete'])

/** Undefined where the resource has no such path at all. */
export function untypedEndpoint(
  { definition }: ServedResource,
  info: RequestInfo,
  { object, subresource }: { object: VerbEndpoints; subresource(name: string): VerbEndpoints | undefined },
): Endpoint | undefined {
  const isNamespaced = definition.scope === 'Namespaced'
  if (!isNamespaced && info.namespace !== '') return undefined
  if (isNamespaced && info.namespace === '' && info.verb !== 'list' && info.verb !== 'watch') return undefined
  const subject = { group: definition.group, resource: definition.plural }
  const verbs = info.subresource === '' ? object : subresource(info.subresource)
  if (verbs === undefined) return refusing(() => notFound(subject, info.name))
  const endpoint = verbs[info.verb]
  if (endpoint === undefined) return refusing(() => verbNotSupported(subject, info.verb))
  if (info.name === '' && namedVerbs.has(info.verb)) return refusing(() => badRequest('name must be provided'))
  return endpoint
}

function refusing(error: () => Error): Endpoint {
  return () => {
    throw error()
  }
}
