/** `kubectl apply --prune`: deletes what was applied before and is no longer among the manifests. */
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError } from '#cli/cli-error.ts'
import { listAll } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { type DryRun, dryRunSuffix, lastAppliedOf } from '#cli/write-options.ts'

const usual = [
  'v1/ConfigMap',
  'v1/Endpoints',
  'v1/Namespace',
  'v1/PersistentVolumeClaim',
  'v1/PersistentVolume',
  'v1/Pod',
  'v1/ReplicationController',
  'v1/Secret',
  'v1/Service',
  'batch/v1/Job',
  'batch/v1/CronJob',
  'networking.k8s.io/v1/Ingress',
  'apps/v1/DaemonSet',
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
]

export async function prune(call: Call, applied: readonly Info[], dryRun: DryRun): Promise<void> {
  for await (const each of prunable(call, applied)) await pruneOne(call, each, dryRun)
}

type Prunable = { type: ResourceType; namespace: string; object: ApiObject }

/** What was applied once, in the namespaces of what is applied now, and is not among it. */
export async function* prunable(call: Call, applied: readonly Info[]): AsyncGenerator<Prunable> {
  const uids = new Set(applied.map(({ object }) => object.metadata?.uid))
  const namespaces = new Set(applied.filter(({ namespace }) => namespace !== '').map(({ namespace }) => namespace))
  const types = await prunedTypes(call)
  for (const namespace of namespaces)
    for (const type of types.filter(({ isNamespaced }) => isNamespaced)) yield* prunableOfType(call, type, namespace, uids)
  for (const type of types.filter(({ isNamespaced }) => !isNamespaced)) yield* prunableOfType(call, type, '', uids)
}

/** Throws for kinds that there are none of. */
export async function prunedTypes({ flags, session }: Call): Promise<ResourceType[]> {
  const types = await session.types
  const allowed = flags.list('prune-allowlist')
  const found: ResourceType[] = []
  for (const text of allowed.length > 0 ? allowed : usual) {
    const parts = text.split('/')
    const kind = parts.pop() ?? ''
    if (allowed.length > 0 && parts.length !== 2)
      throw new CliError(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`)
    const apiVersion = parts[0] === 'core' ? (parts[1] ?? '') : parts.join('/')
    const type = await types.ofKind(apiVersion, kind)
    if (type !== undefined) found.push(type)
    else if (allowed.length > 0) throw new CliError(`no matches for kind "${kind}" in version "${apiVersion}"`)
  }
  return found
}

async function* prunableOfType(
  call: Call,
  type: ResourceType,
  namespace: string,
  uids: ReadonlySet<string | undefined>,
): AsyncGenerator<Prunable> {
  let items: ApiObject[]
  try {
    items = (await listAll(call, type, { namespace, selector: call.flags.text('selector') })).items
  } catch (error) {
    if (error instanceof ApiError && (error.isNotFound || error.status.reason === 'MethodNotAllowed')) return
    throw error
  }
  for (const object of items) if (lastAppliedOf(object) !== undefined && !uids.has(object.metadata?.uid)) yield { type, namespace, object }
}

async function pruneOne({ host, session }: Call, { type, namespace, object }: Prunable, dryRun: DryRun): Promise<void> {
  const rest = await session.rest
  const name = object.metadata?.name ?? ''
  if (dryRun !== 'client') {
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Background',
      ...defined({ dryRun: dryRun === 'server' ? ['All'] : undefined }),
    }
    try {
      await rest.json({ method: 'DELETE', path: resourcePath(type, namespace, name), body })
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
    }
  }
  host.write(`${singularText(type)}/${name} pruned${dryRunSuffix(dryRun)}\n`)
}
