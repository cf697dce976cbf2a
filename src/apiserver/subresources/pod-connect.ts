/** Logs, exec, attach, port-forward: what the server itself can say before a node agent is asked. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { badRequest, forbidden, internalError, invalid, serviceUnavailable } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { attributesOf } from '#apiserver/http/handler.ts'
import { wholeNumber } from '#apiserver/http/query-options.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { type Admission, judged } from '#apiserver/subresources/judged.ts'

/** The pod is not bound: there are no logs, which is no error. */
export async function podLog(context: RequestContext, resource: ServedResource): Promise<void> {
  const { name, namespace } = context.info
  validateLogOptions(context, name)
  const pod = (await resource.registry.get(namespace, name)).object as V1Pod
  containerOf(pod, context.query.get('container') ?? '')
  if (!pod.spec.nodeName) {
    context.exchange.respond(204, {})
    return
  }
  throw unreachable(pod.spec.nodeName)
}

/**
 * A stream over a WebSocket is asked for with GET; what it does is the same, and who may not create it may not have it by that way.
 * `authorizer` is undefined where that is not looked at.
 */
export async function podStream(
  context: RequestContext,
  resource: ServedResource,
  authorizer: Authorizer | undefined,
  admission: Admission,
): Promise<void> {
  const { name, namespace, subresource } = context.info
  if (context.info.verb !== 'create' && authorizer !== undefined) {
    const { decision, reason, error } = await authorizer.authorize({
      ...attributesOf(context.user, context.info, context.query),
      verb: 'create',
    })
    if (error !== undefined && decision !== 'allow') throw internalError(error)
    if (decision !== 'allow') throw forbidden({ group: '', resource: 'pods' }, name, reason)
  }
  const kind = optionKinds[subresource] ?? ''
  const asked = { kind, apiVersion: 'v1', metadata: {}, ...Object.fromEntries(context.query) } as KubernetesObject
  const { definition } = resource.registry
  await judged(admission, context, {
    operation: 'CONNECT',
    definition,
    kind: { group: '', version: 'v1', kind },
    name,
    object: asked,
    isDryRun: false,
  })
  const pod = (await resource.registry.get(namespace, name)).object as V1Pod
  if (subresource !== 'portforward') containerOf(pod, context.query.get('container') ?? '')
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  throw unreachable(pod.spec.nodeName)
}

/** What admission is shown of a connection: the options of its query. */
const optionKinds: Readonly<Record<string, string>> = {
  exec: 'PodExecOptions',
  attach: 'PodAttachOptions',
  portforward: 'PodPortForwardOptions',
}

function unreachable(node: string): Error {
  return serviceUnavailable(`no node agent of ${node} is connected to this server`)
}

/** The container the request is about; a pod with several wants to be told. */
export function containerOf(pod: V1Pod, asked: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec
  const names = containers.map(({ name }) => name)
  if (asked === '') {
    if (names.length === 1) return names[0] ?? ''
    const choice = `[${names.join(' ')}]`
    const withInit =
      initContainers.length > 0 ? ` or one of the init containers: [${initContainers.map(({ name }) => name).join(' ')}]` : ''
    throw badRequest(`a container name must be specified for pod ${pod.metadata.name}, choose one of: ${choice}${withInit}`)
  }
  if (![...names, ...initContainers.map(({ name }) => name), ...ephemeralContainers.map(({ name }) => name)].includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${pod.metadata.name}`)
  }
  return asked
}

function validateLogOptions({ query }: RequestContext, name: string): void {
  const check = new Check()
  const number = (key: string) => (query.get(key) === null ? undefined : wholeNumber(query.get(key) ?? ''))
  const [tailLines, limitBytes, sinceSeconds] = [number('tailLines'), number('limitBytes'), number('sinceSeconds')]
  if (tailLines !== undefined && tailLines < 0) check.at('tailLines').invalid(tailLines, 'must be greater than or equal to 0')
  if (limitBytes !== undefined && limitBytes < 1) check.at('limitBytes').invalid(limitBytes, 'must be greater than 0')
  if (sinceSeconds !== undefined && query.has('sinceTime')) check.forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified')
  else if (sinceSeconds !== undefined && sinceSeconds < 1) check.at('sinceSeconds').invalid(sinceSeconds, 'must be greater than 0')
  if (check.failed) throw invalid({ group: '', kind: 'PodLogOptions' }, name, check.errors)
}
