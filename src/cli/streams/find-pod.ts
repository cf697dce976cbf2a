/** The pods of a workload, a service or a selector. */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { listError } from '#cli/resources/find-infos.ts'
import { infoPath } from '#cli/resources/info.ts'
import { typeAndName } from '#cli/resources/select-resources.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'

export type FoundObject = { object: ApiObject; plural: string }

/** Of a workload the pod that runs longest and is ready, or all of them; waits for one to be there. */
export async function podsBehind(call: Call, { object, plural }: FoundObject, { isAll }: { isAll: boolean }): Promise<V1Pod[]> {
  if (plural === 'pods') return [object as unknown as V1Pod]
  const pods = await somePods(call, selectorOf(object, 'get the logs from'))
  if (isAll) return pods
  const best = bestPod(pods)
  if (pods.length > 1) call.host.complain(`Found ${pods.length} pods, using pod/${best?.metadata?.name}\n`)
  return best === undefined ? [] : [best]
}

async function somePods(call: Call, selector: string): Promise<V1Pod[]> {
  const { flags, host, session } = call
  const namespace = await session.namespace()
  const untilMs = host.clock.monotonic() + (flags.has('pod-running-timeout') ? flags.durationMs('pod-running-timeout') : 60_000)
  for (;;) {
    const pods = await podsOf(call, namespace, selector)
    if (pods.length > 0) return pods
    if (host.clock.monotonic() > untilMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(500, host.interrupted)
  }
}

/** The pod that a conversation is held with: waits for one to be there. */
export async function podFor(call: Call, what: string): Promise<V1Pod> {
  const { flags, command } = call
  if (flags.has('pod-running-timeout') && flags.durationMs('pod-running-timeout') <= 0)
    throw usageError(command.path, '--pod-running-timeout must be higher than zero')
  const { object, plural } = await objectFor(call, what, await call.session.namespace())
  if (plural === 'pods') return object as unknown as V1Pod
  return bestPod(await somePods(call, selectorOf(object, 'attach to'))) as V1Pod
}

/** `what` is a pod's name, or `type/name`. */
export async function objectFor({ session }: Call, what: string, namespace: string): Promise<FoundObject> {
  const { resource, name } = what.includes('/') ? typeAndName(what) : { resource: 'pods', name: what }
  const rest = await session.rest
  const type =
    resource === 'pods' ? { group: '', version: 'v1', plural: 'pods', isNamespaced: true } : await (await session.types).named(resource)
  const object = await rest.json<ApiObject>({ path: infoPath({ type, namespace: type.isNamespaced ? namespace : '', name }) })
  return { object, plural: type.plural }
}

export async function podsOf({ session }: Call, namespace: string, labelSelector: string): Promise<V1Pod[]> {
  const rest = await session.rest
  const list = rest.json<{ items: V1Pod[] }>({ path: `/api/v1/namespaces/${namespace}/pods`, query: { labelSelector } })
  const { items } = await list.catch((error: unknown) =>
    Promise.reject(listError(error, { group: '', version: 'v1', plural: 'pods' }, labelSelector, '')),
  )
  return items
}

function selectorOf(object: ApiObject, purpose: string): string {
  const { selector } = (object['spec'] ?? {}) as { selector?: V1LabelSelector | Record<string, string> }
  if (selector === undefined) {
    const [, version] = groupAndVersion(object.apiVersion ?? '')
    const type = `*${version}.${object.kind}`
    throw new CliError(`cannot ${purpose} ${type}: selector for ${type} not implemented`)
  }
  const isPlain = object.kind === 'Service' || object.kind === 'ReplicationController'
  if (isPlain && Object.keys(selector).length === 0)
    throw new CliError(`invalid service '${object.metadata?.name}': Service is defined without a selector`)
  return String(labelSelectorFrom(isPlain ? { matchLabels: selector as Record<string, string> } : (selector as V1LabelSelector)))
}

/** Bound before unbound, running before pending, ready before not, older before younger. */
function bestPod(pods: readonly V1Pod[]): V1Pod | undefined {
  const rank = ({ spec, status, metadata }: V1Pod): number[] => [
    spec?.nodeName ? 0 : 1,
    status?.phase === 'Running' ? 0 : status?.phase === 'Unknown' ? 1 : 2,
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ? 0 : 1,
    metadata?.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0,
  ]
  return pods.toSorted((one, other) => {
    const [left, right] = [rank(one), rank(other)]
    for (const [index, value] of left.entries()) if (value !== right[index]) return value - (right[index] ?? 0)
    return 0
  })[0]
}
